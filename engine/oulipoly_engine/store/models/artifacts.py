"""The tables of the artifact store, which is a file of its own (contract: section 14)."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import BlobField, CompositeKey, IntegerField, Model, TextField
from oulipoly_engine.store.models.base import Table


class _Row(Model, metaclass=Table):
    """A row; none of `base.Row`'s, by which a state file's tables are known."""


class ArtifactVersionRow(
    _Row, table_name="artifact_versions", primary_key=CompositeKey("workflow_run_id", "artifact_name", "version")
):
    """One version of an artifact."""

    workflow_run_id = TextField()
    artifact_name = TextField()
    version = IntegerField()
    producer_invocation_uuid = TextField(null=True)
    sha256 = TextField()
    content_len = IntegerField()
    format_hint = TextField(null=True)
    verdict_line = TextField(null=True)
    predecessor_version = IntegerField(null=True)
    created_at = TextField()
    tombstoned_at = TextField(null=True)
    tombstone_actor = TextField(null=True)
    tombstone_reason = TextField(null=True)
    content = BlobField(null=True)  # None: it lies in a file named by its hash, or was collected


class ArtifactLabelRow(
    _Row, table_name="artifact_labels", primary_key=CompositeKey("workflow_run_id", "artifact_name", "version", "label")
):
    """One label of a version. Ours, not the contract's."""

    workflow_run_id = TextField()
    artifact_name = TextField()
    version = IntegerField()
    label = TextField()


class ArtifactMetaRow(_Row, table_name="schema_meta"):
    """One value about the file itself."""

    key = TextField(primary_key=True)
    value = TextField()
