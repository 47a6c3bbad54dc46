"""What was said in sessions, and replacements of it."""

from __future__ import annotations

from oulipoly_engine.core.transcripts.turn_script import CHANGES, LIVE_IDS, OWN_KINDS
from oulipoly_engine.store.base.orm import SQL, AutoField, BigIntegerField, Check, Default, IntegerField, TextField
from oulipoly_engine.store.models.base import Row


class EntryRow(Row, table_name="session_turns"):
    """One entry of a session; the columns say entry, as the contract does."""

    id = AutoField()
    provider_name = TextField()
    session_id = TextField()
    entry_id = TextField(column_name="turn_id")
    timestamp = TextField()
    role = TextField()
    parent_entry_id = TextField(column_name="parent_turn_id", null=True)
    is_sidechain = IntegerField(constraints=[Default(0)])
    is_compaction_boundary = IntegerField(constraints=[Default(0)])
    source_file = TextField(null=True)
    ingested_at = TextField()
    body = TextField(null=True)
    kind = TextField(constraints=[Default("'message'")])
    native_id = TextField(null=True)  # the CLI's own of the item, of what was heard live
    turn_id = TextField(column_name="live_turn_id", null=True)  # ours: of `live_turns`, or the run's


EntryRow.add_index(EntryRow.provider_name, EntryRow.session_id, EntryRow.entry_id, unique=True)
EntryRow.add_index(EntryRow.session_id, EntryRow.timestamp)
EntryRow.add_index(EntryRow.provider_name, EntryRow.role, EntryRow.timestamp)
EntryRow.add_index(EntryRow.turn_id, where=SQL("live_turn_id IS NOT NULL"), name="idx_session_turns_live_turn")


BEHIND_LIVE = LIVE_IDS[:-1] + chr(ord(LIVE_IDS[-1]) + 1)  # the first text behind all that begin so
IS_READ = (EntryRow.entry_id < LIVE_IDS) | (EntryRow.entry_id >= BEHIND_LIVE)  # of a transcript
IS_SAID = EntryRow.kind.not_in(CHANGES)
IS_OWN = EntryRow.kind.in_(OWN_KINDS)  # of `store/live/own_entries.py`, or of a session file
IS_LIVE = (EntryRow.entry_id >= LIVE_IDS) & (EntryRow.entry_id < BEHIND_LIVE)  # of a live session, or of a one-shot


class ReplacementRow(Row, table_name="replacements"):
    """One replacement of a transcript."""

    id = AutoField()
    operation_uuid = TextField(unique=True)
    operation = TextField(constraints=[Check("operation IN ('import-replace', 'undo')")])
    session_id = TextField()
    provider_name = TextField()
    chain_id = TextField()
    jsonl_path = TextField()
    started_at = TextField()
    committed_at = TextField(null=True)
    preimage_sha256 = TextField()
    postimage_sha256 = TextField()
    preimage_file_sha256 = TextField(index=True)
    postimage_file_sha256 = TextField()
    preimage_size_bytes = BigIntegerField()
    undoes = TextField(null=True)
    undone_at = TextField(null=True)


ReplacementRow.add_index(ReplacementRow.session_id, ReplacementRow.provider_name, ReplacementRow.id)
