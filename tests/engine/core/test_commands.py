"""The table of commands: each command once, complete, found by its name, and called by the command line."""

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from oulipoly_engine.cli.base import commands as command_line
from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.commands.table import WORDS, every, find
from oulipoly_engine.core.web.devices import OFFERED

COMMANDS = every()
ROOT = Path(__file__).resolve().parents[3]


def test_each_command_stands_once_where_its_first_word_leads():
    assert [] == [name for name, times in Counter(command.name for command in COMMANDS).items() if times > 1]
    assert [*COMMANDS] == [find(command.name) for command in COMMANDS]
    assert {*" ".join(WORDS.values()).split()} == {command.name.partition(" ")[0] for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_is_told_in_one_form(command):
    assert 1 <= len(command.label.split()) <= 4
    assert command.summary[0] == command.summary[0].lower()
    assert not command.summary.endswith(".")
    assert command.writes or not command.destroys
    assert command.destroys and find(command.undo).writes if command.undo else True
    assert [argument.is_optional for argument in command.arguments] == sorted(
        argument.is_optional for argument in command.arguments
    )
    assert not any(argument.is_rest for argument in command.arguments[:-1])


def test_what_a_device_may_do_has_a_scope_that_devices_are_given():
    assert {None, *OFFERED} == {command.scope for command in COMMANDS}
    assert [] == [command.name for command in COMMANDS if command.is_confirmed and command.scope in (None, "view")]
    # To look takes `view` alone, but for the devices themselves; every order but to deny and to leave takes more.
    looks = {command.name for command in COMMANDS if command.scope == "view"}
    reads = {command.name for command in COMMANDS if command.scope is not None and not command.writes}
    assert ({"device list"}, {"requests deny", "requests deny reason", "device leave"}) == (
        reads - looks,
        looks - reads,
    )


def test_ids_of_sessions_are_completed_where_a_command_is_about_one():
    described = json.loads(files("oulipoly_engine.cli.completion").joinpath("table.json").read_text())
    first = {entry.name: described[entry.name].get("arguments", [])[:1] for entry in command_line.SUBCOMMANDS}
    about = {command.name for command in COMMANDS if command.arguments[:1] and "session" in command.arguments[0].name}

    assert {name for name, kinds in first.items() if kinds == ["session"]} == about & {
        name for name, kinds in first.items() if kinds
    }


def test_what_a_command_needs_is_said_in_one_place():
    sources = [path for name in ("engine", "tui") for path in (ROOT / name).rglob("*.py") if path.name != "needs.py"]
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    again = [(path.name, need.value) for path, text in texts.items() for need in Need if f'"{need.value}"' in text]

    assert [] == again


def test_what_no_command_takes_back_can_be_agreed_to_on_the_command_line():
    described = json.loads(files("oulipoly_engine.cli.completion").joinpath("table.json").read_text())
    served = [find(entry.name) for entry in command_line.SUBCOMMANDS if entry.module and not entry.verbs]
    final = [command.name for command in served if command.destroys and not command.undo]

    assert len(final) > 5
    assert [] == [name for name in final if "--yes" not in described[name]["options"]]


def test_the_command_line_calls_commands_of_the_table_alone():
    served = [entry for entry in command_line.SUBCOMMANDS if entry.module and not entry.verbs]

    assert [entry.name for entry in served] == [find(entry.name).name for entry in served]
    assert all(entry.summary for entry in command_line.SUBCOMMANDS)
    assert {entry.name for entry in command_line.SUBCOMMANDS if entry.verbs} == {
        entry.name for entry in command_line.SUBCOMMANDS if not entry.module
    }
