"""Whatever is wrong, a user gets one clear sentence and the documented exit code, and nothing is half-done."""

import io
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from oulipoly_engine.cli.base import stdio


@pytest.fixture
def ready(world):
    world.account("a", "echo ran")
    world.model("m", "a")
    return world


def refused(done, code, *words):
    assert code == done.returncode, done.stderr
    assert b"Traceback" not in done.stderr
    for word in words:
        assert word.encode() in done.stderr
    assert b"ran" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("-m", "nope", "x"), 1, ("Error: Unknown model 'nope'",)),
        (("nope", "x"), 1, ("Error: Unknown agent 'nope'",)),
        (("-m", "m", "-f", "/nowhere/p"), 1, ("Error: ", "/nowhere/p")),
        (("-m", "m", "-f", "/"), 1, ("Error: ", "cannot be read")),
        (("-m", "m", "   "), 1, ("Error: ", "prompt")),
        (("-a", "/nowhere/a.md", "x"), 1, ("Error: ", "/nowhere/a.md")),
        (("-m", "m", "-p", "/nowhere", "x"), 1, ("Error: ", "/nowhere")),
        (("-m", "m", "-p", "x" * 300, "x"), 2, ("argument -p/--project: ", "File name too long")),
        (("-m", "m", "-p", "", "x"), 2, ("argument -p/--project: ", "the path is empty")),
        (("session", "new", "m", "--terminal", "--repo", "."), 2, ("--repo", "leave out --terminal")),
        (("session", "show", "ab\udcff"), 2, ("argument ID: ", "is not UTF-8 text")),
        (("session", "locate", "ab\udcff", "--json"), 2, ("invalid-session-id",)),
        (("session", "search", "ab\udcff"), 2, ("is not UTF-8 text",)),
        (("-m", "m", "-i", "ab", "x"), 2, ("Error: ", "'ab'")),
        (("-m", "m", "--modle", "x"), 2, ("did you mean --model?",)),
        (("-m", "m", "--timeout", "soon", "x"), 2, ("--timeout",)),
        (("-m", "m", "--timeout", "nan", "x"), 2, ("--timeout",)),
        (("why", "beef"), 1, ("there is no model 'beef', and no recorded runs begin with 'beef'",)),
        (("trace", "not-a-uuid"), 1, ("no recorded runs begin with", "OULIPOLY_INVOCATION")),
        (("trace", "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"), 1, ("no recorded runs begin with",)),
        (("session", "lst"), 2, ("unknown command `agents session lst`", "did you mean `agents session list`?")),
        (("session", "resume-handshake", "x"), 2, ("--token: see `agents session resume-handshake --help`",)),
        (("config", "get", "tie_rul"), 2, ("did you mean 'settings.tie_rule'?",)),
        (("session", "xyz"), 2, ("schema-probe",)),
        (("session",), 2, ("list, search, show",)),
        (("terminal", "lst"), 2, ("did you mean `agents terminal list`?",)),
        (("account", "drian", "a"), 2, ("did you mean `agents account drain`?",)),
        (("list",), 1, ("the command `session list`",)),
        (("help",), 1, ("the command `--help`",)),
        (("migrate",), 2, ("--rebuild",)),
        (("migrate", "--rebuild"), 1, ("nothing to rebuild",)),
        (("confg", "check"), 1, ("did you mean the command `config`",)),
        (("repl", "m"), 1, ("stdin is not a terminal",)),
        (("repl",), 1, ("model required",)),
        (("repl", "m", "-m", "n"), 2, ("two models",)),
        (("--new", "x"), 2, ("--new takes -p alone", "a prompt")),
        (("--new", "-m", "m"), 2, ("--new takes -p alone", "--model")),
        (("resume",), 2, ("--session-id",)),
        (("--linear", "--nonsense"), 2, ("unknown argument '--nonsense'",)),
        (("--read-only", "status"), 2, ("--read-only goes with the app alone",)),
        (("--linear", "a prompt"), 2, ("--linear goes with the app alone",)),
    ],
)
def test_a_wrong_command_line_is_named(ready, arguments, code, words):
    refused(ready.run(*arguments), code, *words)


@pytest.mark.parametrize("arguments", [("-m", "m", "x"), ("--linear",)], ids=["command", "app"])
def test_a_relative_home_is_refused_and_makes_nothing(ready, tmp_path, arguments):
    here = tmp_path / "here"
    here.mkdir()

    refused(ready.run(*arguments, env={"HOME": "elsewhere"}, cwd=here), 2, "HOME is 'elsewhere'", "set it to")
    assert [] == list(here.iterdir())


