"""Invocations, their decisions and counters, and what they returned."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import SQL, AutoField, Check, CompositeKey, Default, IntegerField, TextField
from oulipoly_engine.store.models.base import Row, references


class InvocationRow(Row):
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

    class Meta:
        table_name = "invocations"
        indexes = (
            (("provider_name", "session_id"), False),
            (("parent_invocation_id", "created_at", "id"), False),
        )


InvocationRow.add_index(
    InvocationRow.model_name,
    InvocationRow.provider_name,
    InvocationRow.finished_at,
    where=SQL("status = 'failed'"),
    name="idx_invocations_recent_failures",
)


class DecisionRow(Row):
    """Why an invocation went to its account, as JSON."""

    invocation_id = IntegerField(primary_key=True, constraints=[references("invocations", "id")])
    decision = TextField()

    class Meta:
        table_name = "decisions"


class AccountCounterRow(Row):
    """How often an account has served a model, and how it went last."""

    model_name = TextField()
    account = TextField()
    invocation_count = IntegerField(constraints=[Default(0)])
    error_count = IntegerField(constraints=[Default(0)])
    last_error = TextField(null=True)
    last_error_at = TextField(null=True)
    last_invoked_at = TextField(null=True)

    class Meta:
        table_name = "account_counters"
        primary_key = CompositeKey("model_name", "account")


class ReturnedArtifactRow(Row):
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

    class Meta:
        table_name = "invocation_returned_artifacts"
        primary_key = CompositeKey("invocation_id", "ordinal")
        indexes = ((("invocation_id", "version_id"), True),)


class CliVersionRow(Row):
    """The version of a CLI that was seen last."""

    cli_name = TextField(primary_key=True)
    version = TextField()
    recorded_at = TextField()

    class Meta:
        table_name = "cli_versions"


class CliVersionHistoryRow(Row):
    """One look at a CLI's version."""

    id = AutoField()
    cli_name = TextField()
    version = TextField()
    recorded_at = TextField()

    class Meta:
        table_name = "cli_version_history"
