"""agent-store, agent-scratchpad, agent-messenger and `agents artifact`: what is printed, exit codes, bad input."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oulipoly_engine.cli.artifacts import messenger, scratchpad, store, tool
from oulipoly_engine.cli.main import main
from oulipoly_engine.facade import output

UUID = "550e8400-e29b-41d4-a716-446655440000"
KEY = ("--workflow-run-id", "run", "--artifact-name", "name")
HASH = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"  # of foo
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
HOSTILE = "\x1b[31mred\u202e"


class Said:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "artifacts.db"


@pytest.fixture
def run(db, capfdbinary, monkeypatch):
    """Return a function that runs one of the programs in this process, on one store."""

    def run(program, verb, *arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        place = () if verb in ("scope", "version") else ("--db", str(db))
        code = tool.main(program.TOOL, [verb, *place, *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        return Said(code, out.decode(), err.decode())

    return run


@pytest.fixture
def made(run):
    run(store, "init")
    return run


def test_store(run, db, tmp_path):
    assert (73, "") == (run(store, "list").code, run(store, "list").out)
    assert f"initialized: {db}\n" == run(store, "init").out
    assert {"db_path": str(db), "schema_version": 1, "status": "already_current"} == run(store, "init", "--json").json
    assert f"run name v1 {HASH}\n" == run(store, "put", *KEY, "--content-stdin", stdin=b"foo").out
    (tmp_path / "bar").write_bytes(b"bar\0")
    second = run(store, "put", *KEY, "--content-file", tmp_path / "bar", "--json", "--label", "new").json
    assert (2, 4, ["new"], "store://run/run/name/2") == (
        second["version"],
        second["content_len"],
        second["labels"],
        second["address"],
    )
    assert ("bar\0", "foo") == (run(store, "get", *KEY).out, run(store, "get", *KEY, "--version", "1").out)
    assert "tombstoned: run name v2\n" == run(store, "tombstone", *KEY, *_why("me", "old", 2)).out
    assert "already_tombstoned: run name v2\n" == run(store, "tombstone", *KEY, *_why("you", "older", 2)).out
    assert 65 == run(store, "get", *KEY, "--version", "2").code == run(store, "get", *KEY, "--version", "3").code
    gone = run(store, "get-meta", *KEY, "--version", "2", "--json").json["tombstone"]
    assert {"actor": "me", "reason": "old", "tombstoned_at": gone["tombstoned_at"]} == gone
    assert [1] == [one["version"] for one in run(store, "list", "--json").json["artifacts"]]
    assert 2 == len(run(store, "list", "--include-tombstoned").out.splitlines())
    assert 66 == run(store, "put", *KEY, "--content-stdin", "--predecessor-version", "1", stdin=b"x").code
    assert "gc expired=0 files=0 bytes=4\n" == run(store, "gc").out


def _why(actor, reason, version):
    return "--version", version, "--actor", actor, "--reason", reason


def test_scratchpad(made):
    mine = ("--invocation-uuid", UUID)
    assert f"notes v1 {HASH}\n" == made(scratchpad, "write", *mine, "--name", "notes", "--body", "foo").out
    assert "foo" == made(scratchpad, "read", *mine, "--name", "notes").out
    assert f"notes v1 {HASH}\n" == made(scratchpad, "list", *mine).out
    told = made(scratchpad, "publish", *mine, "--name", "notes", "--workflow-run-id", "run", "--artifact-name", "final")
    assert f"notes -> run final v1 {HASH}\n" == told.out
    assert UUID == made(store, "get-meta", *KEY[:3], "final", "--json").json["producer_invocation_uuid"]
    dry = made(scratchpad, "gc", *mine, "--dry-run", "--json").json
    address = {"invocation_uuid": UUID, "name": "notes"}
    assert {
        "selector": f"invocation:{UUID}", "dry_run": True, "tombstoned": 1,
        "rows": [{"address": address, "version": 1}],
    } == dry  # fmt: skip
    assert (
        "notes tombstoned=1 already_tombstoned=0\n"
        == made(scratchpad, "delete", *mine, "--name", "notes", "--version", 1).out
    )
    again = made(scratchpad, "delete", *mine, "--name", "notes", "--all-versions", "--json").json
    assert {"address": address, "selector": "all_versions", "tombstoned": 0, "already_tombstoned": 1} == again
    assert "gc dry_run=false tombstoned=0\n" == made(scratchpad, "gc", *mine).out
    assert f"scratchpad:{UUID}\n" == made(scratchpad, "scope", *mine).out


def test_messenger(made, tmp_path):
    channel = tmp_path / "channel"
    channel.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OULIPOLY_RETURN_CHANNEL", str(channel))
        patch.setenv("OULIPOLY_PARENT_INVOCATION", json.dumps({"source": "a", "id": UUID}))
        _return_two(made, channel)


def _return_two(made, channel):
    made(scratchpad, "write", "--name", "notes", "--body", "foo")
    first = made(messenger, "return", "--name", "a b.md", "--scratchpad", "notes", "--verdict-line", "done").out
    second = made(messenger, "return", "--name", "x", "--body", "foo", "--json").json

    place = f"store://return/{UUID}/a%20b.md/1"
    assert f"{place} {HASH}\n" == first
    receipts = [*map(json.loads, channel.read_text().splitlines())]
    assert second == receipts[1]
    assert [{"kind": "scratchpad", "name": "notes", "version": 1}, {"kind": "inline_bytes"}] == [
        one["source"] for one in receipts
    ]
    assert {
        "schema_version", "version_id", "name", "store_address", "sha256", "content_len", "format_hint", "verdict_line",
        "source", "producer_invocation_uuid", "returned_at",
    } == set(receipts[0])  # fmt: skip
    assert "foo" == made(messenger, "show", "--version-id", place).out == made(messenger, "show", "--name", "x").out
    assert f"a b.md v1 {HASH}\nx v1 {HASH}\n" == made(messenger, "list-returned").out
    assert 1 == made(messenger, "version", "--json").json["receipt_schema_version"]


def test_a_message_to_nobody_is_refused_and_stores_nothing(made, tmp_path):
    mine = ("--invocation-uuid", UUID, "--name", "x", "--body", "foo")
    gone = ("--return-channel", tmp_path / "gone")
    full = ("--return-channel", "/dev/full")

    assert [64, 64, 64] == [made(messenger, "return", *mine, *more).code for more in ((), gone, full)]
    assert "" == made(store, "list").out


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (store, ["put", *KEY]),
        (store, ["put", *KEY, "--content-stdin", "--content-file", "/x"]),
        (store, ["put", *KEY, "--content-stdin", "--producer-uuid", "me"]),
        (store, ["put", "--workflow-run-id", f"return:{UUID}", "--artifact-name", "x", "--content-stdin"]),
        (store, ["put", "--workflow-run-id", " ", "--artifact-name", "x", "--content-stdin"]),
        (store, ["put", *KEY[:3], "x" * 10_000, "--content-stdin"]),
        (store, ["put", *KEY[:3], f"{SECRET}{HOSTILE}", "--content-stdin"]),
        (store, ["put", *KEY, "--content-stdin", "--label", "1"]),
        (store, ["get", *KEY, "--version", "0"]),
        (store, ["tombstone", *KEY, "--version", "1", "--actor", "", "--reason", "x"]),
        (store, ["nothing"]),
        (store, []),
        (scratchpad, ["write", "--name", "x", "--body", "y"]),
        (scratchpad, ["write", "--name", "x", "--body", "y", "--invocation-uuid", f"{UUID}\n"]),
        (scratchpad, ["write", "--name", "x", "--body", "y", "--content-stdin", "--invocation-uuid", UUID]),
        (scratchpad, ["gc"]),
        (scratchpad, ["gc", "--expired-before", "yesterday"]),
        (messenger, ["show", "--version-id", "x", "--name", "y"]),
    ],
)
def test_what_is_called_wrongly_ends_with_64_and_a_harmless_sentence(program, arguments, made, db):
    said = made(program, *arguments) if arguments else Said(tool.main(program.TOOL, []), "", "")

    assert 64 == said.code
    assert not said.out
    assert "\x1b" not in said.err
    assert "\u202e" not in said.err
    assert len(said.err) < 600


def test_listings_hide_secrets_and_contents_stay_as_they_are(made, tmp_path):
    (tmp_path / "content").write_text(f"key = {SECRET}\n")
    given = ("--content-file", tmp_path / "content", "--verdict-line", f"found {SECRET}{HOSTILE}", "--format", SECRET)
    put = made(store, "put", *KEY[:3], f"for {SECRET}", *given, "--json")
    listed = (made(store, "list").out, made(store, "list", "--json").json["artifacts"][0]["verdict_line"])

    key = (*KEY[:3], f"for {SECRET}")
    assert all(SECRET not in text for text in (*listed, put.json["verdict_line"], put.json["format_hint"]))
    assert "\x1b" not in put.out
    assert f"key = {SECRET}\n" == made(store, "get", *key).out
    gone = made(store, "tombstone", *key, *_why(SECRET, f"it has {SECRET}", 1), "--json").json["tombstone"]
    assert SECRET not in f"{gone}"


def test_people_and_scripts_name_artifacts_by_address(world, tmp_path, capfdbinary, monkeypatch):
    def agents(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["artifact", *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        return Said(code, out.decode(), err.decode())

    assert (0, "") == (agents("list").code, agents("list").out)
    assert not (world.data / "artifacts.db").exists()
    (tmp_path / "one").write_text(f"one\n{SECRET}\n")
    agents("put", "plan/to do.md", tmp_path / "one", "--label", "draft", "--verdict-line", "a beginning")
    second = agents("put", "plan/to do.md", "-", "--predecessor", 1, "--json", stdin=b"two\n").json

    assert "store://run/plan/to%20do.md/2" == second["address"]
    assert f"one\n{SECRET}\n" == agents("get", "plan/to do.md@draft").out == agents("get", "plan/to do.md@1").out
    shown = agents("show", "plan/to do.md@1").out
    assert "a beginning" in shown
    assert "  one\n" in shown
    assert SECRET not in shown + agents("diff", "plan/to do.md").out
    assert "+two\n" in agents("diff", "plan/to do.md").out
    assert ["new"] == agents("label", "plan/to do.md", "new", "--json").json["labels"]
    assert [2] == [one["version"] for one in agents("list", "plan", "--label", "new", "--json").json["artifacts"]]
    assert [1] == [one["version"] for one in agents("list", "plan/to do.md@1", "--json").json["artifacts"]]
    assert [1] == [one["version"] for one in agents("list", "plan/to do.md@draft", "--json").json["artifacts"]]
    assert 66 == agents("put", "plan/to do.md", tmp_path / "one", "--predecessor", 1).code
    assert 65 == agents("get", "plan/none").code
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)  # of a container, without a name
    assert "removed: plan/to do.md@1\n" == agents("remove", "plan/to do.md@1", "--reason", "it is old").out
    assert "it is old" in agents("list", "plan/to do.md", "--removed").out
    assert agents("gc", "--limit", "10 B").out.endswith("0 expired, limit 10 B\n")
    assert 73 == agents("put", "plan/x", tmp_path / "one").code
    assert (64, 64) == (agents("put", "plan/x@1", tmp_path / "one").code, agents("put", f"return:{UUID}/x", "-").code)
    agents("get", "plan/to do.md", "--output", tmp_path / "saved")
    assert "two\n" == (tmp_path / "saved").read_text()


def test_streams_and_paths_that_cannot_be_used_are_told_by_their_codes(made, db, tmp_path, monkeypatch):
    long = "/" + "x" * 5000
    mine = ("--invocation-uuid", UUID, "--name", "x", "--body", "foo")
    assert 64 == made(messenger, "return", *mine, "--return-channel", long).code
    assert 73 == tool.main(store.TOOL, ["list", "--db", long])
    monkeypatch.setattr(sys, "stdin", None)
    assert 74 == tool.main(store.TOOL, ["put", "--db", str(db), *KEY, "--content-stdin"])
    monkeypatch.setattr("oulipoly_engine.facade.output.STDOUT", os.open("/dev/full", os.O_WRONLY))
    assert 74 == tool.main(store.TOOL, ["init", "--db", str(db)])
    os.close(output.STDOUT)


def test_a_full_disk_is_told_and_nothing_is_left(tmp_path, db, run):
    run(store, "init")
    (tmp_path / "content").write_bytes(b"x" * 400_000)
    line = f'ulimit -f 400; exec "$0" put --db {db} {" ".join(KEY)} --content-file {tmp_path / "content"}'
    program = Path(sys.executable).parent / "agent-store"

    done = subprocess.run(["sh", "-c", line, program], capture_output=True, text=True, check=False, env=os.environ)

    assert (73, "") == (done.returncode, done.stdout)
    assert "cannot write into" in done.stderr
    assert "" == run(store, "list").out
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith("unfinished-")]
