"""Actions on a session's files: archive, export, import, bundle, and taking back."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer

ACTIONS = (
    offer(
        "sessions.archive",
        find("session archive"),
        keys="A",
        weight=4,
        run="session_files:archive",
        note="also the marked",
    ),
    offer("sessions.archive_all", find("session archive all"), run="session_files:archive_all"),
    offer("sessions.restore", find("session restore"), keys="B", weight=6, run="session_files:restore"),
    offer(
        "sessions.export",
        find("session export"),
        keys="x",
        weight=6,
        run="session_files:export",
        note="also the marked",
    ),
    offer(
        "sessions.import",
        find("session import-replace"),
        keys="i",
        method="import_file",
        weight=4,
        line="session import",
        run="session_files:import_file",
        note="after a look at the difference",
    ),
    offer("sessions.edit", find("session edit"), keys="E", method="edit_file", weight=3, run="session_edit:edit"),
    offer("sessions.bundle", find("session bundle"), keys="b", weight=2, run="session_files:bundle"),
    offer("sessions.unbundle", find("session unbundle"), run="session_files:unbundle"),
    offer("sessions.delete", find("session delete"), run="session_files:delete"),
    offer("sessions.undelete", find("session undelete"), run="session_files:undelete"),
    offer("sessions.undo", find("undo"), keys="u", weight=7),
    offer("sessions.undo_replacement", find("session undo"), run="session_files:undo_replacement"),
)
