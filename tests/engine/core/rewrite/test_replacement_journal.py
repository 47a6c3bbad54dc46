"""The journal of a replacement, as its file tells it."""

import json

import pytest

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite.journal import IMPORT_REPLACE, UNDO, Journal, body, read_journal
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Chunk, Source

JOURNAL = Journal(
    operation="import-replace",
    operation_uuid="0e1f",
    started_at="2026-11-20T12:00:00.000000Z",
    session_id="5169694d",
    chain_id="c1",
    active_segment_id=7,
    account="claude1",
    storage_type=StorageType.CLAUDE_CODE,
    jsonl_path="/t.jsonl",
    preimage_sha256="aa",
    postimage_sha256="bb",
    canonical_records_path="/r.jsonl",
    expected_entry_count=3,
    preimage_file_sha256="cc",
    postimage_file_sha256="dd",
)
DOCUMENT = {
    "schema_version": 1,
    "operation": "import-replace",
    "operation_uuid": "0e1f",
    "started_at": "2026-11-20T12:00:00.000000Z",
    "session_id": "5169694d",
    "chain_id": "c1",
    "active_segment_id": 7,
    "provider_name": "claude1",
    "storage_type": "claude_code",
    "jsonl_path": "/t.jsonl",
    "preimage_sha256": "aa",
    "postimage_sha256": "bb",
    "canonical_records_path": "/r.jsonl",
    "db_state_pending": True,
    "expected_turn_count": 3,
    "preimage_file_sha256": "cc",
    "postimage_file_sha256": "dd",
}
TEXTS = ["operation", "operation_uuid", "session_id", "chain_id", "provider_name", "jsonl_path", "postimage_sha256"]


def read(**changed):
    return read_journal(json.dumps(DOCUMENT | changed).encode())


def fault(**changed):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared by the caller
        read(**changed)
    return str(caught.value)


def record(*chunks):
    return CanonicalRecord(
        "s", "a", "u1", "user", "2026-11-20T12:00:00Z", chunks, Source("claude_code", "/t", 1, 0, 9, "")
    )


def test_file_holds_the_contract_s_keys_in_order_one_a_line():
    written = JOURNAL.to_bytes()

    assert list(DOCUMENT.items()) == list(json.loads(written).items())
    assert written.startswith(b'{\n  "schema_version": 1,\n')
    assert written.endswith(b'"dd"\n}\n')


def test_operations_have_the_contract_s_names():
    assert ("import-replace", "undo") == (IMPORT_REPLACE, UNDO)


def test_what_was_written_is_read():
    assert JOURNAL == read_journal(JOURNAL.to_bytes())
    assert JOURNAL == read()


@pytest.mark.parametrize("key", ["preimage_sha256", "preimage_file_sha256", "postimage_file_sha256"])
def test_hash_that_is_not_known_is_none(key):
    assert getattr(read(**{key: None}), key) is None


def test_start_is_kept_in_the_one_form_of_instants():
    assert "2026-11-20T11:00:00.000000Z" == read(started_at="2026-11-20T12:00:00+01:00").started_at


@pytest.mark.parametrize("value", [None, "", 5], ids=["nothing", "empty", "a number"])
@pytest.mark.parametrize("key", [*TEXTS, "started_at", "storage_type", "canonical_records_path"])
def test_text_that_is_missing_is_named(key, value):
    assert f"`$.{key}`" in fault(**{key: value})


@pytest.mark.parametrize("value", [None, "7", True, 1.5], ids=["nothing", "a text", "a boolean", "a fraction"])
@pytest.mark.parametrize("key", ["active_segment_id", "expected_turn_count"])
def test_number_that_is_none_is_named(key, value):
    assert f"`$.{key}`" in fault(**{key: value})


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"schema_version": 2}'], ids=["list", "no version", "another"])
def test_other_json_is_no_journal(data):
    with pytest.raises(ValueError, match=r"Expected `object`|missing required field|`\$.schema_version`"):
        read_journal(data)


def test_json_beyond_all_depth_is_refused():
    with pytest.raises(ValueError, match=r"^it is nested too deeply$"):
        read_journal(b"[" * 100_000)


def test_storage_that_nobody_knows_is_refused():
    assert "'paper'" in fault(storage_type="paper")


def test_body_is_compact_json_of_the_content():
    text = body(record(Chunk("text", "Tür"), Chunk("tool_use", None)))

    assert '[{"type":"text","text":"Tür"},{"type":"tool_use","text":null}]' == text


def test_half_of_a_pair_of_surrogates_is_spelt_out():
    assert '[{"type":"text","text":"a\\ud83d"}]' == body(record(Chunk("text", "a\ud83d")))
