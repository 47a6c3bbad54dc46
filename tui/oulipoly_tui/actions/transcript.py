"""Actions on the transcript that is shown; moving is as in every list."""

from __future__ import annotations

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

ACTIONS = (
    offer(
        "transcript.unfold",
        own("unfold", "show all of a tool call, a result, a thought", ("expand", "show more")),
        keys="o",
        weight=7,
    ),
    offer(
        "transcript.unfold_all",
        own("all", "unfold everything, or fold it again", ("expand all", "collapse all")),
        keys="O",
        weight=4,
    ),
    offer("transcript.find", own("find", "find a text", ("search transcript", "grep")), keys="slash", weight=8),
    offer("transcript.find_next", own("next match", "go to the next place that was found", ("find next",)), keys="n"),
    offer(
        "transcript.find_before",
        own("previous match", "go to the place before that was found", ("find previous",)),
        keys="N",
    ),
    offer(
        "transcript.turn_next",
        own("turn", "go to the next turn", ("next message",)),
        keys="right_square_bracket",
        weight=5,
    ),
    offer(
        "transcript.turn_before",
        own("previous turn", "go to the turn before", ("previous message",)),
        keys="left_square_bracket",
    ),
    offer(
        "transcript.user_next",
        own("next user turn", "go to the next turn of the user", ("next prompt",)),
        keys="right_curly_bracket",
    ),
    offer(
        "transcript.user_before",
        own("previous user turn", "go to the user's turn before", ("previous prompt",)),
        keys="left_curly_bracket",
    ),
    offer("transcript.copy", own("copy", "copy the message", ("clipboard", "yank")), keys="y", weight=6),
    offer(
        "transcript.copy_code", own("code", "copy the code block", ("copy snippet", "yank code")), keys="Y", weight=5
    ),
    offer(
        "transcript.pager",
        own("pager", "read the whole session in your pager", ("less", "full text")),
        keys="p",
        weight=4,
    ),
    offer(
        "transcript.editor",
        own("editor", "open a copy of it in your editor", ("vim", "open externally")),
        keys="e",
        weight=3,
    ),
    offer("transcript.edit", find("session edit"), keys="E", method="edit_file", weight=2),
    offer(
        "transcript.provenance",
        own(
            "source",
            "show where the turn comes from: file, line, bytes, hash, account",
            ("origin", "raw record", "metadata"),
        ),
        keys="i",
        weight=5,
    ),
    offer(
        "transcript.side_chains",
        own(
            "sub-agent sessions",
            "step into a sub-agent session; esc steps back",
            ("sub-agents", "sidechains", "nested session"),
        ),
        keys="s",
        weight=6,
    ),
    offer(
        "transcript.secrets",
        own("show secrets", "show the secrets in it, or hide them again", ("redact", "unmask")),
        keys="S",
    ),
    offer("transcript.resume", find("session resume"), keys="r", weight=8),
    offer("transcript.elsewhere", find("session elsewhere"), keys="a", method="resume_elsewhere", weight=3),
    offer("transcript.export", find("session export"), keys="x", weight=4),
    offer("transcript.fork", find("session fork"), keys="f", weight=2),
    offer("transcript.move", find("session move"), keys="M", weight=2),
    offer(
        "transcript.import",
        find("session import-replace"),
        keys="X",
        method="import_file",
        weight=2,
        note="after a look at the difference",
    ),
    offer("transcript.undo", find("undo"), keys="u", weight=5),
)
