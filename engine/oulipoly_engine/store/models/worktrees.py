"""Worktrees of sessions, and operations that are done in steps."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import SQL, Check, CompositeKey, Default, IntegerField, TextField
from oulipoly_engine.store.models.base import Row


class WorktreeRow(Row, table_name="worktrees"):
    """The worktree of one session."""

    session_id = TextField(primary_key=True)
    repository = TextField()
    path = TextField()
    branch = TextField()
    base = TextField()
    base_commit = TextField()
    state = TextField(constraints=[Check("state IN ('creating', 'ready', 'failed', 'removing', 'removed')")])
    is_new_branch = IntegerField(constraints=[Default(1)])
    reason = TextField(constraints=[Default("''")])
    port_first = IntegerField(null=True)
    port_count = IntegerField(constraints=[Default(0)])
    salvage = TextField(constraints=[Default("''")])
    settings = TextField(constraints=[Default("'{}'")])  # JSON
    git_folder = TextField()
    created_at = TextField()
    updated_at = TextField()


WorktreeRow.add_index(WorktreeRow.repository, name="idx_worktrees_repository")


class OperationRow(Row, table_name="worktree_operations"):
    """One operation, of any kind.

    The names of table and column are older: an app of an earlier release that outlives the upgrade writes to them.
    """

    operation_id = TextField(primary_key=True)
    subject = TextField(column_name="session_id")
    kind = TextField()
    state = TextField(constraints=[Check("state IN ('begun', 'done', 'undone', 'conflict', 'failed')")])
    detail = TextField()  # JSON
    begun_at = TextField()
    ended_at = TextField(null=True)


OperationRow.add_index(OperationRow.begun_at, where=SQL("state = 'begun'"), name="idx_worktree_operations_begun")


class GrantRow(Row, table_name="worktree_permissions", primary_key=CompositeKey("subject", "digest", "right")):
    """Something that a person has allowed by a digest. The names of the table and its first column are older."""

    subject = TextField(column_name="repository")  # git's folder, a project's folder of settings, `extension:NAME`
    digest = TextField()
    allowed_at = TextField()
    right = TextField(constraints=[Default("''")])
