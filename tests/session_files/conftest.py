"""pi, which `scripts/test-session-files` has installed, beside our command, with a model API on 127.0.0.1."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "real_cli"))  # for `loopback`, the model API

from loopback.api import ModelApi

HERE = Path(__file__).resolve().parent
PATIENCE_S = 60
PACKAGE = "node_modules/@earendil-works/pi-coding-agent"


class Pi:
    """pi with a home of its own, whose model echoes."""

    def __init__(self, installed, folder, api):
        self._package, self._api = installed / PACKAGE, api
        self.project = folder / "project"
        self._home = folder / "pi-home"
        for folder in (self.project, self._home):
            folder.mkdir()
        model = {"id": "echo", "contextWindow": 100_000, "maxTokens": 1000}
        provider = {"baseUrl": f"{api.url}/v1", "api": "openai-completions", "apiKey": "pi", "models": [model]}
        (self._home / "models.json").write_text(json.dumps({"providers": {"loopback": provider}}))

    def say(self, file, text):
        """Go on in a session file with a message, and return what the model was sent."""
        before = len(self._api.calls)
        self._run(file, "--print", text)
        return [said for _, said in self._api.calls[before].said]

    @contextlib.contextmanager
    def open(self, file):
        """Talk to pi by its protocol: a function that sends an order and returns the answer to it."""
        command = [*self._command(file), "--mode", "rpc"]
        with subprocess.Popen(command, stdin=-1, stdout=-1, cwd=self.project, env=self._env(), text=True) as process:

            def order(kind, **fields):
                process.stdin.write(json.dumps({"id": "1", "type": kind, **fields}) + "\n")
                process.stdin.flush()
                answer = None
                is_turn = kind == "prompt" and not fields["message"].startswith("/")
                for line in process.stdout:
                    event = json.loads(line)
                    if event["type"] == "response":
                        assert event["success"], event
                        answer = event.get("data")
                    if event["type"] == ("agent_end" if is_turn else "response"):
                        return answer
                raise AssertionError("pi has ended")

            yield order
            process.stdin.close()

    def judge(self, file):
        """Return what pi's own reader makes of a session file."""
        command = ["node", HERE / "judge.mjs", self._package, file]
        done = subprocess.run(command, capture_output=True, text=True, env=self._env(), timeout=PATIENCE_S, check=True)
        return json.loads(done.stdout)

    def _command(self, file):
        model = ("--provider", "loopback", "--model", "echo", "--offline", "--extension", HERE / "orders.js")
        return ["node", self._package / "dist" / "cli.js", *model, "--session", file]

    def _run(self, file, *words):
        command = [*self._command(file), *words]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.project,
            env=self._env(),
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def _env(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self._home), "PI_CODING_AGENT_DIR": str(self._home)}


@pytest.fixture
def pi(tmp_path):
    """pi and the model that it asks."""
    installed = os.environ.get("PI_INSTALLED")
    if installed is None:
        pytest.fail("these tests need pi: run scripts/test-session-files, which installs it")
    with ModelApi() as api:
        yield Pi(Path(installed), tmp_path, api)
