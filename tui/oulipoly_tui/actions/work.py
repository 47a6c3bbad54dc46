"""Actions on sessions that work by themselves: to begin one, its changes, the worktrees, the server."""

from __future__ import annotations

from oulipoly_tui.actions.action import FRAME, Action, Argument, Command

_RUN = "oulipoly_tui.commands.work.screens"
_SESSION = Argument("session")

ACTIONS = (
    Action(
        "frame.new_work",
        "new work session",
        "Begin a session that works by itself, on a branch of its own",
        FRAME,
        ("start agent", "new task", "worktree session", "background agent"),
        keys="f5",
        method="new_work",
        command=Command(
            "work new",
            f"{_RUN}:begin",
            (Argument("folder", is_optional=True),),
            "begin a session that works by itself in a repository",
        ),
        writes=True,
    ),
    Action(
        "frame.changes",
        "changes",
        "Look at what the session has changed: stage, commit, merge, push",
        FRAME,
        ("git", "diff", "stage", "commit", "merge", "lazygit", "review changes"),
        keys="f12",
        method="session_changes",
        weight=4,
        command=Command("work changes", f"{_RUN}:changes", (_SESSION,), "look at what a session has changed"),
    ),
    Action(
        "frame.worktrees",
        "worktrees",
        "List the worktrees of sessions: sizes, remove, restore",
        FRAME,
        ("checkouts", "clean up", "disk space", "prune"),
        keys="f6",
        method="worktrees",
        command=Command("work trees", f"{_RUN}:worktrees", (), "list the worktrees of sessions"),
    ),
    Action(
        "frame.server",
        "server",
        "Show the server: its address, a code for a phone, the devices that may use it",
        FRAME,
        ("serve", "phone", "pair", "qr code", "devices", "remote"),
        keys="f7",
        method="server",
        command=Command("server", f"{_RUN}:server", (), "show the server for phones and scripts"),
    ),
    Action(
        "frame.grants",
        "grants",
        "List what you have allowed, devices, commands and sessions, and revoke it",
        synonyms=("permissions", "trust", "revoke", "allowed", "approvals", "devices"),
        command=Command("grants", f"{_RUN}:grants"),
    ),
)
