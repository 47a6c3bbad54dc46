"""The contract's `session` commands as a script meets them: exit code, stdout and stderr."""

import hashlib
import json
import shlex
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.clock import to_text
from oulipoly_engine.facade import output
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
UNKNOWN = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
COMMANDS = ("locate", "export", "pause-handshake", "resume-handshake")


def entry(number):
    values = {"sessionId": SESSION, "type": "user", "uuid": f"t{number}", "timestamp": "2026-04-17T08:00:00Z"}
    return json.dumps(values | {"message": {"content": f"text {number}"}}) + "\n"


def extra_of(command):
    return ("--token", "pause_" + "0" * 32) if command == "resume-handshake" else ()


class Sessions:
    """A world with one session on one account, whose scripts find it."""

    def __init__(self, world):
        self.world = world
        self.transcript = world.home / f"{SESSION}.jsonl"
        self.transcript.write_text(entry(1) + entry(2))
        self.workspace = world.home / "work"
        self.workspace.mkdir()
        self.account("acc")
        world.model("m", "acc")
        self.store = open_store(world.data / "state.db")
        self.chain = self.add_chain()

    def account(self, name, finds=None):
        lives = f"echo {shlex.quote(json.dumps({'found': True, 'cwd': str(self.workspace)}))}"
        storage = {
            "kind": "script",
            "cwd_script": lives,
            "transcript_script": finds or f"echo {self.transcript}",
            "storage_type": "claude_code",
        }
        block = "".join(f"{key} = {json.dumps(value)}\n" for key, value in storage.items())
        extra = f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n[{name}.session_storage]\n{block}"
        self.world.account(name, "true", extra)

    def add_chain(self, account="acc", model="m", hours_ago=1):
        used = to_text(datetime.now(UTC) - timedelta(hours=hours_ago))
        with self.store.write():
            return chains.insert(
                self.store, account, SESSION, model, started_at=used, last_used_at=used, reason="initial"
            )

    def run(self, command, *arguments):
        return self.world.run("session", command, *arguments)

    def json(self, command, *arguments):
        """Run a command that must succeed, and return the one line that it prints."""
        done = self.run(command, *arguments)
        assert (0, b"") == (done.returncode, done.stderr)
        assert done.stdout.endswith(b"}\n")
        assert 1 == done.stdout.count(b"\n")
        return json.loads(done.stdout)

    def refused(self, command, *arguments):
        """Run a command that must fail, and return its exit code and its error."""
        done = self.run(command, *arguments)
        assert b"" == done.stdout
        assert 1 == done.stderr.count(b"\n")
        return done.returncode, json.loads(done.stderr)["error"]

    def rows(self):
        """Return everything in the state file: of an index its own tables, for it cannot be read itself."""
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        with closing(sqlite3.connect(self.world.data / "state.db")) as connection:
            names = [name for (name,) in connection.execute(tables)]
            return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}


@pytest.fixture
def sessions(world):
    made = Sessions(world)
    yield made
    made.store.close()


@pytest.mark.parametrize("flag", [(), ("--json",)])
def test_locate_prints_one_compact_line(sessions, flag):
    expected = (
        f'{{"session_id":"{SESSION}","chain_id":"{sessions.chain}","provider_name":"acc","storage_type":"claude_code",'
        f'"jsonl_path":"{sessions.transcript}","workspace_root":"{sessions.workspace}",'
        '"transcript_state":"available","mutable":true}\n'
    )

    assert expected == sessions.run("locate", SESSION, *flag).stdout.decode()


def test_a_person_reads_where_a_session_lies(sessions, capfd, monkeypatch):
    monkeypatch.setattr(output, "is_terminal", lambda: True)

    assert 0 == main(["session", "locate", SESSION])
    assert f"session {SESSION} is on acc\nits transcript: {sessions.transcript}\n" in capfd.readouterr().out


@pytest.mark.parametrize("command", ["locate", "export"])
def test_reading_leaves_rows_transcript_and_folders_as_they_were(sessions, command):
    def state():
        seen = sessions.transcript.stat()
        folders = sorted(path.name for path in sessions.world.data.iterdir() if not path.name.startswith("state.db"))
        return sessions.rows(), sessions.transcript.read_bytes(), seen.st_mtime_ns, seen.st_ino, folders

    before = state()
    assert 0 == sessions.run(command, SESSION.upper()).returncode
    assert before == state()