def test_what_the_system_says_of_a_path_is_an_error_of_ours(ready):
    (ready.home / ".local").write_text("a file where the data folder must be")

    refused(ready.run("account", "drain", "a"), 1, "Error: ", "Not a directory")


def test_a_prompt_comes_from_a_stream_that_the_caller_opened_and_from_no_other_pipe(ready):
    os.mkfifo(ready.home / "fifo")

    refused(ready.run("-m", "m", "-f", "fifo"), 1, "it is a FIFO, not a regular file")
    assert 0 == ready.run("-m", "m", "-f", "/dev/stdin", stdin=b"hello").returncode


def test_a_message_that_is_piped_in_is_text(monkeypatch):
    monkeypatch.setattr(stdio, "is_piped", lambda: False)
    monkeypatch.setattr(stdio, "choose_input", lambda: io.BytesIO(b"\xff, you said"))

    assert "\ufffd, you said" == stdio.read_patiently(print)


def test_an_agent_of_an_unknown_model_names_both(ready):
    ready.agent("old", "gone")

    refused(ready.run("old", "x"), 1, "Unknown model 'gone' referenced by agent 'old'")


def test_blank_stdin_is_no_prompt(ready, markers):
    done = ready.run("-m", "m", stdin=b" \n")

    refused(done, 1, "Error: ", "stdin")
    assert "prompt_resolution" == markers("OULIPOLY_FAILURE", done.stdout)[0]["stage"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\ncommand = \n", ("providers.toml:2",)),
        ("[a]\ncommand = 7\n", ("providers.toml:2", "command")),
        ("[a]\ncommand = 'sh'\nargs = 'x'\n", ("providers.toml:3", "args")),
        ("[a]\ncommand = 'sh'\n[a.resume]\nkind = 'flag'\n", ("[a].resume.flag", "providers.toml:3")),
    ],
    ids=["broken", "number", "text-for-list", "resume"],
)
def test_a_wrong_configuration_names_file_line_and_key(ready, text, words):
    (ready.config / "providers.toml").write_text(text)

    refused(ready.run("-m", "m", "x"), 2, "Error: ", *words)
    assert 2 == ready.run("config", "check").returncode


def test_an_account_without_a_command_is_named(ready, markers):
    (ready.config / "providers.toml").write_text("[a]\nargs = []\n")

    done = ready.run("-m", "m", "x")

    refused(done, 1, "'a' has no command", "providers.toml")
    assert "provider_resolution" == markers("OULIPOLY_FAILURE", done.stdout)[0]["stage"]


@pytest.mark.parametrize(
    ("command", "words"),
    [("no-such-cli", "was not found"), ("/dev/null", "may not be executed")],
    ids=["missing", "not-executable"],
)
def test_a_cli_that_cannot_start_leaves_a_final_row(ready, markers, command, words):
    (ready.config / "providers.toml").write_text(f"[a]\ncommand = '{command}'\n")

    done = ready.run("-m", "m", "x")

    refused(done, 1, "Error: ", words)
    assert ("spawn_error", -1) == (
        markers("OULIPOLY_RESULT", done.stdout)[0]["error_category"],
        ready.rows("SELECT exit_code FROM invocations")[0]["exit_code"],
    )
    assert "failed" == ready.rows("SELECT status FROM invocations")[0]["status"]


def test_a_cli_killed_by_a_signal_shows_it(ready, markers):
    (ready.config / "providers.toml").write_text("[a]\ncommand = 'sh'\nargs = ['-c', 'kill -SEGV $$']\n")

    done = ready.run("-m", "m", "x")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert (139, 139, "killed by signal 11") == (done.returncode, result["exit_code"], result["terminal_reason"])


def _directory(path):
    path.mkdir(parents=True)


def _garbage(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"garbage " * 1000)


def _newer(path):
    _foreign(path, "PRAGMA user_version = 99", "PRAGMA application_id = 1869966448")


