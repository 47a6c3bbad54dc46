"""Actions on live sessions: their keys work beside the line that is written on, never while something is typed."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

ACTIONS = (
    offer("live.write", find("session send"), keys="i", weight=8),
    offer("live.approve", find("requests approve"), keys="a", weight=9, note="or answer the question", by_key=True),
    offer("live.approve_for_session", find("requests approve session"), keys="s", weight=7, by_key=True),
    offer("live.deny", find("requests deny"), keys="d", weight=9, by_key=True),
    offer("live.deny_with_reason", find("requests deny reason"), keys="D", weight=6, by_key=True),
    offer("live.cancel_request", find("requests cancel"), keys="c", weight=5, by_key=True),
    offer("live.interrupt", find("session interrupt"), keys="ctrl+c,X", weight=6, line="live interrupt"),
    offer(
        "live.unfold",
        own(
            "unfold",
            "unfold the thinking or tool call under the cursor, or fold it",
            ("expand", "show output", "collapse"),
        ),
        keys="o",
        weight=4,
    ),
    offer(
        "live.unfold_all", own("unfold all", "unfold everything, or fold it again", ("expand all", "verbose")), keys="O"
    ),
    offer("live.queue", find("session queue"), keys="Q", method="edit_queue", weight=6),
    offer(
        "live.changes",
        own("changes", "read all that the last turn has changed", ("diff", "edits", "files changed")),
        keys="v",
        weight=4,
    ),
    offer("live.copy", own("copy", "copy the message under the cursor", ("yank", "clipboard")), keys="y"),
    offer("live.fork", find("session fork"), keys="f", weight=3, line="live fork", note="to the turn under the cursor"),
    offer("live.model", find("session model"), keys="m", weight=3, line="live model", run="live:model"),
    offer("live.rename", find("session name"), keys="e", line="live rename", run="live:rename"),
    offer("live.compact", find("session compact"), keys="C", line="live compact"),
    offer("live.review", find("session review"), keys="V", line="live review"),
    offer("live.close", find("session close"), keys="x", line="live close"),
    offer(
        "live.list",
        own(
            "live sessions",
            "list the live sessions, those that wait for you first",
            ("switch session", "choose session", "agents"),
        ),
        keys="l",
        weight=5,
        line="live list",
        run="live:choose",
    ),
    offer("live.new", find("session new"), keys="n", weight=4, line="live new", run="live:begin"),
    offer("live.open", find("session follow"), line="live open", run="live:open_session"),
    offer("frame.inbox", find("requests list"), keys="I", line="inbox", run="live:inbox"),
)
