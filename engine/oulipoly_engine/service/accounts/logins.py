"""Ask CLIs which version they are and who is logged in; each question has a time limit, and no token is kept."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, KeyringSpec
from oulipoly_engine.core.accounts.arguments import environment
from oulipoly_engine.core.accounts.clis.cli import Cli, Observed, Profile
from oulipoly_engine.core.accounts.clis.login_files import find_fault
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.run import Discard, run
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.accounts import keyring_entries

TIMEOUT_S = 8.0  # of one question; the slowest, Gemini's version, took 1.5 s
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # what `sh` and `env` answer
_LONGEST_SAID = 200  # characters
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


class Version(Record):
    """What a program says of itself."""

    text: str | None = None  # as printed: `2.1.197 (Claude Code)`
    problem: str | None = None  # "does not answer within 8 s", …; None: it answered

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return its numbers to compare; empty where it names none."""
        found = _NUMBERS.search(self.text or "")
        return tuple(int(part) for part in found[0].split(".")) if found else ()


class LoginState(Record):
    """Who is logged in to a CLI in one home."""

    profiles: tuple[Profile, ...] = ()  # the one in use first; none: nobody is, or nobody knows
    problem: str | None = None  # why nobody knows, as a sentence's second half

    @property
    def profile(self) -> Profile | None:
        """Return who is logged in."""
        return self.profiles[0] if self.profiles else None


class LoginFile(Record):
    """The file that a login leaves."""

    path: Path
    state: str  # "file", "missing", "unreadable", "key": a variable holds one, and no file is asked
    fault: str = ""  # what is wrong with it, behind its path: "expired at …"
    mode: int = 0o600

    @property
    def problem(self) -> str | None:
        """Say in a sentence why a login is of no use though the CLI may count it as one."""
        return f"its login {self.path} {self.fault}" if self.state == "file" and self.fault else None


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return where a program lies; None where it is not on the PATH."""
    return shutil.which(name, path=environ.get("PATH"))


def read_version(
    cli: Cli,
    program: str,
    environ: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
) -> Version:
    """Ask a program for its version; it makes no home for itself by that, which would pass for a login."""
    with spare_home(cli, environ) as variables:
        done = _ask((program, *cli.version_words), {**environ, **variables}, timeout_s)
    if done.exit_code in (_NOT_FOUND, _NOT_EXECUTABLE):
        return Version(problem="cannot be started: its interpreter is missing, or it is for another machine")
    if not done.succeeded:
        return Version(problem=_problem(done))
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    said = next((line.strip() for line in lines if line.strip()), "")
    said = visible_line(redact_strictly(said))[:_LONGEST_SAID]  # it is shown, stored, and told to models
    return Version(said) if said else Version(problem="prints no version")


@contextmanager
def spare_home(cli: Cli, environ: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Give the variables that lead a CLI which was never used to a home that is thrown away; none if it has a home.

    Some make their home at every start: opencode 1.18 a database, also for `--version`.
    """
    default = Path(environ.get("HOME") or Path.home()) / cli.place.default
    folder = cli.place.find_folder(environ)
    if (default if folder is None else Path(folder)).exists():
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="agent-runner-", ignore_cleanup_errors=True) as spare:
        yield cli.place.environment(spare)


def find_age_problem(cli: Cli, version: Version) -> str | None:
    """Say that a version is older than any that was seen to work."""
    numbers = version.numbers
    if not numbers or numbers >= cli.oldest:
        return None
    known = ".".join(map(str, cli.oldest))
    return f"{cli.title} {version.text} is older than {known}, the oldest that is known to work: update it"