def _foreign(path, *statements):
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE providers (id INTEGER)")
        for statement in statements or ("PRAGMA user_version = 4",):
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("arrange", "code", "words"),
    [
        (_directory, 1, "a folder, not a regular file"),
        (_garbage, 1, "is damaged"),
        (_newer, 14, "newer"),
        (_foreign, 14, "state rebuild --yes"),
    ],
    ids=["directory", "garbage", "newer", "foreign"],
)
def test_a_state_file_that_cannot_be_used_stops_the_run_before_anything_starts(ready, arrange, code, words):
    arrange(ready.data / "state.db")

    done = ready.run("-m", "m", "x")

    refused(done, code, "Error: ", words)
    assert b"" == done.stdout
    assert b"OULIPOLY_INVOCATION" not in done.stderr


def test_a_rebuild_sets_the_foreign_file_aside_and_the_run_works(ready):
    _foreign(ready.data / "state.db")
    before = (ready.data / "state.db").read_bytes()

    done = ready.run("migrate", "--rebuild")

    assert 0 == done.returncode
    assert [before] == [path.read_bytes() for path in (ready.data / "state-backups").glob("*/state.db")]
    assert ready.run("-m", "m", "x").stdout.startswith(b"ran\n")


def test_a_data_folder_that_cannot_be_made_stops_the_run(ready):
    ready.data.parent.mkdir(parents=True)
    ready.data.write_text("a file in its place")

    refused(ready.run("-m", "m", "x"), 1, "cannot create the state folder", "OULIPOLY_DATA_DIR")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_state_folder_stops_the_run(ready):
    ready.data.mkdir(parents=True, mode=0o500)

    refused(ready.run("-m", "m", "x"), 1, "OULIPOLY_DATA_DIR")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_our_stdout_stops_the_cli_and_says_so(ready):
    (ready.config / "providers.toml").write_text("[a]\ncommand = 'sh'\nargs = ['-c', 'yes']\n")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "oulipoly_tui", "-m", "m", "x"], stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert 1 == done.returncode
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert ["stdout_failed"] == [row["terminal_reason"] for row in ready.rows("SELECT * FROM invocations")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["", "trace", "why", "demo", "session", "config", "config check"])
def test_a_help_that_cannot_be_written_says_so(world, command):
    arguments = [sys.executable, "-m", "oulipoly_tui", *command.split(), "--help"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, check=False)

    assert 1 == done.returncode
    assert b"cannot write to stdout" in done.stderr


def test_a_full_disk_under_the_state_file_is_named_and_nothing_starts(ready):
    ready.run("-m", "m", "x")
    script = f"ulimit -f 4; {sys.executable} -m oulipoly_tui -m m x"

    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)

    refused(done, 1, "Error: the disk that holds the state file", "free some space")
    assert b"OULIPOLY_INVOCATION" not in done.stderr
    assert 0 == ready.run("-m", "m", "x").returncode


def test_a_working_directory_that_has_gone_is_named(ready):
    script = f"mkdir gone && cd gone && rmdir ../gone && exec {sys.executable} -m oulipoly_tui -m m x"

    done = subprocess.run(["sh", "-c", script], capture_output=True, check=False, cwd=ready.home)

    refused(done, 1, "Error: the working directory is gone", "-p")


def test_a_nul_byte_that_no_argument_can_carry_is_the_prompts_fault(ready, markers):
    (ready.config / "providers.toml").write_text("[a]\ncommand = 'echo'\nprompt_mode = 'arg'\n")

    done = ready.run("-m", "m", stdin=b"a\0b")

    refused(done, 1, "Error: the prompt holds a NUL byte")
    assert "prompt_resolution" == markers("OULIPOLY_FAILURE", done.stdout)[0]["stage"]
    assert [] == ready.rows("SELECT * FROM invocations")


def test_what_is_named_like_a_model_and_is_no_file_is_warned_of(ready):
    (ready.config / "models" / "folder.toml").mkdir()
    (ready.config / "models" / "dangling.toml").symlink_to("nowhere")

    done = ready.run("config", "check")

    assert 0 == done.returncode
    assert b"folder.toml: this is not a regular file" in done.stdout
    assert b"dangling.toml: this is a link to nothing" in done.stdout


def test_a_dry_run_of_the_migration_shows_no_secret(ready):
    secret = "sk-ant-api03-" + "A1b2C3d4" * 6
    (ready.config / "providers.toml").unlink()
    (ready.config / "models" / "m.toml").write_text(f"command = 'claude --token {secret} -p --model opus'\n")

    done = ready.run("migrate-config", "--dry-run")

    assert b"claude" in done.stdout
    assert secret.encode() not in done.stdout + done.stderr
