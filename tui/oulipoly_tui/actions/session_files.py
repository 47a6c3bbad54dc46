"""Actions on a session's files: archive, export, import, bundle, and taking back."""

from __future__ import annotations

from oulipoly_tui.actions.action import Action, Argument, Command

_HERE = "sessions"
_RUN = "oulipoly_tui.commands.session_files"
_EDIT = "oulipoly_tui.commands.session_edit"
_SESSION = Argument("session")
_PATH = Argument("file", is_rest=True)

ACTIONS = (
    Action(
        "sessions.archive",
        "archive",
        "Keep copies of it before its CLI deletes it; also the marked",
        _HERE,
        ("back up", "save copy", "preserve"),
        keys="A",
        method="archive",
        weight=4,
        command=Command(
            "session archive", f"{_RUN}:archive", (Argument("sessions", is_rest=True),), "keep a copy of it"
        ),
        writes=True,
    ),
    Action(
        "sessions.archive_all",
        "archive all",
        "keep copies of every account's sessions",
        synonyms=("back up everything",),
        command=Command("session archive all", f"{_RUN}:archive_all"),
        writes=True,
    ),
    Action(
        "sessions.restore",
        "restore",
        "Restore the archive's copy where its CLI had it",
        _HERE,
        ("put back", "recover", "undelete"),
        keys="B",
        method="restore",
        weight=6,
        command=Command("session restore", f"{_RUN}:restore", (_SESSION,), "restore the archive's copy"),
        writes=True,
    ),
    Action(
        "sessions.export",
        "export",
        "Write it to a file; also the marked",
        _HERE,
        ("save as", "markdown", "html", "share"),
        keys="x",
        method="export",
        weight=6,
        command=Command(
            "session export",
            f"{_RUN}:export",
            (_SESSION, Argument("format", "export formats"), _PATH),
            "write it to a file as markdown, html or canonical-jsonl",
        ),
        writes=True,
    ),
    Action(
        "sessions.import",
        "import",
        "Put an edited export in its place, after a look at the difference",
        _HERE,
        ("replace turns", "load file"),
        keys="i",
        method="import_file",
        weight=4,
        command=Command(
            "session import", f"{_RUN}:import_file", (_SESSION, _PATH), "replace its turns by an edited export"
        ),
        writes=True,
        destroys=True,
    ),
    Action(
        "sessions.edit",
        "edit",
        "Change its turns in your editor, after a look at the difference",
        _HERE,
        ("rewrite history", "open in editor"),
        keys="E",
        method="edit_file",
        weight=3,
        command=Command(
            "session edit",
            f"{_EDIT}:edit",
            (_SESSION,),
            "change its turns in your editor, after a look at the difference",
        ),
        writes=True,
        destroys=True,
    ),
    Action(
        "sessions.bundle",
        "bundle",
        "Pack it for another machine",
        _HERE,
        ("pack", "transfer to another machine"),
        keys="b",
        method="bundle",
        weight=2,
        command=Command("session bundle", f"{_RUN}:bundle", (_SESSION, _PATH), "pack it for another machine"),
        writes=True,
    ),
    Action(
        "sessions.unbundle",
        "unbundle",
        "unpack one that was packed on another machine",
        synonyms=("unpack", "receive"),
        command=Command(
            "session unbundle", f"{_RUN}:unbundle", (Argument("file"), Argument("folder", is_optional=True))
        ),
        writes=True,
    ),
    Action(
        "sessions.undo",
        "undo",
        "Take back what was done last",
        _HERE,
        ("revert", "take back"),
        keys="u",
        method="undo",
        weight=7,
        writes=True,
    ),
    Action(
        "sessions.undo_replacement",
        "undo replacement",
        "take the latest replacement back",
        synonyms=("undo import", "undo edit"),
        command=Command("session undo", f"{_RUN}:undo_replacement", (_SESSION,)),
        writes=True,
        destroys=True,
    ),
)