def read_login(
    cli: Cli, program: str | None, folder: Path, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> LoginState:
    """Ask who is logged in. folder: of the CLI. environ: whole, with the variables that lead it to that folder."""
    if cli.status is None:
        return LoginState(problem="is not known: this program does not know how to ask")
    files = _read_files(folder, cli.status.files)
    if not cli.status.words:
        return LoginState(cli.status.read(Observed(files=files)))
    if program is None:
        return LoginState(problem=f"is not known: there is no program {cli.name} on the PATH")
    done = _ask((program, *cli.status.words), environ, timeout_s)
    if done.problem is not None:
        return LoginState(problem=f"is not known: `{cli.name} {' '.join(cli.status.words)}` {done.problem}")
    out, err = (part.decode("utf-8", "replace") for part in (done.stdout, done.stderr))
    return LoginState(cli.status.read(Observed(done.exit_code, out, err, files)))


def look_at_file(cli: Cli, folder: Path, environ: Mapping[str, str], now: datetime) -> LoginFile:
    """Return what the file of a login is; its CLI counts one that has expired. environ: as `read_login` takes it."""
    files = [folder / name for name in cli.credentials]
    path = next((file for file in files if os.path.lexists(file)), files[0])
    if any(environ.get(name) for name in cli.stand_ins):
        return LoginFile(path, "key")
    if not os.path.lexists(path):
        return LoginFile(path, "missing")
    try:
        raw = read_regular(path)
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        return LoginFile(path, "unreadable", error.strerror or str(error))
    fault = find_fault(cli.name, raw, now) if path.suffix == ".json" else None
    return LoginFile(path, "file", fault or "", mode)


def read_key_login(account: str, cli: Cli, place: KeyringSpec) -> LoginState:
    """Look whether the keyring has an account's API key."""
    try:
        value = keyring_entries.read_key(account, place, TIMEOUT_S)
    except AccountUnusable as error:
        return LoginState(problem=f"is not known: {error.message}")
    way = None if cli.api_key is None else cli.api_key.keyring
    if way is not None and way.stands_for and cli.status is not None:
        return LoginState(cli.status.read(Observed(files={way.stands_for: value})))
    return LoginState((Profile("API key", "api_key"),))


def read_account_login(
    account: Account, home: Path, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> LoginState | None:
    """Ask who is logged in to an account; None where its program is none that is known."""
    found = recognise_cli(account, home, environ)
    if found is None:
        return None
    if account.keyring is not None:
        return read_key_login(account.name, found.cli, account.keyring)
    whole = environment(environ, account) | dict(found.variables)
    program = found.program if "/" in found.program else find_program(found.program, whole)
    state = read_login(found.cli, program, found.folder, whole, timeout_s)
    variable = next((name for name in found.cli.stand_ins if whole.get(name)), None)
    if state.profile is None and variable is not None:  # codex for one counts only what lies in its file
        return LoginState((Profile(f"by {variable}", "api_key"),))
    return state


def tell(words: tuple[str, ...], environ: Mapping[str, str], secret: str) -> str | None:
    """Give a program one line on stdin and wait for its end; return how it failed, None where it did not."""
    done = run(Command(words, environ, stdin=f"{secret}\n".encode(), timeout_s=TIMEOUT_S), Discard())
    if done.stopped_for == "timeout":
        return f"did not end within {TIMEOUT_S:g} s"
    if done.exit_code == 0:
        return None
    said = redact_strictly(done.stderr_tail.decode("utf-8", "replace").replace(secret, "•••")).strip()
    return f"ended with exit code {done.exit_code}: {said.rpartition(chr(10))[2][:_LONGEST_SAID]}"


def _ask(words: tuple[str, ...], environ: Mapping[str, str], timeout_s: float = TIMEOUT_S) -> ScriptResult:
    return run_script(EXEC, environ, timeout_s=timeout_s, arguments=words, output_limit=1 << 20)


def _problem(done: ScriptResult) -> str:
    if done.problem is not None:
        return done.problem
    said = redact_strictly(done.stderr.decode("utf-8", "replace")).strip().partition("\n")[0][:_LONGEST_SAID]
    return f"ended with exit code {done.exit_code}" + (f": {said}" if said else "")


def _read_files(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Read those files that are there; whatever cannot be read counts as missing."""
    found = {}
    for name in names:
        try:
            found[name] = read_regular(folder / name).decode("utf-8", "replace")
        except OSError:
            continue
    return found
