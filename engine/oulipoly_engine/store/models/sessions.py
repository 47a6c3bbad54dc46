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


class ChainRow(Row):
    """One session over all its accounts."""

    chain_id = TextField(primary_key=True)
    created_at = TextField()
    last_used_at = TextField()
    model_name = TextField(index=True)
    leaf = TextField(null=True)  # the entry that it goes on behind; None: the last of the main line

    class Meta:
        table_name = "session_chains"


class SegmentRow(Row):
    """A session's part on one account."""

    id = AutoField()
    chain_id = TextField(constraints=[references("session_chains", "chain_id")])
    provider_name = TextField()
    session_id = TextField(index=True)
    started_at = TextField()
    ended_at = TextField(null=True)
    last_turn_id = TextField(null=True)
    transition_reason = TextField()

    class Meta:
        table_name = "session_chain_segments"
        indexes = (
            (("chain_id", "provider_name", "session_id"), True),
            (("chain_id", "ended_at"), False),
            (("session_id", "provider_name", "chain_id"), False),
        )


class CopiedHistoryRow(Row):
    """Until when a session's entries were copied to an account."""

    id = AutoField()
    account = TextField()
    session_id = TextField()
    from_account = TextField(null=True)
    since = TextField(null=True)
    copied_at = TextField()

    class Meta:
        table_name = "copied_history"
        indexes = (
            (("account", "copied_at"), False),
            (("session_id", "account"), False),
        )


class NoteRow(Row):
    """What a person says of a session."""

    chain_id = TextField(primary_key=True, constraints=[references("session_chains", "chain_id")])
    name = TextField(null=True)
    note = TextField(null=True)
    pinned_at = TextField(null=True)
    changed_at = TextField()

    class Meta:
        table_name = "conversation_notes"


class FactsRow(Row):
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

    class Meta:
        table_name = "session_facts"
        primary_key = CompositeKey("account", "session_id")
        indexes = (
            (("cwd", "cli_model", "account", "session_id", "first_turn_at", "last_turn_at"), False),
            (("first_turn_at",), False),
        )


FactsRow.add_index(FactsRow.session_id, where=SQL("is_stale = 1"), name="idx_session_facts_stale")
FactsRow.add_index(
    FactsRow.last_entry_at,
    where=is_distinct(FactsRow.described_entries, FactsRow.entries),
    name="idx_session_facts_undescribed",
)


class FactsStateRow(Row):
    """Up to which entry all are counted; the only row."""

    only_row = IntegerField(primary_key=True, constraints=[Check("only_row = 1")])
    counted_to = IntegerField(constraints=[Default(0)])

    class Meta:
        table_name = "session_facts_state"
