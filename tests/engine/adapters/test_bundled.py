import importlib
import json
import tomllib
from pathlib import Path

import pytest

from oulipoly_engine.adapters.bundled import (
    NAMES,
    PLACE_NAMES,
    TRANSCRIPT_PREFIXES,
    TURN_NAMES,
    BundledCall,
    SessionCall,
    place_call,
    recognise_usage_call,
    run_bundled,
    run_place,
    turn_call,
)
from oulipoly_engine.adapters.scripts import places, turns
from oulipoly_engine.adapters.scripts.usage import VENDORS
from oulipoly_engine.core.accounts.clis.adapters import derive_source

HOME = Path("/home/user")
ROOT = Path(__file__).resolve().parents[3]


def test_every_usage_adapter_is_bundled():
    assert set(VENDORS) == set(NAMES)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("anthropic-usage ~/.claude/.credentials.json", "/home/user/.claude/.credentials.json"),
        ("  chatgpt-usage   /srv/c/auth.json\n", "/srv/c/auth.json"),
        ("zai-usage '/srv/my keys/auth.json'", "/srv/my keys/auth.json"),
        ("zai-usage ~/'my keys/auth.json'", "/home/user/my keys/auth.json"),
    ],
)
def test_bare_call_runs_in_process(command, path):
    assert BundledCall(command.split()[0], Path(path)) == recognise_usage_call(command, HOME)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "my-usage ~/x",
        "anthropic-usage",
        "/usr/bin/anthropic-usage ~/x",
        "anthropic-usage relative.json",
        "anthropic-usage ~other/x",
        "anthropic-usage '~/x'",
        "anthropic-usage $HOME/x",
        "anthropic-usage ~/a ~/b",
        "anthropic-usage ~/x | jq .",
        "anthropic-usage ~/x; true",
        "anthropic-usage ~/x*",
        "X=1 anthropic-usage ~/x",
    ],
)
def test_everything_else_is_left_to_the_shell(command):
    assert recognise_usage_call(command, HOME) is None


def test_derived_command_with_a_blank_in_its_path_runs_in_process():
    command = derive_source("codex-cwd ~/'my codex'/sessions", None)

    assert BundledCall("chatgpt-usage", HOME / "my codex" / "auth.json") == recognise_usage_call(command, HOME)


def test_failure_comes_back_as_the_script_would_have_told_it(tmp_path, capfd):
    result = run_bundled(BundledCall("zai-usage", tmp_path / "absent.json"), {})

    assert (2, "") == (result.exit_code, result.stdout)
    assert "absent.json" in result.stderr
    assert ("", "") == capfd.readouterr()


def test_environment_that_is_given_decides_the_host(tmp_path):
    path = tmp_path / "key.json"
    path.write_text(json.dumps({"Z_AI_API_KEY": "k"}), encoding="utf-8")
    result = run_bundled(BundledCall("zai-usage", path), {"ZAI_USAGE_BASE_URL": "http://example.invalid"})

    assert 1 == result.exit_code
    assert "https://" in result.stderr


def test_every_session_adapter_is_bundled():
    assert {*turns.FORMATS, "opencode-turns"} == set(TURN_NAMES)
    assert {name: one.prefix for name, one in turns.FORMATS.items()} == TRANSCRIPT_PREFIXES
    assert {*places.LOCATORS, *places.CWDS, "opencode-cwd"} == set(PLACE_NAMES)


def test_every_adapter_is_an_installed_command_as_well():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = {
        name: importlib.import_module(target.removesuffix(":main")).__file__
        for name, target in project["scripts"].items()
        if ".adapters." in target
    }

    assert {*NAMES, *TURN_NAMES, *PLACE_NAMES} == set(installed)
    assert {name: str((ROOT / "scripts" / name).resolve()) for name in installed} == installed


def test_bare_call_of_a_session_adapter_runs_in_process():
    assert SessionCall("codex-turns", HOME / ".codex/sessions") == turn_call("codex-turns ~/.codex/sessions", HOME)
    assert SessionCall("codex-cwd", Path("/srv/my s")) == place_call("codex-cwd '/srv/my s'", HOME)


@pytest.mark.parametrize(
    "command", ["claude-code-turns", "claude-code-turns a", "codex-cwd /x", "zai-usage /x", "x /x"]
)
def test_what_is_no_turn_adapter_is_no_turn_call(command):
    assert turn_call(command, HOME) is None


def test_place_is_found_in_process(tmp_path):
    path = tmp_path / "p" / "abc.jsonl"
    path.parent.mkdir()
    path.write_text("")
    found = run_place(SessionCall("claude-code-locate-transcript", tmp_path), "abc")

    assert (0, f"{path}\n", "") == (found.exit_code, found.stdout, found.stderr)
