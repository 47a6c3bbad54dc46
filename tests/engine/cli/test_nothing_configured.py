"""In a home without any configuration each command that needs one says so and how to begin, with one exit code."""

import json
from contextlib import closing

import pytest

from oulipoly_engine.cli.base import commands
from oulipoly_engine.cli.main import main
from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.commands.table import find
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.base.db import open_store

SESSION = "00000000-0000-4000-8000-000000000000"
NEEDING = {
    "": (["-m", "opus", "hello"], ["reviewer", "hello"], ["--usage"], ["--new"], ["--resume", SESSION, "hello"]),
    "repl": ([], ["opus"]),
    "resume": (["--session-id", SESSION, "hello"],),
    "why": (["opus"],),
    "report": ([], ["--json"]),
    "session search": (["words"],),
    "session scan": ([],),
    "session archive": ([],),
    "quota show": ([], ["--json"]),
    "quota check": ([],),
    "quota forecast": ([],),
    "account list": ([], ["--json"]),
    "account show": (["ada"],),
    "account login": (["ada"],),
    "account test": (["ada"],),
    "account rename": (["ada", "bob"],),
    "account remove": (["ada"],),
    "account export": ([],),
    "account drain": (["ada"],),
    "account undrain": (["ada"],),
    "account disable": (["ada"],),
    "account enable": (["ada"],),
    "account reserve": (["ada", "10"],),
    "account clear": (["ada"],),
}
LINES = [[*name.split(), *arguments] for name, many in NEEDING.items() for arguments in many]


def test_every_command_that_needs_one_is_tried():
    served = [entry.name for entry in commands.SUBCOMMANDS if entry.module and not entry.verbs]

    assert NEEDING.keys() - {""} == {name for name in served if {Need.ACCOUNTS, Need.RECORDS} & {*find(name).needs}}


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_command_says_how_to_begin(line, home, capfd):
    code = main(line)

    told = capfd.readouterr()
    assert (1, "") == (code, told.out)
    start = '{"error": {"code": "not-configured", "message": "' if "--json" in line else "Error: "
    assert told.err.startswith(f"{start}nothing is configured yet in ")
    assert "account add`" in told.err
    assert "demo`" in told.err
    assert [] == list(home.iterdir())


@pytest.mark.parametrize("line", ["why opus", "report", "session search x", "config check"])
def test_an_empty_state_file_changes_nothing_of_that(line, home, capfd):
    with closing(open_store(from_environment().state_db)):
        pass

    assert 1 == main(line.split())
    assert capfd.readouterr().err.startswith("Error: nothing is configured yet in ")


@pytest.mark.parametrize(("word", "meant"), [("sesion", "session"), ("help", "--help"), ("pools", "account list")])
def test_a_mistyped_command_is_told_the_nearest_one(word, meant, home, capfd):
    assert 1 == main([word, "list"])
    assert f"did you mean the command `{meant}`?" in capfd.readouterr().err


def test_help_of_such_a_command_is_shown(capfd):
    with pytest.raises(SystemExit):
        main(["why", "--help"])

    assert "usage:" in capfd.readouterr().out


def test_what_is_stored_is_listed_without_a_configuration(world):
    world.account("ada", "cat")
    world.model("opus", "ada")
    world.run("-m", "opus", stdin=b"hello")
    (world.config / "providers.toml").unlink()
    (world.config / "models" / "opus.toml").unlink()

    assert 0 == world.run("session", "list").returncode
    assert 1 == world.run("session", "scan").returncode


@pytest.mark.parametrize("line", ["session list", "sessions"])
def test_a_list_of_sessions_is_empty_and_says_what_fills_it(line, home, capfd):
    assert 0 == main(line.split())
    assert "no session is known yet" in capfd.readouterr().out
    assert 0 == main([*line.split(), "--json"])
    assert [] == json.loads(capfd.readouterr().out)["conversations"]


def test_the_tree_of_the_last_session_says_that_there_is_none(home, capfd):
    assert 0 == main(["session", "tree"])
    assert "no session is known yet" in capfd.readouterr().err
    assert 0 == main(["session", "tree", "--json"])
    assert [] == json.loads(capfd.readouterr().out)["entries"]


def test_a_file_that_cannot_be_taken_in_is_told_in_a_sentence_unless_json_is_asked_for(tmp_path, capfd):
    file = tmp_path / "notes.jsonl"
    file.write_text("notes")

    assert 0 != main(["session", "import", str(file)])
    assert f"Error: {file} is not a session file" in capfd.readouterr().err
    assert 0 != main(["session", "import", str(file), "--json"])
    assert capfd.readouterr().err.startswith('{"error": ')


def test_at_end_goes_with_a_session_alone(home, capfd):
    assert 1 == main(["--resume", SESSION, "--at-end"])
    assert "nothing is configured" in capfd.readouterr().err
    assert 2 == main(["--at-end", "hello"])
    assert "--at-end goes with --resume" in capfd.readouterr().err
