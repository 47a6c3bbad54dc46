"""A model API and a world of accounts for each test, and the CLIs that `scripts/test-real-clis` installed.

What the suite has seen the CLIs do in live sessions goes into `capabilities.json` with `--record-capabilities`, and
from there into docs/live-capabilities.md by `scripts/live_capabilities.py`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for `loopback`: importlib mode adds no folder

from loopback.api import ModelApi, Plan
from loopback.talk import Talk
from loopback.world import World

CAPABILITIES = Path(__file__).resolve().parent / "capabilities.json"
_SEEN = "capability seen"  # the name of a report's property


def pytest_addoption(parser):
    parser.addoption("--record-capabilities", action="store_true", help="write what live sessions were seen to do")


def pytest_configure(config):
    if config.getoption("--record-capabilities", default=False) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(), "capability recorder")


class _Recorder:
    """Gathers what the tests have seen, those of other workers too, and puts it to what was seen earlier."""

    def __init__(self):
        self._seen = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self._seen += [value for name, value in report.user_properties if name == _SEEN]

    def pytest_sessionfinish(self):
        known = json.loads(CAPABILITIES.read_text()) if CAPABILITIES.exists() else {}
        for cli, version, capability, outcome, how in self._seen:
            told = known.setdefault(cli, {"version": version, "seen": {}})
            if told["version"] != version:  # what another version did says nothing of this one
                told |= {"version": version, "seen": {}}
            told["seen"][capability] = {"outcome": outcome, "how": how}
        CAPABILITIES.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


@pytest.fixture
def clis():
    """The folder that holds the commands claude and codex."""
    folder = os.environ.get("REAL_CLIS_BIN")
    if folder is None:
        pytest.fail("these tests need the real CLIs: run scripts/test-real-clis, which installs them")
    return Path(folder)


@pytest.fixture
def api():
    """The model API, running."""
    with ModelApi() as running:
        yield running


@pytest.fixture
def plan():
    """Make a plan for an account's next calls: `api.plans[ACCOUNT] = plan(refusal="spent")`."""
    return Plan


@pytest.fixture
def world(tmp_path, clis, api):
    """Two claude and two codex accounts that ask the model API."""
    return World(tmp_path / "machine", clis, os.environ["PYTHONPATH"], api.url)


@pytest.fixture
def talk(request, tmp_path, clis, api):
    """A live session with the CLI of the test's parameter `cli`, ended with the test."""
    cli = request.getfixturevalue("cli")
    if not (clis / cli).exists():
        pytest.skip(f"{cli} is not installed in {clis}")
    talk = Talk(World(tmp_path / "machine", clis, os.environ["PYTHONPATH"], api.url, (cli,)), cli)
    yield talk
    if talk.session_id:
        talk.world.run("session", "cancel", talk.session_id)
    talk.end()


@pytest.fixture
def seen(request, clis, record_property):
    """Note what a CLI was seen to do: `seen(CAPABILITY, "yes", HOW)`; only if the test passes."""
    cli = request.getfixturevalue("cli")
    version = _version(clis / cli)

    def seen(capability, outcome="yes", how=""):
        record_property(_SEEN, [cli, version, capability, outcome, how])

    return seen


def _version(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return next((word for word in said.stdout.split() if word[:1].isdigit()), "unknown")
