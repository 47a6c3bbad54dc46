"""Drives `session.*`: the real commands on a world shaped as the vector's description says."""

import hashlib
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.probe import STORAGE_TYPES, is_safe
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
COMMANDS = None  # what runs our command
_UNTIL = Path(__file__).resolve().parents[2] / "fixtures" / "replace_until.py"

FEATURES = ("session_import_replace", "session_pause_handshake")


def _safe(vector, _tmp_path):
    everything = dict.fromkeys(FEATURES, True)
    if vector["expected"]["safe"]:
        assert is_safe(exists=True, compatible=True, features=everything, storage_types=STORAGE_TYPES)
        return
    for exists, compatible, replace, pause, types in product(
        (True, False), (True, False), (True, False), (True, False), (STORAGE_TYPES, STORAGE_TYPES[:2])
    ):
        features = {"session_import_replace": replace, "session_pause_handshake": pause}
        is_whole = exists and compatible and replace and pause and types == STORAGE_TYPES
        assert is_whole == is_safe(exists=exists, compatible=compatible, features=features, storage_types=types)


def _change(path, *statements):
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def _arrange(description, path):
    if "absent" in description or "missing db" in description:
        return
    path.parent.mkdir(parents=True)
    if "unreadable" in description or "corrupt" in description:
        path.write_bytes(b"no database at all " * 300)
    elif "above" in description or "newer" in description:
        _change(path, "PRAGMA user_version = 999")
    elif "below" in description or "old" in description:
        _change(path, "PRAGMA user_version = 0")
    elif "index" in description:
        _change(
            path,
            "DROP INDEX idx_segments_session",
            "CREATE INDEX idx_segments_session ON session_chain_segments (chain_id)",
        )
    elif "column" in description:
        _change(path, "ALTER TABLE session_turns DROP COLUMN parent_turn_id")
    elif "table" in description:
        _change(path, "DROP TABLE session_turns")
    else:
        _change(path)


def _schema_probe(vector, tmp_path):
    if "predicate" in vector["description"]:
        _safe(vector, tmp_path)
        return
    path = tmp_path / "data" / "state.db"
    _arrange(vector["description"], path)
    environment = os.environ | {"OULIPOLY_DATA_DIR": str(path.parent)}
    done = COMMANDS.run(["session", "schema-probe"], b"", environment, tmp_path, 60)
    expected = vector["expected"]
    assert expected["exit"] == done.returncode
    if done.returncode:
        assert b"" == done.stdout
        assert expected["code"] == json.loads(done.stderr)["error"]["code"]
        return
    document = json.loads(done.stdout)
    shown = document["state_db"] | {"safe": document["safe_for_import_replace"]}
    assert {key: value for key, value in expected.items() if key != "exit"} == {
        key: shown[key] for key in expected if key != "exit"
    }
    assert path.exists() == path.parent.exists() == document["state_db"]["exists"]


class _World:
    """One session of one account, with scripts that find its transcript and its workspace."""

    def __init__(self, folder, storage="claude_code"):
        self.folder = folder
        self.config = folder / "config" / "oulipoly-agent-runner"
        self.data = folder / "data"
        self.transcript = folder / "transcript.jsonl"
        (self.config / "models").mkdir(parents=True)
        (self.config / "models" / "m.toml").write_text("[[providers]]\nname = 'acc'\n")
        self.configure(storage, f"echo {shlex.quote(str(self.transcript))}")
        self.chain("acc")

    def configure(self, storage, finds):
        lives = f"echo {shlex.quote(json.dumps({'found': True, 'cwd': str(self.folder)}))}"
        block = {"kind": "script", "cwd_script": lives, "transcript_script": finds, "storage_type": storage}
        text = "[acc]\ncommand = 'true'\n[acc.resume]\nkind = 'flag'\nflag = '--resume'\n"
        if storage is not None:
            lines = (f"{key} = {json.dumps(value)}\n" for key, value in block.items())
            text += "[acc.session_storage]\n" + "".join(lines)
        (self.config / "providers.toml").write_text(text)

    def chain(self, account):
        at = to_text(datetime.now(UTC))
        with closing(open_store(self.data / "state.db")) as store, store.write():
            chains.insert(store, account, SESSION, "m", started_at=at, last_used_at=at, reason="initial")

    @property
    def environment(self):
        return os.environ | {"OULIPOLY_DATA_DIR": str(self.data), "XDG_CONFIG_HOME": str(self.config.parent)}

    def run(self, *arguments):
        return COMMANDS.run(["session", *arguments], b"", self.environment, self.folder, 60)

    def pause(self, *arguments):
        done = self.run("pause-handshake", SESSION, *arguments)
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout)


