"""Every error of a `--json` command is one JSON line on stderr, with a slug that docs/commands.md lists."""

import importlib
import json
import pkgutil
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

import oulipoly_engine
from oulipoly_engine.cli.completion import complete
from oulipoly_engine.cli.main import main
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.store.base.database_errors import make_refusal

ROOT = Path(__file__).parents[3]
TABLE = json.loads((Path(complete.__file__).parent / "table.json").read_text())
TAKES_JSON = [name for name, row in TABLE.items() if name and "--json" in row.get("options", ())]
UNKNOWN = "ffffffff-0000-4000-8000-00000000dead"  # no session, run, request or terminal has this id
WRONG = {  # what a command is told that it cannot do, with the slug that says so
    "account show nope": "account-not-found",
    "runtime show nope": "runtime-not-found",
    "runtime models nope": "runtime-not-found",
    "runtime refresh nope": "runtime-not-found",
    "quota show nope": "account-not-found",
    "quota check nope": "account-not-found",
    "quota forecast nope": "account-not-found",
    "report --since never": "invalid-argument",
    "why nope": "model-not-found",
    f"why {UNKNOWN}": "run-not-found",
    f"trace {UNKNOWN}": "run-not-found",
    "trace nope": "run-not-found",
    "config get nope": "config-invalid",
    "device revoke nope": "device-not-found",
    "device confirm nope": "device-not-found",
    "grants revoke nope": "grant-not-found",
    f"requests show {UNKNOWN}": "request-not-found",
    f"requests approve {UNKNOWN}": "request-not-found",
    f"session status {UNKNOWN}": "session-not-found",
    f"session send {UNKNOWN} text": "session-not-found",
    f"session show {UNKNOWN}": "session-not-found",
    f"session locate {UNKNOWN}": "session-not-found",
    f"session move {UNKNOWN} a": "session-not-found",
    f"session undo {UNKNOWN}": "session-not-found",
    f"turn resume {UNKNOWN}": "turn-not-found",
    "setup run --model nope": "model-not-found",
    "artifact show nope/x/1": "artifact-store-unusable",
}


@pytest.fixture
def error_of(world, capfd):
    """Return the error that a command line ends with, and hold it to its form."""
    world.account("a", "cat")
    world.model("m", "a")

    def run(*words):
        exit_code = main([*words, "--json"])
        shown = capfd.readouterr()
        assert "" == shown.out
        (line,) = shown.err.splitlines()
        error = json.loads(line)["error"]
        assert error["message"]
        run.warnings += error.get("warnings", ())
        return exit_code, error["code"]

    run.warnings = []
    return run


def test_a_wrong_option_is_told_as_json_by_every_command(error_of):
    told = {name: error_of(*name.split(), "--no-such-option") for name in TAKES_JSON}

    assert dict.fromkeys(TAKES_JSON, (2, "invalid-argument")) == told


def test_what_is_not_there_is_told_as_json_with_a_slug_of_its_own(error_of):
    assert {words: error_of(*words.split())[1] for words in WRONG} == WRONG


def test_an_error_carries_the_warnings_that_came_before_it(error_of, world, monkeypatch):
    refusal = make_refusal(world.data / "state.db", "no right to write it")
    assert 0 == world.run("terminal", "list").returncode  # which makes the state file
    monkeypatch.setattr(Home, "store", Mock(side_effect=refusal))
    codes = {words: error_of(*words.split())[1] for words in WRONG}

    changed = {words: code for words, code in codes.items() if code != WRONG[words]}
    assert {"operational-error"} >= {*changed.values()}
    assert "session-not-found" == codes[f"session status {UNKNOWN}"]
    assert any("It is only read for now" in text for text in error_of.warnings)


def test_warnings_are_told_on_stderr_where_nothing_goes_wrong(world, capfd, monkeypatch):
    world.account("a", "cat")
    world.model("m", "a", "gone")
    assert 0 == main(["quota", "show", "--json"])
    shown = capfd.readouterr()

    assert "generated_at" in json.loads(shown.out)
    assert shown.err.startswith("Warning: ")


def test_a_noun_without_a_verb_is_told_as_json(error_of):
    assert (2, "invalid-argument") == error_of("session")


def test_behind_two_dashes_json_is_not_ours(world, capfd):
    assert 2 == main(["terminal", "kill", "--", "--json"])
    assert capfd.readouterr().err.startswith("Error: ")


def test_the_page_of_commands_lists_every_slug():
    for module in pkgutil.walk_packages(oulipoly_engine.__path__, "oulipoly_engine."):
        if "ghostty" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    page = (ROOT / "docs" / "commands.md").read_text().partition("## Exit codes")[2]
    listed = {*re.findall(r"^\| \d+ \| `([a-z-]+)`", page, re.MULTILINE)}

    assert set() == {kind.slug for kind in _below(RunnerError)} - listed - {"interrupted", "stopped"}


def _below(kind):
    yield kind
    for below in kind.__subclasses__():
        if below.__module__.startswith("oulipoly_"):
            yield from _below(below)
