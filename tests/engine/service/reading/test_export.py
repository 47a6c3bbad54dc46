import hashlib
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import RunnerError, StorageUnsupported, TranscriptMalformed
from oulipoly_engine.service.reading.export import Exporter, canonical_records
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import open_store

FIXTURES = str(Path(__file__).resolve().parents[3] / "fixtures")
SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
FOUND = ResolvedSession("c1", "m", "acc", SESSION, datetime(2026, 11, 20, 12, tzinfo=UTC))


def entry(number, **changes):
    values = {
        "sessionId": SESSION,
        "type": "user",
        "uuid": f"t{number}",
        "timestamp": "2026-04-17T08:00:00Z",
        "message": {"content": f"text {number}"},
    }
    return json.dumps(values | changes).encode() + b"\n"


class Bench:
    """One session's transcript, its account and its stored entries."""

    def __init__(self, folder):
        self.transcript = folder / f"{SESSION}.jsonl"
        self.store = open_store(folder / "state.db")
        self.options = {}
        self.kind = StorageType.CLAUDE_CODE
        self.finds = f"echo {shlex.quote(str(self.transcript))}"

    def export(self):
        """Return the export's bytes and the export."""
        storage = None if self.kind is None else StorageSpec("true", self.finds, self.kind)
        locator = Locator(
            {"acc": Account("acc", storage=storage)}, {}, self.transcript.parent, self.transcript.parent, {}
        )
        with Exporter(self.store, locator, **self.options).export(FOUND) as export:
            return b"".join(export.blocks()), export

    def stored(self, entry_id, timestamp, body):
        with self.store.write():
            return self.store.insert(
                "session_turns",
                provider_name="acc",
                session_id=SESSION,
                turn_id=entry_id,
                timestamp=timestamp,
                role="user",
                ingested_at=timestamp,
                body=body,
            )


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.store.close()


def entry_ids(data):
    return [json.loads(line)["turn_id"] for line in data.splitlines()]


def test_hash_and_count_are_of_the_lines_that_are_handed_out(bench):
    bench.transcript.write_bytes(entry(1) + entry(2))

    data, export = bench.export()

    assert ["t1", "t2"] == entry_ids(data)
    assert (2, hashlib.sha256(data).hexdigest(), False) == (export.records, export.sha256, export.is_from_state)


def test_two_exports_are_the_same_bytes(bench):
    bench.transcript.write_bytes(entry(1) + entry(2, type="system"))

    assert bench.export()[0] == bench.export()[0]


def test_export_begins_at_the_last_compaction_summary(bench):
    summary = {"isCompactSummary": True}
    bench.transcript.write_bytes(entry(1) + entry(2, **summary) + entry(3) + entry(4, **summary) + b"\n" + entry(5))

    data, export = bench.export()

    assert ["t4", "t5"] == entry_ids(data)
    assert [4, 6] == [json.loads(line)["source"]["line"] for line in data.splitlines()]
    assert (2, hashlib.sha256(data).hexdigest()) == (export.records, export.sha256)


def test_fault_before_the_last_summary_still_refuses(bench):
    bench.transcript.write_bytes(b"garbage\n" + entry(1, isCompactSummary=True))

    with pytest.raises(TranscriptMalformed):
        bench.export()


def test_empty_transcript_exports_nothing(bench):
    bench.transcript.write_bytes(b"")

    assert b"" == bench.export()[0]


def test_transcript_is_neither_written_nor_touched(bench):
    bench.transcript.write_bytes(entry(1))
    before = bench.transcript.stat()
    bench.export()

    after = bench.transcript.stat()
    assert (before.st_mtime_ns, before.st_ino, before.st_size) == (after.st_mtime_ns, after.st_ino, after.st_size)