def _refusal(done):
    """Return what a failed command tells, in the vectors' words; its stdout must be empty."""
    error = {} if not done.stderr.startswith(b"{") else json.loads(done.stderr)["error"]
    return {"exit": done.returncode, "stdout": done.stdout.decode(), **error}


def _is_refused(vector, done):
    expected = dict(vector["expected"])
    words = expected.pop("message_contains", "")
    refusal = _refusal(done)
    assert "" == refusal["stdout"]
    assert expected == {key: refusal[key] for key in expected}
    assert words in refusal.get("message", "")


def _is_within(expected, found):
    """Tell whether every key of one object has the same value in the other, below it too."""
    if not isinstance(expected, dict):
        return expected == found
    return all(key in found and _is_within(value, found[key]) for key, value in expected.items())


_EXPORT_ARRANGEMENTS = {
    "garbled line": lambda world: world.transcript.write_text('{"sessionId": 1'),
    "two chains": lambda world: world.chain("other"),
    "without session_storage": lambda world: world.configure(None, ""),
    "unknown": lambda world: None,
}


def _export(vector, tmp_path):
    given = vector["input"]
    world = _World(tmp_path, given.get("storage", "claude_code"))
    if not given:
        world.transcript.write_text("")
        arrange = next(deed for words, deed in _EXPORT_ARRANGEMENTS.items() if words in vector["description"])
        arrange(world)
        other = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
        _is_refused(vector, world.run("export", other if "unknown" in vector["description"] else SESSION))
        return
    lines = "".join(json.dumps(line) + "\n" for line in given.get("lines", ()))
    world.transcript.write_bytes(given.get("bytes", lines).encode())
    records = [json.loads(line) for line in world.run("export", SESSION).stdout.splitlines()]
    expected = vector["expected"]
    if isinstance(expected, list):
        assert len(expected) == len(records)
        assert all(_is_within(*pair) for pair in zip(expected, records, strict=True)), records
        return
    assert expected["roles"] == [record["role"] for record in records]
    assert expected["content"] == [record["content"] for record in records]
    assert expected["turn_ids"] == [record["turn_id"].replace(str(world.transcript), "<path>") for record in records]


def _locate(vector, tmp_path):
    world = _World(tmp_path)
    world.transcript.write_text("")
    if "state-db" in vector["description"]:
        _is_refused(vector, world.run("locate", SESSION, "--state-db", "x"))
        return
    if "locator script fails" in vector["description"]:
        world.configure("claude_code", "exit 1")
        _is_refused(vector, world.run("locate", SESSION))
        return
    done = world.run("locate", SESSION)
    shown = json.loads(done.stdout)
    expected = vector["expected"]
    assert 0 == done.returncode
    assert json.dumps(shown, separators=(",", ":")) + "\n" == done.stdout.decode()
    assert expected["keys"] == list(shown)
    assert (expected["transcript_state"], expected["mutable"]) == (shown["transcript_state"], shown["mutable"])


def _token_shape(vector, world):
    assert re.fullmatch(vector["expected"]["regex"], world.pause()["token"])


def _lock_file(vector, world):
    lease = world.pause()
    text = Path(lease["lock_path"]).read_text()
    assert vector["expected"]["has"] in json.loads(text)
    assert vector["expected"]["lacks"] not in json.loads(text)
    assert lease["token"] not in text


def _at_once(vector, world):
    if "expired" in vector["description"]:
        _expire(world)
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(world.run, "pause-handshake", SESSION) for _ in range(8)]
    codes = [each.result().returncode for each in done]
    assert vector["expected"] == {"exit0": codes.count(0), "exit13": codes.count(13)}


def _expire(world):
    """Take a lease, move its end into the past, and return its token."""
    lease = world.pause()
    path = Path(lease["lock_path"])
    document = json.loads(path.read_text())
    document["expires_at"] = to_text(datetime.now(UTC) - timedelta(seconds=1))
    path.write_text(json.dumps(document))
    return lease["token"]


