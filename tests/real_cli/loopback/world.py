"""Homes and configuration for two accounts of each CLI, and a way to run our command among them.

Pools: `claude` and `codex` hold both accounts of their CLI, `claude-one` and `codex-one` the first alone; so with other
CLIs where they are asked for. How an account is started is a style of `homes`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from loopback.homes import STYLES, AnyHome, Style, make_home

from oulipoly_engine.records import Record

PATIENCE_S = 45.0  # for one run of a CLI on a loaded machine; they take 0.5 to 3 s
NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens

_MARKER = re.compile(r"^(OULIPOLY_(?:RESULT|FAILURE|INVOCATION))=(\{.*\})$", re.MULTILINE)


class Ran(Record):
    """How a run of our command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> str:
        """stdout without our last line."""
        return self.stdout[: self.stdout.rindex("OULIPOLY_")]

    @property
    def result(self) -> dict:
        return self._last("OULIPOLY_RESULT", self.stdout)

    @property
    def failure(self) -> dict:
        return self._last("OULIPOLY_FAILURE", self.stdout)

    @property
    def invocations(self) -> list[dict]:
        return _markers("OULIPOLY_INVOCATION", self.stderr)

    @property
    def started(self) -> list[str]:
        """The accounts that were started, in order."""
        return [invocation["source"] for invocation in self.invocations]

    @property
    def last_id(self) -> str:
        """The last invocation; a pool that ran out has no result line, and an agent may show lines of its own runs."""
        results = _markers("OULIPOLY_RESULT", self.stdout)
        return (results or self.invocations)[-1]["id"]

    def _last(self, name: str, text: str) -> dict:
        found = _markers(name, text)
        assert found, f"no {name} in stdout:\n{self.stdout}\nstderr:\n{self.stderr}"
        return found[-1]


def _markers(name: str, text: str) -> list[dict]:
    return [json.loads(value) for key, value in _MARKER.findall(text) if key == name]


class World:
    """One user's machine: a home, a project, logins, our configuration."""

    def __init__(
        self, folder: Path, clis: Path, sources: str, url: str, commands: Sequence[str] = ("claude", "codex")
    ) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.clis = clis
        self._sources = sources
        self._config = self.home / ".config" / "oulipoly-agent-runner"
        self._temporary = folder / "tmp"
        for made in (self.project, self._temporary, self._config / "models", self._config / "agents"):
            made.mkdir(parents=True)
        (self.project / ".git").mkdir()
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.accounts: dict[str, AnyHome] = {}
        for name in (f"{command}-{number}" for number in ("one", "two") for command in commands):
            command = name.partition("-")[0]
            self.accounts[name] = make_home(command, self.home / f".{name}", name, self.project)
        for cli in commands:
            self.add_model(cli, [f"{cli}-one", f"{cli}-two"])
            self.add_model(f"{cli}-one", [f"{cli}-one"])
        self.configure(url)

    def configure(self, url: str, **styles: str) -> None:
        """Write providers.toml; the styles say how each CLI is started."""
        blocks = [
            _block(name, self.clis / home.command, _style(home.command, styles), home.ask_at(url))
            for name, home in self.accounts.items()
        ]
        (self._config / "providers.toml").write_text("\n".join(blocks))

    def add_model(self, name: str, accounts: Sequence[str], args: Sequence[str] = ()) -> None:
        """Write a model's file; args go to each account's CLI."""
        words = json.dumps(list(args))
        entries = (f"[[providers]]\nname = {json.dumps(account)}\nargs = {words}\n" for account in accounts)
        (self._config / "models" / f"{name}.toml").write_text("\n".join(entries))

    def add_agent(self, name: str, model: str, instructions: str) -> None:
        text = f"---\nname: {name}\ndescription: test\nmodel: {model}\n---\n{instructions}\n"
        (self._config / "agents" / f"{name}.md").write_text(text)

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "oulipoly_tui", *map(str, arguments)]

    def environment(self) -> dict[str, str]:
        """Return a whole environment, so that no key or setting of whoever runs the tests gets in."""
        outside = {"HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}
        ours = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": self._sources,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        return ours | outside | {"TMPDIR": str(self._temporary)}

    def run(self, *arguments: object, stdin: bytes = b"", cwd: Path | None = None) -> Ran:
        """Run our command to its end."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            env=self.environment(),
            cwd=cwd or self.project,
            timeout=PATIENCE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        """Start our command and leave it running."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            cwd=self.project,
        )

    def signal(self, process: subprocess.Popen[bytes], number: int) -> Ran:
        """Send a signal to our command and return how it ended."""
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        return Ran(process.returncode, stdout.decode(), stderr.decode())

    def run_bare(self, account: str, prompt: bytes) -> bytes:
        """Run an account's CLI as its user would, without us, and return its stdout."""
        block = tomllib.loads((self._config / "providers.toml").read_text())[account]
        done = subprocess.run(
            [block["command"], *block["args"]],
            input=prompt,
            capture_output=True,
            env=self.environment() | block["environment"],
            cwd=self.project,
            timeout=PATIENCE_S,
            check=True,
        )
        return done.stdout

    def run_bare_words(self, account: str, *arguments: str) -> str:
        """Run an account's CLI with arguments alone, as its user would, and return all that it says."""
        process = self.start_bare(account, *arguments, output=subprocess.PIPE)
        return process.communicate(timeout=PATIENCE_S)[0].decode()

    def start_bare(self, account: str, *arguments: str, output: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start an account's CLI as its user would, without us, and leave it running."""
        block = tomllib.loads((self._config / "providers.toml").read_text())[account]
        return subprocess.Popen(
            [block["command"], *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=self.environment() | block["environment"],
            cwd=self.project,
        )

    def trace(self, ran: Ran) -> dict:
        """Return the trace of a run's last invocation."""
        return json.loads(self.run("trace", ran.last_id, "--json").stdout)["root"]


def _style(command: str, styles: Mapping[str, str]) -> Style:
    return STYLES[command][styles.get(command, "text")]


def _block(account: str, command: Path, style: Style, variables: Mapping[str, str]) -> str:
    lines = [
        f"[{account}]",
        f"command = {json.dumps(str(command))}",
        f"args = {json.dumps(style.args)}",
        f"prompt_mode = {json.dumps(style.prompt_mode)}",
        f"[{account}.environment]",
        *(f"{name} = {json.dumps(value)}" for name, value in variables.items()),
        style.capture.replace("NAME", account),
    ]
    return "\n".join(lines)
