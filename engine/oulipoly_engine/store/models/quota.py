"""Quota: windows as last read, their history, and what users say of accounts."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import (
    BigIntegerField,
    Check,
    CompositeKey,
    Default,
    DoubleField,
    IntegerField,
    TextField,
)
from oulipoly_engine.store.models.base import Row


class AccountQuotaRow(Row, table_name="account_quotas"):
    """What is known of an account's quota, and how reading it has gone."""

    account = TextField(primary_key=True)
    refreshed_at = TextField(null=True)
    last_empty_refresh_at = TextField(null=True)
    exhausted_at = TextField(null=True)
    calls_since_refresh = IntegerField(constraints=[Default(0)])
    peak_live_windows = IntegerField(constraints=[Default(0)])
    last_topology_probe_at = TextField(null=True)
    last_attempt_at = TextField(null=True)
    last_failure = TextField(null=True)
    failures_in_a_row = IntegerField(constraints=[Default(0)])
    backoff_until = TextField(null=True)
    thinned_at = TextField(null=True)


class QuotaWindowRow(Row, table_name="quota_windows", primary_key=CompositeKey("account", "position")):
    """One window of an account as last read, with what was learned of its burn rate."""

    account = TextField()
    position = IntegerField()
    used = DoubleField()
    resets_at = TextField()
    last_delta = DoubleField(null=True)
    last_delta_turns = IntegerField(null=True)
    label = TextField(null=True)
    pending_delta = DoubleField(constraints=[Default(0)])
    pending_turns = IntegerField(constraints=[Default(0)])


class ReadingRow(Row, table_name="readings", primary_key=CompositeKey("account", "window", "at_ms")):
    """What one window showed at one moment."""

    account = TextField()
    window = TextField()
    at_ms = BigIntegerField()
    used = DoubleField()
    resets_at_ms = BigIntegerField()
    turns = IntegerField(null=True)
    source = TextField()
    duration_ms = IntegerField(null=True)


class AccountControlRow(Row, table_name="account_controls"):
    """What a user has said of an account; no row: nothing."""

    account = TextField(primary_key=True)
    reserve = DoubleField(constraints=[Default(0), Check("reserve >= 0 AND reserve < 1")])
    drained = IntegerField(constraints=[Default(0)])
    disabled = IntegerField(constraints=[Default(0)])
    changed_at = TextField()


class UnusedQuotaRow(Row, table_name="unused_quota", primary_key=CompositeKey("account", "window", "resets_at_ms")):
    """What was left of a window when it was reset."""

    account = TextField()
    window = TextField()
    resets_at_ms = BigIntegerField()
    unused = DoubleField()
    last_read_ms = BigIntegerField()


class AlertRow(Row, table_name="alerts", primary_key=CompositeKey("account", "window", "kind", "resets_at_ms")):
    """An alert that has been raised."""

    account = TextField()
    window = TextField()
    kind = TextField()
    resets_at_ms = BigIntegerField()
    raised_at = TextField()