def _release(vector, world):
    expired = "after expiry" in vector["description"]
    token = _expire(world) if expired else world.pause()["token"]
    expected = vector["expected"]
    count = 1 if expired else len(expected["exits"])
    done = [world.run("resume-handshake", SESSION, "--token", token) for _ in range(count)]
    flags = [json.loads(one.stdout)["already_released"] for one in done]
    exits = [one.returncode for one in done]
    shown = {"exit": exits[0], "already_released": flags[0]} if expired else {"exits": exits, "already_released": flags}
    assert expected == shown


def _wrong_token(vector, world):
    path = world.pause()["lock_path"]
    done = world.run("resume-handshake", SESSION, "--token", "pause_" + "0" * 32)
    assert vector["expected"]["lease_kept"] == Path(path).exists()
    _is_refused(vector | {"expected": {key: vector["expected"][key] for key in ("exit", "code")}}, done)


def _unresolved_model(vector, world):
    (world.config / "models" / "m.toml").unlink()
    _is_refused(vector, world.run("pause-handshake", SESSION))


_HANDSHAKES = {
    "token shape": _token_shape,
    "lock file": _lock_file,
    "concurrent": _at_once,
    "--ttl-ms": lambda vector, world: _is_refused(
        vector, world.run("pause-handshake", SESSION, *vector["description"].split()[:2])
    ),
    "release": _release,
    "wrong well-formed token": _wrong_token,
    "model does not": _unresolved_model,
}


def _handshake(vector, tmp_path):
    drive = next(driver for words, driver in _HANDSHAKES.items() if words in vector["description"])
    drive(vector, _World(tmp_path))


def _entry(entry_id, role, text):
    values = {"sessionId": SESSION, "type": role, "uuid": entry_id, "timestamp": "2026-04-17T08:00:00Z"}
    return json.dumps(values | {"message": {"role": role, "content": [{"type": "text", "text": text}]}}) + "\n"


class _Replacing(_World):
    """A session of two entries, and what a replacement of it is given."""

    def __init__(self, folder):
        super().__init__(folder)
        self.transcript.write_text(_entry("turn-1", "user", "first") + _entry("turn-2", "assistant", "second"))
        self.before = self.transcript.read_bytes()
        self.lines = folder / "lines.jsonl"

    def exported(self):
        return self.run("export", SESSION).stdout

    def records(self, **changes):
        """Return the exported lines, the first of them with other values; an ellipsis takes a key away."""
        first, *others = [json.loads(line) for line in self.exported().splitlines()]
        changed = {key: value for key, value in (first | changes).items() if value is not ...}
        return b"".join(json.dumps(record).encode() + b"\n" for record in (changed, *others))

    def replace(self, lines, *arguments):
        self.lines.write_bytes(lines)
        return self.run("import-replace", SESSION, "--from-file", str(self.lines), *arguments)

    def start_until(self, step, deed, lines):
        """Start the service's own replacement, which does a deed behind one of its steps."""
        self.lines.write_bytes(lines)
        return subprocess.Popen(
            [sys.executable, str(_UNTIL), step, deed, str(self.lines), SESSION],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            text=True,
        )

    def replace_until(self, step, deed, lines):
        return self.start_until(step, deed, lines).communicate(timeout=60)[0]

    def rows(self, what="turn_id", table="session_turns"):
        with closing(sqlite3.connect(self.data / "state.db")) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(f"SELECT {what} FROM {table} ORDER BY 1")]

    def journals(self):
        folder = self.data / "replace_journal"
        return sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.exists() else []


def _refused_import(vector, world):
    bad = next(deed for words, deed in _BAD_INPUTS.items() if words in vector["description"])
    _is_refused(vector, world.replace(bad(world)))
    assert world.before == world.transcript.read_bytes()


_OTHER = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
_BAD_INPUTS = {
    "empty stdin": lambda world: b"",
    "blank line after line 1": lambda world: world.records().replace(b"\n", b"\n\n", 1),
    "bad timestamp": lambda world: world.records(timestamp="yesterday"),
    "turn_id missing": lambda world: world.records(turn_id=...),
    "unsupported": lambda world: world.records(unsupported_record=True),
    "role": lambda world: world.records(role="system"),
    "text": lambda world: world.records(content=[{"type": "tool_use"}]),
    "session": lambda world: world.records(session_id=_OTHER),
    "account": lambda world: world.records(provider_name="other"),
    "provider": lambda world: world.records(provider_name="other"),
    "UTF-8": lambda world: b"\xff" + world.records(),
    "JSON": lambda world: b"{" + world.records(),
}


