"""Actions on a session's files: archive, export, import, bundle, and taking back."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import Action

_HERE = "sessions"
_RUN = "oulipoly_tui.commands.session_files"
_EDIT = "oulipoly_tui.commands.session_edit"

ACTIONS = (
    Action(
        "sessions.archive",
        find("session archive"),
        _HERE,
        keys="A",
        method="archive",
        weight=4,
        line="session archive",
        run=f"{_RUN}:archive",
        note="also the marked",
    ),
    Action("sessions.archive_all", find("session archive all"), line="session archive all", run=f"{_RUN}:archive_all"),
    Action(
        "sessions.restore",
        find("session restore"),
        _HERE,
        keys="B",
        method="restore",
        weight=6,
        line="session restore",
        run=f"{_RUN}:restore",
    ),
    Action(
        "sessions.export",
        find("session export"),
        _HERE,
        keys="x",
        method="export",
        weight=6,
        line="session export",
        run=f"{_RUN}:export",
        note="also the marked",
    ),
    Action(
        "sessions.import",
        find("session import-replace"),
        _HERE,
        keys="i",
        method="import_file",
        weight=4,
        line="session import",
        run=f"{_RUN}:import_file",
        note="after a look at the difference",
    ),
    Action(
        "sessions.edit",
        find("session edit"),
        _HERE,
        keys="E",
        method="edit_file",
        weight=3,
        line="session edit",
        run=f"{_EDIT}:edit",
    ),
    Action(
        "sessions.bundle",
        find("session bundle"),
        _HERE,
        keys="b",
        method="bundle",
        weight=2,
        line="session bundle",
        run=f"{_RUN}:bundle",
    ),
    Action("sessions.unbundle", find("session unbundle"), line="session unbundle", run=f"{_RUN}:unbundle"),
    Action("sessions.undo", find("undo"), _HERE, keys="u", method="undo", weight=7),
    Action("sessions.undo_replacement", find("session undo"), line="session undo", run=f"{_RUN}:undo_replacement"),
)
