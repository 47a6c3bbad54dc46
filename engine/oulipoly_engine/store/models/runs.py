"""Invocations, their decisions and counters, and what they returned."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import (
    SQL,
    AutoField,
    Check,
    CompositeKey,
    Default,
    DoubleField,
    IntegerField,
    TextField,
)
from oulipoly_engine.store.models.base import Row, references


class InvocationRow(Row, table_name="invocations"):
    """One start of a CLI by us."""

    id = AutoField()
    invocation_uuid = TextField(unique=True)
    model_name = TextField()
    provider_name = TextField(null=True)
    provider_index = IntegerField(null=True)
    parent_invocation_id = IntegerField(null=True, constraints=[references("invocations", "id", cascade=False)])
    status = TextField(constraints=[Check("status IN ('running', 'succeeded', 'failed', 'legacy')")])
    success = IntegerField(null=True)
    exit_code = IntegerField(null=True)
    error_category = TextField(null=True)
    terminal_reason = TextField(null=True)
    session_id = TextField(null=True)
    session_capture_method = TextField(constraints=[Default("'none'")])
    resume_input_id = TextField(null=True)
    resume_acceptance_status = TextField(null=True)
    resume_acceptance_evidence = TextField(null=True)
    attempt = IntegerField(constraints=[Default(1)])
    working_directory = TextField(null=True)
    owner_pid = IntegerField(null=True)
    created_at = TextField()
    finished_at = TextField(null=True)
    child_pid = IntegerField(null=True)
    child_ticks = IntegerField(null=True)
    owner_place = TextField(null=True)


InvocationRow.add_index(InvocationRow.provider_name, InvocationRow.session_id)
InvocationRow.add_index(InvocationRow.parent_invocation_id, InvocationRow.created_at, InvocationRow.id)
InvocationRow.add_index(
    InvocationRow.model_name,
    InvocationRow.provider_name,
    InvocationRow.finished_at,
    where=SQL("status = 'failed'"),
    name="idx_invocations_recent_failures",
)
InvocationRow.add_index(InvocationRow.provider_name, where=SQL("status = 'running'"), name="idx_invocations_running")


class ExpectationRow(Row, table_name="run_expectations"):
    """How many turns an invocation was expected to take, and how many it took."""

    invocation_id = IntegerField(primary_key=True, constraints=[references("invocations", "id")])
    project = TextField()
    expected_turns = DoubleField()
    planned_session = TextField(null=True)  # that its CLI was asked to begin
    turns = IntegerField(null=True)  # None: not counted yet


ExpectationRow.add_index(ExpectationRow.invocation_id, where=SQL("turns IS NULL"), name="idx_run_expectations_open")


class LengthsRow(Row, table_name="run_lengths", primary_key=CompositeKey("model_name", "project")):
    """How long the runs of a model have been, of a project or, where that is empty, of all."""

    model_name = TextField()
    project = TextField()
    runs = IntegerField()
    turns = DoubleField()
    log_turns = DoubleField()
    log_variance = DoubleField()


class DecisionRow(Row, table_name="decisions"):
    """Why an invocation went to its account, as JSON."""

    invocation_id = IntegerField(primary_key=True, constraints=[references("invocations", "id")])
    decision = TextField()


class AccountCounterRow(Row, table_name="account_counters", primary_key=CompositeKey("model_name", "account")):
    """How often an account has served a model, and how it went last."""

    model_name = TextField()
    account = TextField()
    invocation_count = IntegerField(constraints=[Default(0)])
    error_count = IntegerField(constraints=[Default(0)])
    last_error = TextField(null=True)
    last_error_at = TextField(null=True)
    last_invoked_at = TextField(null=True)


class ReturnedArtifactRow(
    Row, table_name="invocation_returned_artifacts", primary_key=CompositeKey("invocation_id", "ordinal")
):
    """One thing that an invocation has handed back."""

    invocation_id = IntegerField(constraints=[references("invocations", "id")])
    ordinal = IntegerField(constraints=[Check("ordinal >= 0")])
    version_id = TextField()
    name = TextField()
    workflow_run_id = TextField()
    artifact_name = TextField()
    version = IntegerField(constraints=[Check("version > 0")])
    sha256 = TextField(constraints=[Check("length(sha256) = 64")])
    content_len = IntegerField(constraints=[Check("content_len >= 0")])
    format_hint = TextField(null=True)
    verdict_line = TextField(null=True)
    source_kind = TextField()
    source_json = TextField()
    returned_at = TextField()


ReturnedArtifactRow.add_index(ReturnedArtifactRow.invocation_id, ReturnedArtifactRow.version_id, unique=True)


class CliVersionRow(Row, table_name="cli_versions"):
    """The version of a CLI that was seen last."""

    cli_name = TextField(primary_key=True)
    version = TextField()
    recorded_at = TextField()


class CliVersionHistoryRow(Row, table_name="cli_version_history"):
    """One look at a CLI's version."""

    id = AutoField()
    cli_name = TextField()
    version = TextField()
    recorded_at = TextField()