def test_export_prints_every_turn(sessions):
    done = sessions.run("export", SESSION, "--format", "canonical-jsonl")

    records = [json.loads(line) for line in done.stdout.splitlines()]
    raw = sessions.transcript.read_bytes()
    assert (0, b"") == (done.returncode, done.stderr)
    assert [("t1", "acc"), ("t2", "acc")] == [(record["turn_id"], record["provider_name"]) for record in records]
    for source in (record["source"] for record in records):
        line = raw[source["byte_start"] : source["byte_end"]]
        assert source["sha256"] == hashlib.sha256(line).hexdigest()


def test_export_of_a_malformed_transcript_prints_nothing(sessions):
    sessions.transcript.write_text(entry(1) * 1_000 + "garbage\n" + entry(2))

    code, error = sessions.refused("export", SESSION)

    assert (15, "malformed-provider-transcript", 1_001) == (code, error["code"], error["line"])
    assert f"{sessions.transcript}, line 1001" in error["message"]


def test_export_in_another_format_is_refused(sessions):
    assert (2, "invalid-format") == _code(sessions.refused("export", SESSION, "--format", "yaml"))


def _code(refusal):
    return refusal[0], refusal[1]["code"]


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("bad", ["nope", SESSION[:-1], "ses_1234"])
def test_invalid_id_fails_before_any_file_is_created(world, command, bad):
    done = world.run("session", command, bad, *extra_of(command))

    error = json.loads(done.stderr)["error"]
    assert (2, b"", "invalid-session-id", bad) == (done.returncode, done.stdout, error["code"], error["input"])
    assert not world.data.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_question_without_a_state_file_creates_none(world, command):
    done = world.run("session", command, SESSION, *extra_of(command))

    error = json.loads(done.stderr)["error"]
    assert (10, b"", "session-not-found", SESSION) == (done.returncode, done.stdout, error["code"], error["input"])
    assert not world.data.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_session_is_not_found(sessions, command):
    code, error = sessions.refused(command, UNKNOWN, *extra_of(command))

    assert (10, "session-not-found", UNKNOWN) == (code, error["code"], error["input"])


@pytest.mark.parametrize("command", COMMANDS)
def test_two_chains_in_use_are_refused(sessions, command):
    other = sessions.add_chain(account="acc2")

    code, error = sessions.refused(command, SESSION, *extra_of(command))

    assert (11, "ambiguous-session", SESSION) == (code, error["code"], error["input"])
    assert sessions.chain in error["message"]
    assert other in error["message"]


def test_chain_s_id_settles_what_is_ambiguous(sessions):
    sessions.add_chain(account="acc2")

    assert "acc" == sessions.json("locate", sessions.chain)["provider_name"]


def test_of_idle_chains_the_latest_is_taken(sessions):
    sessions.add_chain(account="gone", hours_ago=30)

    assert sessions.chain == sessions.json("locate", SESSION)["chain_id"]


@pytest.mark.parametrize("command", ["locate", "export"])
def test_account_without_storage_is_unsupported(sessions, command):
    (sessions.world.config / "providers.toml").write_text("[acc]\ncommand = 'sh'\n")

    code, error = sessions.refused(command, SESSION)

    assert (12, "unsupported-storage", "acc") == (code, error["code"], error["provider_name"])


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("words", [["--nonsense"], [], [SESSION, "--state-db", "x"]])
def test_wrong_command_line_is_a_json_error_too(sessions, command, words):
    code, error = sessions.refused(command, *words)

    assert (2, "invalid-argument") == (code, error["code"])


def test_broken_configuration_is_an_operational_error(sessions):
    (sessions.world.config / "providers.toml").write_text("[acc\n")

    assert (1, "operational-error") == _code(sessions.refused("locate", SESSION))


def test_broken_state_file_is_an_operational_error(sessions):
    (sessions.world.data / "state.db").write_bytes(b"no database at all " * 300)

    assert (1, "operational-error") == _code(sessions.refused("locate", SESSION))


def test_newer_state_file_is_incompatible(sessions):
    with closing(sqlite3.connect(sessions.world.data / "state.db")) as connection:
        connection.execute("PRAGMA user_version = 999")

    assert (14, "schema-incompatible") == _code(sessions.refused("export", SESSION))