def _matching_preimage(vector, world):
    lines = world.exported()
    digest = hashlib.sha256(lines).hexdigest()
    done = world.replace(lines, "--preimage-sha256", digest)
    receipt = json.loads(done.stdout)
    is_equal = receipt["preimage_sha256"] == digest
    assert vector["expected"] == {"exit": done.returncode, "receipt_preimage_equals_arg": is_equal}
    assert 9 == len(receipt)


def _wrong_preimage(vector, world):
    done = world.replace(world.records(), "--preimage-sha256", "f" * 64)
    shown = {
        "exit": done.returncode,
        "code": _refusal(done)["code"],
        "transcript_unchanged": world.before == world.transcript.read_bytes(),
        "pending_journal_left": f"session-{SESSION}.pending" in world.journals(),
    }
    assert vector["expected"] == shown


def _new_entries(world):
    records = [json.loads(line) for line in world.exported().splitlines()]
    named = [record | {"turn_id": f"recover-turn-{number}"} for number, record in enumerate(records, 1)]
    return b"".join(json.dumps(record).encode() + b"\n" for record in named)


def _recovered(vector, world):
    world.replace_until("renamed", "die", _new_entries(world))
    assert ([], 2) == (world.rows(), len(world.journals()))
    world.run("locate", SESSION)
    shown = {
        "recovered_turn_ids": [row["turn_id"] for row in world.rows()],
        "last_turn_id": world.rows("last_turn_id", "session_chain_segments")[0]["last_turn_id"],
        "journal_files": len(world.journals()),
    }
    assert vector["expected"] == shown


def _drifted(vector, world):
    world.replace_until("renamed", "die", _new_entries(world))
    world.transcript.write_text(_entry("turn-3", "user", "by hand"))
    world.run("locate", SESSION)
    quarantine = world.data / "replace_journal" / "quarantine"
    assert vector["expected"] == {"journal_quarantined": any(quarantine.iterdir()), "db_unchanged": [] == world.rows()}


def _two_imports(vector, world):
    lines = _new_entries(world)
    first = world.start_until("journaled", "hold", lines)
    assert "held\n" == first.stdout.readline()
    second = world.replace(lines)
    out, _ = first.communicate("go on\n", timeout=60)
    assert vector["expected"] == {"one_exit": 0 if out == "done\n" else 1, "other_exit": second.returncode}
    assert ["recover-turn-1", "recover-turn-2"] == [row["turn_id"] for row in world.rows()]


def _unverified(vector, world):
    said = world.replace_until("renamed", "damage", _new_entries(world))
    code, slug, _ = said.split(" ", 2)
    shown = {
        "exit": int(code),
        "code": slug,
        "pending_journal_left": f"session-{SESSION}.pending" in world.journals(),
        "db_unchanged": [] == world.rows(),
    }
    assert vector["expected"] == shown


def _orphan(vector, world):
    """An orphaned canonical file: gone at the next start, kept while a lease lives."""
    if "live" in vector["description"]:
        world.pause()
    folder = world.data / "replace_journal"
    folder.mkdir(parents=True)
    orphan = folder / f"session-{SESSION}.canonical.jsonl"
    orphan.write_bytes(world.exported())
    world.run("locate", SESSION)
    assert vector["expected"].get("kept", False) == orphan.exists()


def _imported_rows(vector, world):
    world.replace(_new_entries(world))
    rows = world.rows("parent_turn_id, is_sidechain, is_compaction_boundary")
    assert [vector["expected"]] * 2 == rows


_REPLACEMENTS = {
    "matches": _matching_preimage,
    "ff..ff": _wrong_preimage,
    "before DB commit": _recovered,
    "edited by hand": _drifted,
    "two at once": _two_imports,
    "verification fails": _unverified,
    "lease is live": _orphan,
    "orphan": _orphan,
    "imported rows": _imported_rows,
}


def _import_replace(vector, tmp_path):
    found = (driver for words, driver in _REPLACEMENTS.items() if words in vector["description"])
    next(found, _refused_import)(vector, _Replacing(tmp_path))


DRIVERS = {
    "session.export": _export,
    "session.handshake": _handshake,
    "session.import_replace": _import_replace,
    "session.locate": _locate,
    "session.schema_probe": _schema_probe,
}
