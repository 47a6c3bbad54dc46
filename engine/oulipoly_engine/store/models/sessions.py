"""Sessions (chains in the columns), their segments, what people say of them, and what was counted."""

from __future__ import annotations

from oulipoly_engine.store.base.dialect import is_distinct
from oulipoly_engine.store.base.orm import (
    SQL,
    AutoField,
    BigIntegerField,
    Check,
    CompositeKey,
    Default,
    IntegerField,
    TextField,
)
from oulipoly_engine.store.models.base import Row, references


class ChainRow(Row, table_name="session_chains"):
    """One session over all its accounts."""

    chain_id = TextField(primary_key=True)
    created_at = TextField()
    last_used_at = TextField()
    model_name = TextField(index=True)
    leaf = TextField(null=True)  # the entry that it goes on behind; None: the last of the main line
    deleted_at = TextField(null=True)  # when a person has deleted it: no list has it, until that is undone


ChainRow.add_index(ChainRow.last_used_at, name="idx_session_chains_last_used")
ChainRow.add_index(ChainRow.deleted_at, where=SQL("deleted_at IS NOT NULL"), name="idx_session_chains_deleted")


class SegmentRow(Row, table_name="session_chain_segments"):
    """A session's part on one account."""

    id = AutoField()
    chain_id = TextField(constraints=[references("session_chains", "chain_id")])
    provider_name = TextField()
    session_id = TextField(index=True)
    started_at = TextField()
    ended_at = TextField(null=True)
    last_turn_id = TextField(null=True)
    transition_reason = TextField()
    begins_behind = TextField(null=True)  # of a branch that its CLI keeps as a session of its own: an entry's id


SegmentRow.add_index(SegmentRow.chain_id, SegmentRow.provider_name, SegmentRow.session_id, unique=True)
SegmentRow.add_index(SegmentRow.chain_id, SegmentRow.ended_at)
SegmentRow.add_index(SegmentRow.session_id, SegmentRow.provider_name, SegmentRow.chain_id)


class CopiedHistoryRow(Row, table_name="copied_history"):
    """Until when a session's entries were copied to an account."""

    id = AutoField()
    account = TextField()
    session_id = TextField()
    from_account = TextField(null=True)
    since = TextField(null=True)
    copied_at = TextField()


CopiedHistoryRow.add_index(CopiedHistoryRow.account, CopiedHistoryRow.copied_at)
CopiedHistoryRow.add_index(CopiedHistoryRow.session_id, CopiedHistoryRow.account)


class NoteRow(Row, table_name="conversation_notes"):
    """What a person says of a session."""

    chain_id = TextField(primary_key=True, constraints=[references("session_chains", "chain_id")])
    name = TextField(null=True)
    note = TextField(null=True)
    pinned_at = TextField(null=True)
    changed_at = TextField()


class EntryLabelRow(Row, table_name="entry_labels", primary_key=CompositeKey("chain_id", "entry_id")):
    """What a person calls an entry."""

    chain_id = TextField(constraints=[references("session_chains", "chain_id")])
    entry_id = TextField()
    label = TextField()
    labelled_at = TextField()


class FactsRow(Row, table_name="session_facts", primary_key=CompositeKey("account", "session_id")):
    """What is known of an account's session: counted from its entries, described from its transcript."""

    account = TextField()
    session_id = TextField(index=True)
    entries = IntegerField(column_name="turns")
    assistant_entries = IntegerField(column_name="assistant_turns")
    sidechain_entries = IntegerField(column_name="sidechain_turns")
    side_chains = IntegerField()
    first_entry_at = TextField(column_name="first_turn_at")
    last_entry_at = TextField(column_name="last_turn_at")
    is_stale = IntegerField(constraints=[Default(0)])
    described_entries = IntegerField(column_name="described_turns", null=True)
    title = TextField(null=True)
    cwd = TextField(null=True)
    cli_model = TextField(null=True)
    transcript = TextField(null=True)
    size_bytes = BigIntegerField(null=True)
    mtime_ms = BigIntegerField(null=True)
    forked_from = TextField(null=True)  # '': it is not a fork; None: nobody has looked
    history_session = TextField(null=True)  # that holds its beginning; None: it holds all itself
    history_end = IntegerField(null=True)  # behind the last ordinal of that beginning


FactsRow.add_index(
    FactsRow.cwd,
    FactsRow.cli_model,
    FactsRow.account,
    FactsRow.session_id,
    FactsRow.first_entry_at,
    FactsRow.last_entry_at,
    name="idx_session_facts_narrow",  # one that peewee made of so many would be a hash
)
FactsRow.add_index(FactsRow.first_entry_at)
FactsRow.add_index(FactsRow.last_entry_at, name="idx_session_facts_last_turn")
FactsRow.add_index(FactsRow.session_id, where=SQL("is_stale = 1"), name="idx_session_facts_stale")
FactsRow.add_index(FactsRow.forked_from, where=SQL("forked_from <> ''"), name="idx_session_facts_forks")
FactsRow.add_index(
    FactsRow.last_entry_at,
    where=is_distinct(FactsRow.described_entries, FactsRow.entries),
    name="idx_session_facts_undescribed",
)


class FactsStateRow(Row, table_name="session_facts_state"):
    """Up to which entry all are counted; the only row."""

    only_row = IntegerField(primary_key=True, constraints=[Check("only_row = 1")])
    counted_to = IntegerField(constraints=[Default(0)])
