"""Transcripts of all four CLIs with every fault at once: each is counted and named, and the rest is ingested."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
PEAK = Path(__file__).resolve().parents[1] / "fixtures" / "ingest_peak.py"
COUNTS = {"input_tokens": 10, "output_tokens": 5}


def claude(entry, at, text="hi"):
    message = {"id": f"msg_{entry}", "role": "assistant", "model": "m", "usage": COUNTS}
    body = {"message": message | {"content": [{"type": "text", "text": text}]}}
    return {"type": "assistant", "uuid": entry, "timestamp": at, "sessionId": SESSION, "requestId": entry} | body


def codex(_entry, at, text="hi"):
    content = [{"type": "output_text", "text": text}]
    payload = {"type": "message", "role": "assistant", "content": content}
    return {"type": "response_item", "timestamp": at, "payload": payload}


def gemini(entry, at, text="hi"):
    tokens = {"input": 10, "output": 5, "cached": 0, "thoughts": 0, "tool": 0, "total": 15}
    return {"id": entry, "timestamp": at, "type": "gemini", "content": text, "model": "m", "tokens": tokens}


KINDS = {
    "claude": (claude, "claude-code-turns", ".claude/projects", "a.jsonl", []),
    "codex": (
        codex,
        "codex-turns",
        ".codex/sessions",
        f"rollout-{SESSION}.jsonl",
        [{"type": "session_meta", "payload": {"id": SESSION}}],
    ),
    "gemini": (gemini, "gemini-turns", ".gemini/tmp", "session-a.jsonl", [{"sessionId": SESSION, "kind": "main"}]),
}


def line(record):
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


class Spoiled:
    """A home in which one CLI's transcripts are as bad as can be."""

    def __init__(self, world, cli):
        self.world, self.cli = world, cli
        self.make, adapter, folder, self.name, self.before = KINDS[cli]
        self.folder = world.home / folder / "p"
        self.folder.mkdir(parents=True)
        self.path = self.folder / self.name
        world.account(cli, "true")
        (world.config / "sessions.toml").write_text(f'[{cli}]\nturn_script = "{adapter} ~/{folder}"\n')

    def write(self, *lines):
        self.path.write_bytes(b"".join([*map(line, self.before), *lines]))

    def at(self, number):
        """Return how the transcript's line after those that begin it is named."""
        return f"{self.path}:{number + len(self.before)}"

    def scan(self):
        done = self.world.run("session-scan", "--json")
        assert (0, b"") == (done.returncode, done.stderr)
        return json.loads(done.stdout)["accounts"][0]

    def good(self, entry, at="2026-11-20T10:00:00Z", text="hi"):
        return line(self.make(entry, at, text))


@pytest.fixture(params=KINDS)
def spoiled(world, request):
    return Spoiled(world, request.param)


def test_every_spoiled_line_is_counted_and_named_and_the_rest_ingested(spoiled):
    without_time = {key: value for key, value in spoiled.make("no time", "").items() if key != "timestamp"}
    spoiled.write(
        spoiled.good("one"),
        b'{"type":"assistant","uuid\n',
        spoiled.good("bytes", text="c?").replace(b"c?", b"c\xff\xfe"),
        line(without_time),
        spoiled.good("clock", at="2019-01-01T00:00:00Z"),
        spoiled.good("never", at="yesterday"),
        b"\0" * 30 + b"\n",
        spoiled.good("last"),
        b'{"half',
    )

    found = spoiled.scan()

    assert (4, 1, 2) == (found["new_turns"], found["error_count"], found["damaged_lines"])
    assert [spoiled.at(6)] == [f"{error['file']}:{error['line']}" for error in found["errors"]]
    without_time = f"{spoiled.at(4)}: a message without `timestamp`, left out"
    assert [f"{spoiled.at(2)}: not a JSON object", without_time] == found["notes"]
    shown = spoiled.world.run("session-scan", "--again").stdout.decode()
    assert "1 errors, 2 damaged lines (" in shown
    listed = json.loads(spoiled.world.run("session", "list", "--json").stdout)
    assert 4 == sum(one["turns"] for one in listed["sessions" if "sessions" in listed else "conversations"])


def test_half_a_character_in_a_title_costs_nobody_the_list(spoiled):
    """A CLI that cuts a text within an emoji writes half of it, as JSON can."""
    asked = {
        "claude": {"type": "user", "message": {"role": "user", "content": "smile \ud83d"}},
        "codex": {
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "smile \ud83d"}]}
        },
        "gemini": {"type": "user", "content": "smile \ud83d"},
    }
    record = spoiled.make("one", "2026-11-20T10:00:00Z") | asked[spoiled.cli]
    spoiled.write(line(record), spoiled.good("two"))

    assert (2, 0) == (spoiled.scan()["new_turns"], spoiled.world.run("session", "list").returncode)
    listed = json.loads(spoiled.world.run("session", "list", "--json").stdout)
    assert ["smile ?"] == [row["title"] for row in listed["conversations"]]


def test_half_a_character_that_a_reader_remembers_costs_nobody_the_report(world):
    """Gemini's log says at its beginning whose it is: that is kept with how far it was read."""
    spoiled = Spoiled(world, "gemini")
    spoiled.before = [{"sessionId": "s\ud83d", "kind": "main"}]
    spoiled.write(spoiled.good("one"))

    done = world.run("report", "--json")
    assert (0, 1) == (done.returncode, json.loads(done.stdout)["total"]["calls"])