@pytest.mark.parametrize("lost", ["missing", "locator", "folder"])
def test_missing_transcript_is_exported_from_stored_bodies(bench, lost):
    body = '[{"type": "text", "text": "kept é"}]'
    late = bench.stored("t2", "2026-04-17T08:00:01.000000Z", "[]")
    early = bench.stored("t1", "2026-04-17T08:00:00.000000Z", body)
    twin = bench.stored("t3", "2026-04-17T08:00:01.000000Z", "[]")
    bench.finds = {"missing": bench.finds, "locator": "exit 1", "folder": "echo /"}[lost]

    data, export = bench.export()

    first = json.loads(data.splitlines()[0])
    assert export.is_from_state
    assert [early, late, twin] == [json.loads(line)["source"]["line"] for line in data.splitlines()]
    assert [{"type": "text", "text": "kept é"}] == first["content"]
    assert {
        "storage_type": "state_db",
        "jsonl_path": f"db://session_turns/{early}",
        "line": early,
        "byte_start": 0,
        "byte_end": 0,
        "sha256": hashlib.sha256(body.encode()).hexdigest(),
    } == first["source"]


def test_unreadable_transcript_is_exported_from_stored_bodies(bench):
    bench.transcript.write_bytes(entry(1))
    bench.stored("kept", "2026-04-17T08:00:00.000000Z", "[]")
    # Root reads everything, so an unreadable file is one that fails while it is read: /proc/self/mem does.
    bench.finds = "echo /proc/$PPID/mem"

    assert ["kept"] == entry_ids(bench.export()[0])


def test_many_stored_turns_come_in_order(bench):
    count = 1_234
    with bench.store.write():
        for number in range(count):
            bench.stored(f"t{number}", f"2026-04-17T08:{number % 60:02}:00.000000Z", "[]")

    data, export = bench.export()

    rows = [(record["timestamp"], record["source"]["line"]) for record in map(json.loads, data.splitlines())]
    assert count == export.records == len(set(rows))
    assert sorted(rows) == rows


def test_stored_turn_without_a_body_is_a_placeholder_and_one_without_text_says_what_it_was(bench):
    bench.stored("t1", "2026-04-17T08:00:00.000000Z", None)
    bench.stored("t2", "2026-04-17T08:00:01.000000Z", '[{"type":"tool_use"}]')

    bare, call = map(json.loads, bench.export()[0].splitlines())

    assert ([], True) == (bare["content"], bare["unsupported_record"])
    assert hashlib.sha256(b"").hexdigest() == bare["source"]["sha256"]
    assert ([{"type": "tool_use", "text": None}], False) == (call["content"], call["unsupported_record"])


@pytest.mark.parametrize("body", ["no JSON", '{"type":"text"}'])
def test_stored_turn_with_a_damaged_body_is_an_operational_error(bench, body):
    bench.stored("t1", "2026-04-17T08:00:00.000000Z", "[]")
    bench.stored("t2", "2026-04-17T08:00:01.000000Z", body)

    with pytest.raises(RunnerError, match="row 2") as caught:
        bench.export()
    assert "operational-error" == caught.value.slug


def test_neither_transcript_nor_stored_turns_is_unsupported(bench):
    with pytest.raises(StorageUnsupported, match="no turn of it is stored"):
        bench.export()


def test_stored_turns_of_an_account_without_storage_are_exported(bench):
    bench.kind = None
    bench.stored("t1", "2026-04-17T08:00:00.000000Z", '[{"type":"text","text":"hello"}]')

    data, export = bench.export()

    assert (["t1"], True) == (entry_ids(data), export.is_from_state)


def test_an_account_with_neither_storage_nor_stored_turns_is_told_so_in_one_sentence(bench):
    bench.kind = None

    with pytest.raises(StorageUnsupported) as caught:
        bench.export()
    assert "cannot be located: it has no [session_storage] block in providers.toml; and no turn of it is stored" in str(
        caught.value
    )
    assert 1 == str(caught.value).count("cannot be located")


def test_storage_of_another_kind_is_unsupported_even_with_stored_turns(bench):
    bench.kind = StorageType.OTHER
    bench.stored("t1", "2026-04-17T08:00:00.000000Z", "[]")

    with pytest.raises(StorageUnsupported):
        bench.export()


