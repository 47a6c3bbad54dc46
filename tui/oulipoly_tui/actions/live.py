"""Actions on live sessions: their keys work beside the line that is written on, never while something is typed."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import FRAME, Action, own

_HERE = "live"
_RUN = "oulipoly_tui.commands.live"

ACTIONS = (
    Action("live.write", find("session send"), _HERE, keys="i", method="write", weight=8),
    Action(
        "live.approve",
        find("requests approve"),
        _HERE,
        keys="a",
        method="approve",
        weight=9,
        note="or answer the question",
        by_key=True,
    ),
    Action(
        "live.approve_for_session",
        find("requests approve session"),
        _HERE,
        keys="s",
        method="approve_for_session",
        weight=7,
        by_key=True,
    ),
    Action("live.deny", find("requests deny"), _HERE, keys="d", method="deny", weight=9, by_key=True),
    Action(
        "live.deny_with_reason",
        find("requests deny reason"),
        _HERE,
        keys="D",
        method="deny_with_reason",
        weight=6,
        by_key=True,
    ),
    Action(
        "live.cancel_request", find("requests cancel"), _HERE, keys="c", method="cancel_request", weight=5, by_key=True
    ),
    Action(
        "live.interrupt",
        find("session interrupt"),
        _HERE,
        keys="ctrl+c,X",
        method="interrupt",
        weight=6,
        line="live interrupt",
        run=f"{_RUN}:interrupt",
    ),
    Action(
        "live.unfold",
        own(
            "unfold",
            "unfold the thinking or tool call under the cursor, or fold it",
            ("expand", "show output", "collapse"),
        ),
        _HERE,
        keys="o",
        method="unfold",
        weight=4,
    ),
    Action(
        "live.unfold_all",
        own("unfold all", "unfold everything, or fold it again", ("expand all", "verbose")),
        _HERE,
        keys="O",
        method="unfold_all",
    ),
    Action("live.queue", find("session queue"), _HERE, keys="Q", method="edit_queue", weight=6),
    Action(
        "live.changes",
        own("changes", "read all that the last turn has changed", ("diff", "edits", "files changed")),
        _HERE,
        keys="v",
        method="changes",
        weight=4,
    ),
    Action(
        "live.copy",
        own("copy", "copy the message under the cursor", ("yank", "clipboard")),
        _HERE,
        keys="y",
        method="copy",
    ),
    Action(
        "live.fork",
        find("session fork"),
        _HERE,
        keys="f",
        method="fork",
        weight=3,
        line="live fork",
        run=f"{_RUN}:fork",
        note="to the turn under the cursor",
    ),
    Action(
        "live.model",
        find("session model"),
        _HERE,
        keys="m",
        method="model",
        weight=3,
        line="live model",
        run=f"{_RUN}:model",
    ),
    Action(
        "live.rename", find("session name"), _HERE, keys="e", method="rename", line="live rename", run=f"{_RUN}:rename"
    ),
    Action(
        "live.compact",
        find("session compact"),
        _HERE,
        keys="C",
        method="compact",
        line="live compact",
        run=f"{_RUN}:compact",
    ),
    Action(
        "live.review",
        find("session review"),
        _HERE,
        keys="V",
        method="review",
        line="live review",
        run=f"{_RUN}:review",
    ),
    Action(
        "live.close", find("session close"), _HERE, keys="x", method="close", line="live close", run=f"{_RUN}:close"
    ),
    Action(
        "live.list",
        own(
            "live sessions",
            "list the live sessions, those that wait for you first",
            ("switch session", "choose session", "agents"),
        ),
        _HERE,
        keys="l",
        method="choose_session",
        weight=5,
        line="live list",
        run=f"{_RUN}:choose",
    ),
    Action(
        "live.new", find("session new"), _HERE, keys="n", method="new", weight=4, line="live new", run=f"{_RUN}:begin"
    ),
    Action("live.open", find("session follow"), line="live open", run=f"{_RUN}:open_session"),
    Action("frame.inbox", find("requests list"), FRAME, keys="I", method="inbox", line="inbox", run=f"{_RUN}:inbox"),
)