def test_links_in_a_circle_pipes_and_locked_folders_are_told_and_the_rest_is_ingested(spoiled):
    spoiled.write(spoiled.good("one"))
    loop, pipe = (spoiled.folder / spoiled.name.replace(".jsonl", f"-{what}.jsonl") for what in ("loop", "pipe"))
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    (spoiled.folder / "round").symlink_to(spoiled.folder)
    locked = spoiled.folder / "locked"
    locked.mkdir(mode=0)
    is_locked = not os.access(locked, os.R_OK)  # root may read everything

    found = spoiled.scan()
    told = spoiled.world.run("report")
    locked.chmod(0o700)

    expected = [f"{loop}: it is a link, not a regular file", f"{pipe}: it is a FIFO, not a regular file"]
    expected += [f"{locked}: Permission denied"] if is_locked else []
    assert (1, len(expected), expected) == (found["new_turns"], found["unread_files"], found["notes"])
    assert 0 == told.returncode
    assert all(f"Warning: {sentence}" in told.stderr.decode() for sentence in expected)


def test_report_names_the_lines_that_it_cannot_count(spoiled):
    told_of = b'{"timestamp":"","type":"event_msg","payload":{"type":"token_count","info":{"tot'
    cut = told_of if spoiled.cli == "codex" else spoiled.good("cut")[:-8]
    spoiled.write(spoiled.good("one"), cut + b"\n", spoiled.good("two"))

    shown = spoiled.world.run("report")
    again = spoiled.world.run("report", "--json")

    assert (0, 0) == (shown.returncode, again.returncode)
    assert f"1 lines that may tell of a call could not be read\n  {spoiled.at(2)}: " in shown.stderr.decode()
    calls = json.loads(again.stdout)["total"]["calls"]
    assert calls == (0 if spoiled.cli == "codex" else 2)  # Codex tells of its calls on other lines


def test_damaged_messages_of_opencode_are_named_everywhere(world):
    folder = world.home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    tokens = {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    good = [
        json.dumps({"role": "assistant", "modelID": "m", "time": {"created": at, "completed": at}, "tokens": tokens})
        for at in (1, 2)
    ]
    with closing(sqlite3.connect(folder / "opencode.db")) as database, database:
        database.execute("CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT)")
        for table in ("message (id TEXT PRIMARY KEY, session_id", "part (id TEXT PRIMARY KEY, message_id"):
            more = "" if table.startswith("message") else ", session_id"
            database.execute(f"CREATE TABLE {table}{more}, time_created, time_updated, data)")
        database.execute("INSERT INTO session VALUES ('s', NULL, '/')")
        for number, data in enumerate((good[0], "{oops", good[1])):
            database.execute("INSERT INTO message VALUES (?, 's', 1, 'never', ?)", (f"m{number}", data))
    world.account("oc", "true")
    (world.config / "sessions.toml").write_text('[oc]\nturn_script = "opencode-turns ~/.local/share/opencode"\n')

    (found,) = json.loads(world.run("session-scan", "--json").stdout)["accounts"]
    told = json.loads(world.run("report", "--json").stdout)

    assert (2, 1) == (found["new_turns"], found["damaged_lines"])
    assert [f"{folder}/opencode.db: message m1: its data is not a JSON object"] == found["notes"]
    assert ([f"{folder}/opencode.db: a message of session s: not a JSON object"], 2) == (
        told["first_damaged"],
        told["total"]["calls"],
    )


def test_line_of_thirty_megabytes_takes_a_few_times_its_size(spoiled, tmp_path):
    spoiled.write(spoiled.good("big", text="x" * (30 << 20)), spoiled.good("after"))
    command = [sys.executable, PEAK, KINDS[spoiled.cli][1], spoiled.folder.parent, tmp_path]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    new_turns, peak_mb = map(int, done.stdout.split())

    assert 2 == new_turns
    assert peak_mb < 6 * 30, peak_mb


def test_a_damaged_database_of_one_account_costs_the_others_nothing(world):
    folder, root = world.home / ".opencode", world.home / ".claude" / "projects"
    folder.mkdir()
    root.mkdir(parents=True)
    (root / "a.jsonl").write_bytes(line(claude("one", "2026-11-20T08:00:00Z", "find the needle")))
    with closing(sqlite3.connect(folder / "opencode.db")) as database:
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created, time_updated, data TEXT)")
    raw = (folder / "opencode.db").read_bytes()
    (folder / "opencode.db").write_bytes(raw.replace(b"tablem", b"table\x8a").replace(b"(id", b"((d"))
    world.account("oc", "true")
    world.account("acc", "true")
    scripts = f"[oc]\nturn_script = 'opencode-turns {folder}'\n[acc]\nturn_script = 'claude-code-turns {root}'\n"
    (world.config / "sessions.toml").write_text(scripts)

    scan, listed, told = world.run("session-scan"), world.run("session", "list"), world.run("report")

    assert [1, 0, 0] == [done.returncode for done in (scan, listed, told)], scan.stderr + listed.stderr + told.stderr
    assert not any(b"Traceback" in done.stderr for done in (scan, listed, told))
    assert b"opencode.db" in scan.stdout + scan.stderr
    assert b"opencode.db" in told.stderr
    assert b"acc" in listed.stdout
    assert b"2026-11-20" in told.stdout