def test_malformed_transcript_is_not_replaced_by_stored_turns(bench):
    bench.transcript.write_bytes(b"garbage\n")
    bench.stored("t1", "2026-04-17T08:00:00.000000Z", "[]")

    with pytest.raises(TranscriptMalformed):
        bench.export()


class Meddled:
    """Stands in for a reading of the transcript, and does something to the file in the middle of it."""

    def __init__(self, bench, *deeds):
        self.deeds = list(deeds)
        bench.options["read"] = self

    def __call__(self, *arguments):
        for place, record in enumerate(canonical_records(*arguments)):
            if place == 0 and self.deeds:
                self.deeds.pop(0)()
            yield record


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def rename_over(path, data):
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").rename(path)


def test_what_is_appended_meanwhile_is_left_for_another_time(bench):
    bench.transcript.write_bytes(entry(1) + entry(2))
    Meddled(bench, lambda: append(bench.transcript, entry(3)))

    assert ["t1", "t2"] == entry_ids(bench.export()[0])


def test_line_that_was_half_written_is_read_again_once_it_is_whole(bench):
    bench.transcript.write_bytes(entry(1) + entry(2)[:50])
    Meddled(bench, lambda: append(bench.transcript, entry(2)[50:]))

    assert ["t1", "t2"] == entry_ids(bench.export()[0])


@pytest.mark.parametrize("change", [rename_over, lambda path, data: path.write_bytes(data)], ids=["rename", "in place"])
def test_transcript_that_is_replaced_meanwhile_is_read_again_whole(bench, change):
    bench.transcript.write_bytes(entry(1) + entry(2))
    Meddled(bench, lambda: change(bench.transcript, entry(3) + entry(4) + entry(5)))

    assert ["t3", "t4", "t5"] == entry_ids(bench.export()[0])


def test_transcript_that_is_rewritten_again_and_again_is_an_error(bench):
    bench.transcript.write_bytes(entry(1))
    Meddled(bench, *[lambda number=number: rename_over(bench.transcript, entry(number)) for number in range(9)])

    with pytest.raises(RunnerError, match="rewritten each time"):
        bench.export()


def test_transcript_that_vanishes_meanwhile_is_exported_from_stored_bodies(bench):
    bench.transcript.write_bytes(entry(1))
    bench.stored("kept", "2026-04-17T08:00:00.000000Z", "[]")
    Meddled(bench, lambda: bench.transcript.unlink())

    assert ["kept"] == entry_ids(bench.export()[0])


_MEASURED = """
import os, sys
sys.path.insert(0, sys.argv[3])
from peak import peak_kb
from pathlib import Path
from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.service.reading.export import Exporter
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import open_store
folder, session = Path(sys.argv[1]), ResolvedSession("c", "m", "acc", sys.argv[2], None)
storage = StorageSpec("true", f"echo {folder}/big.jsonl", StorageType.CLAUDE_CODE)
locator = Locator({"acc": Account("acc", storage=storage)}, {}, folder, folder, {})
store = open_store(folder / "state.db")
before = peak_kb()
with Exporter(store, locator).export(session) as export:
    total = sum(map(len, export.blocks()))
print(total, (peak_kb() - before) // 1024)
"""


def test_memory_stays_flat_however_long_the_transcript(bench):
    line = entry(1, message={"content": "x" * 2_000})
    with bench.transcript.with_name("big.jsonl").open("wb") as file:
        for _ in range(30):
            file.write(line * 500)

    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(bench.transcript.parent), SESSION, FIXTURES],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=True,
    )
    total, grown_mib = map(int, done.stdout.split())

    assert total > 30 << 20
    assert grown_mib < 24


def test_full_disk_for_the_buffer_is_an_operational_error(bench):
    bench.transcript.write_bytes(entry(1) * 3)
    bench.options["in_memory_bytes"] = 100
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        with pytest.raises(RunnerError, match="cannot be buffered"):
            bench.export()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
