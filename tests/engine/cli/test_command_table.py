"""The table of commands: nouns with verbs, and the older spellings that scripts use."""

import pytest

from oulipoly_engine.cli.base import commands
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.main import main

OLDER = {
    "attach": "terminal attach",
    "delete": "session delete",
    "forecast": "quota forecast",
    "fork": "session fork",
    "kill": "terminal kill",
    "migrate": "state rebuild",
    "migrate-config": "config migrate",
    "migrate-db": "state backfill",
    "quota-check": "quota check",
    "session-scan": "session scan",
    "sessions": "session list",
    "terminal": "terminal new",
    "terminals": "terminal list",
    "tree": "session tree",
}


def test_every_older_spelling_is_known():
    assert {older: entry.name for entry in commands.SUBCOMMANDS for older in entry.older} == OLDER


@pytest.mark.parametrize(
    ("words", "name", "rest"),
    [
        ("terminals --json", "terminal list", ["--json"]),
        ("terminal list --json", "terminal list", ["--json"]),
        ("terminal -- list", "terminal new", ["--", "list"]),
        ("terminal --detach -- x", "terminal new", ["--detach", "--", "x"]),
        ("terminal --help", "terminal", ["--help"]),
        ("terminal", "terminal", []),
        ("terminal lst", "terminal", ["lst"]),
        ("session scan", "session scan", []),
        ("account list", "account list", []),
        ("why m", "why", ["m"]),
    ],
)
def test_words_lead_to_a_command(words, name, rest):
    entry, arguments = commands.find(words.split())

    assert (name, rest) == (entry.name, arguments)


def test_help_lists_no_older_spelling(capfd):
    assert 0 == main(["--help"])
    shown = [line.split()[0] for line in capfd.readouterr().out.splitlines() if line.startswith("  ")]

    assert {entry.name for entry in commands.SUBCOMMANDS if " " not in entry.name} <= {*shown}
    assert not {*shown} & (OLDER.keys() - {"terminal"})


def test_a_noun_lists_its_verbs(capfd):
    assert 0 == main(["session", "--help"])
    shown = [line.split()[0] for line in capfd.readouterr().out.splitlines() if line.startswith("  ")]

    assert [entry.name.partition(" ")[2] for entry in commands.verbs("session")] == shown


def test_an_older_spelling_of_an_option_is_the_same_option_and_unseen():
    parser = Parser(prog="x")
    parser.add_argument("--limit", type=int)
    parser.accept_older("--turns", "--limit")

    assert 3 == parser.parse(["--turns", "3"]).limit
    assert "--turns" not in parser.format_help()
