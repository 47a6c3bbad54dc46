"""`session import-replace` and `session undo` as a person and a script meet them."""

import hashlib
import json
import shlex
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.clock import to_text
from oulipoly_engine.facade import output
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
RECEIPT = [
    "session_id",
    "provider_name",
    "storage_type",
    "operation",
    "preimage_sha256",
    "postimage_sha256",
    "jsonl_path",
    "state_updated",
    "committed_at",
]


def lines(*texts):
    shared = {"sessionId": SESSION, "type": "user", "timestamp": "2026-04-17T08:00:00Z"}
    records = (shared | {"uuid": f"t{n}", "message": {"content": text}} for n, text in enumerate(texts, 1))
    return "".join(json.dumps(record) + "\n" for record in records).encode()


class Sessions:
    """One session of two entries."""

    def __init__(self, world):
        self.world = world
        self.transcript = world.home / f"{SESSION}.jsonl"
        self.transcript.write_bytes(lines("one", "two"))
        storage = {
            "kind": "script",
            "cwd_script": "true",
            "transcript_script": f"echo {shlex.quote(str(self.transcript))}",
            "storage_type": "claude_code",
        }
        block = "".join(f"{key} = {json.dumps(value)}\n" for key, value in storage.items())
        world.account("acc", "true", f"[acc.session_storage]\n{block}")
        at = to_text(datetime.now(UTC))
        with closing(open_store(world.data / "state.db")) as store, store.write():
            chains.insert(store, "acc", SESSION, "m", started_at=at, last_used_at=at, reason="initial")

    def run(self, command, *arguments, stdin=b""):
        return self.world.run("session", command, SESSION, *arguments, stdin=stdin)

    def edited(self):
        return self.run("export").stdout.replace(b'"two"', '"twö"'.encode())


@pytest.fixture
def sessions(world):
    return Sessions(world)


def test_pipe_from_export_to_import_replaces_and_prints_the_receipt(sessions):
    before = hashlib.sha256(sessions.run("export").stdout).hexdigest()

    done = sessions.run("import-replace", "--preimage-sha256", before.upper(), stdin=sessions.edited())

    receipt = json.loads(done.stdout)
    assert (0, b"", RECEIPT) == (done.returncode, done.stderr, list(receipt))
    assert (before, True, "import-replace") == (
        receipt["preimage_sha256"],
        receipt["state_updated"],
        receipt["operation"],
    )
    assert receipt["postimage_sha256"] == hashlib.sha256(sessions.run("export").stdout).hexdigest()
    assert lines("one", "twö").replace(b"tw\\u00f6", "twö".encode()) == sessions.transcript.read_bytes()


def test_a_list_that_is_kept_shows_what_was_replaced_and_put_back(sessions):
    sessions.run("import-replace", stdin=sessions.edited())
    catalogue = Engine().sessions.catalogue
    board, titles = None, []
    for change in (
        lambda: None,
        lambda: sessions.run("import-replace", stdin=sessions.edited().replace(b'"one"', b'"once"')),
        lambda: sessions.run("undo"),
    ):
        change()
        board = catalogue.board(board)
        titles += [row.session.title for row in board.rows]

    assert ["one", "once", "one"] == titles


def test_a_person_reads_what_undo_did(sessions, capfd, monkeypatch):
    sessions.run("import-replace", stdin=sessions.edited())
    monkeypatch.setattr(output, "is_terminal", lambda: True)

    assert 0 == main(["session", "undo", SESSION])
    assert f"session {SESSION} was put back as it was: {sessions.transcript}\n" == capfd.readouterr().out


@pytest.mark.parametrize("option", ["--from-file", "--file", "-f"])
def test_dry_run_shows_a_diff_and_touches_nothing(sessions, option):
    path = sessions.world.home / "edited.jsonl"
    path.write_bytes(sessions.edited())
    before = sessions.transcript.stat()

    done = sessions.run("import-replace", option, path, "--dry-run")

    shown = done.stdout.decode().splitlines()
    assert ["--- user t2\t2026-04-17T08:00:00Z", "+++ user t2\t2026-04-17T08:00:00Z", "@@ -1 +1 @@"] == shown[:3]
    assert ["-two", "+twö"] == shown[3:5]
    assert shown[5].startswith("Turns: 1 kept, 1 changed, 0 added, 0 removed.")
    assert before == sessions.transcript.stat()
    assert ["state.db"] == [path.name for path in sessions.world.data.iterdir() if "-" not in path.name]


def test_dry_run_as_json_has_every_change(sessions):
    done = sessions.run("import-replace", "--dry-run", "--json", stdin=sessions.edited())

    document = json.loads(done.stdout)
    (change,) = document["changes"]
    assert {"kept": 1, "changed": 1, "added": 0, "removed": 0} == document["turns"]
    assert ("changed", "t2", 2) == (change["change"], change["turn_id"], change["input_line"])
    assert [[{"type": "text", "text": text}] for text in ("two", "twö")] == [
        change[key]["content"] for key in ("old", "new")
    ]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["--preimage-sha256", "abc"], 2, "invalid-argument"),
        (["--preimage-sha256", "f" * 64], 15, "preimage-mismatch"),
        (["--from-file", "/nowhere"], 1, "operational-error"),
        (["--nonsense"], 2, "invalid-argument"),
    ],
)
def test_refusals_are_one_json_line_and_an_empty_stdout(sessions, arguments, exit_code, code):
    done = sessions.run("import-replace", *arguments, stdin=sessions.edited())

    assert (exit_code, b"", code) == (done.returncode, done.stdout, json.loads(done.stderr)["error"]["code"])
    assert lines("one", "two") == sessions.transcript.read_bytes()


def test_undo_lists_shows_and_puts_back(sessions):
    sessions.run("import-replace", stdin=sessions.edited())

    listed = json.loads(sessions.run("undo", "--list", "--json").stdout)["replacements"]
    shown = sessions.run("undo", "--dry-run").stdout.decode()
    undone = sessions.world.run("session", "undo", SESSION[:8])

    assert [("import-replace", None)] == [(one["operation"], one["undone_at"]) for one in listed]
    assert "-twö\n+two\n" in shown
    assert [*RECEIPT, "operation_uuid"] == list(json.loads(undone.stdout))
    assert lines("one", "two") == sessions.transcript.read_bytes()
    table = sessions.run("undo", "--list").stdout.decode().splitlines()
    assert (2, True) == (len(table), f"undo of {listed[0]['operation_uuid']}" in table[1])


def test_undo_of_nothing_says_so(sessions):
    done = sessions.run("undo")

    assert (1, b"", "nothing-to-undo") == (done.returncode, done.stdout, json.loads(done.stderr)["error"]["code"])
    assert b"was never replaced" in sessions.run("undo", "--list").stdout


def test_probe_says_that_replacing_is_there_and_safe(sessions):
    document = json.loads(sessions.world.run("session", "schema-probe").stdout)

    assert (True, True) == (document["features"]["session_import_replace"], document["safe_for_import_replace"])