def test_pause_prints_token_end_and_storage(sessions):
    before = datetime.now(UTC)

    lease = sessions.json("pause-handshake", SESSION, "--ttl-ms", "60000")

    keys = ["session_id", "chain_id", "provider_name", "token", "expires_at", "lock_path", "storage"]
    assert keys == list(lease)
    assert (SESSION, sessions.chain, "acc") == (lease["session_id"], lease["chain_id"], lease["provider_name"])
    assert lease["lock_path"] == str(sessions.world.data / "locks" / f"session-{SESSION}.lock")
    assert {
        "storage_type": "claude_code",
        "jsonl_path": str(sessions.transcript),
        "workspace_root": str(sessions.workspace),
    } == lease["storage"]
    ends = datetime.fromisoformat(lease["expires_at"]) - before
    assert timedelta(seconds=60) <= ends < timedelta(seconds=85)


def test_pause_lasts_five_minutes_by_itself(sessions):
    before = datetime.now(UTC)

    ends = datetime.fromisoformat(sessions.json("pause-handshake", SESSION)["expires_at"]) - before

    assert timedelta(seconds=300) <= ends < timedelta(seconds=325)


def test_pause_and_resume_and_resume_again(sessions):
    token = sessions.json("pause-handshake", SESSION)["token"]
    code, busy = sessions.refused("pause-handshake", sessions.chain)

    first, again = (sessions.json("resume-handshake", SESSION, "--token", token) for _ in range(2))

    assert (13, "session-busy") == (code, busy["code"])
    assert hashlib.sha256(token.encode()).hexdigest() == busy["token"]
    assert ["session_id", "token", "released_at", "already_released"] == list(first)
    assert (False, True) == (first.pop("already_released"), again.pop("already_released"))
    assert {"session_id": SESSION, "token": token, "released_at": first["released_at"]} == first == again


@pytest.mark.parametrize("ttl", ["0", "-5", "600001", "soon", "1.5", "", "9" * 30])
def test_lifetime_out_of_bounds_is_refused(sessions, ttl):
    assert (2, "invalid-ttl") == _code(sessions.refused("pause-handshake", SESSION, f"--ttl-ms={ttl}"))
    assert not (sessions.world.data / "locks").exists()


def test_release_of_nothing_and_of_another_s(sessions):
    stranger = ("--token", "pause_" + "0" * 32)

    assert (17, "lock-expired") == _code(sessions.refused("resume-handshake", SESSION, *stranger))
    sessions.json("pause-handshake", SESSION)
    assert (16, "lock-token-invalid") == _code(sessions.refused("resume-handshake", SESSION, *stranger))
    assert (16, "lock-token-invalid") == _code(sessions.refused("resume-handshake", SESSION, "--token", "x"))


def test_pause_of_a_session_whose_model_is_gone_is_refused(sessions):
    (sessions.world.config / "models" / "m.toml").unlink()

    code, error = sessions.refused("pause-handshake", SESSION)

    assert (12, "model-resolution-failed") == (code, error["code"])
    assert "'m'" in error["message"]


def test_pause_needs_neither_model_nor_transcript_of_an_imported_session(sessions):
    with sessions.store.write():
        sessions.store.execute("UPDATE session_chains SET model_name = '<unknown>'")
    sessions.transcript.unlink()

    assert sessions.json("pause-handshake", SESSION)["storage"]["jsonl_path"] is None


def test_help_names_every_command(world):
    done = world.run("session", "--help")

    assert 0 == done.returncode
    assert all(command in done.stdout.decode() for command in (*COMMANDS, "schema-probe"))


def test_a_move_of_a_session_that_no_scan_has_seen_scans_first(world):
    turns = ""
    for name in ("a", "b"):
        root = world.home / f".{name}" / "projects"
        (root / "-work").mkdir(parents=True)
        storage = (
            f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n[{name}.session_storage]\nkind = 'script'\n"
            f"cwd_script = 'claude-code-cwd {root}'\ntranscript_script = 'claude-code-locate-transcript {root}'\n"
            "storage_type = 'claude_code'"
        )
        world.account(name, "true", storage)
        turns += f"[{name}]\nturn_script = 'claude-code-turns {root}'\n"
    (world.config / "sessions.toml").write_text(turns)
    open_store(world.data / "state.db").close()
    line = json.loads(entry(1)) | {"cwd": str(world.home)}
    (world.home / ".a" / "projects" / "-work" / f"{SESSION}.jsonl").write_text(json.dumps(line) + "\n")

    moved = world.run("session", "move", SESSION, "b")

    assert 0 == moved.returncode, moved.stderr
    assert (world.home / ".b" / "projects" / "-work" / f"{SESSION}.jsonl").exists()
