"""Keys of the Transcript pane; moving is as in every list."""

from __future__ import annotations

from oulipoly_tui.keys.key import Key

_HERE = "transcript"

KEYS = (
    Key("transcript.unfold", "o", "unfold", "unfold", "Show all of a tool call, a result, a thought", _HERE, weight=7),
    Key("transcript.unfold_all", "O", "unfold_all", "all", "Unfold everything, or fold it again", _HERE, weight=4),
    Key("transcript.find", "slash", "find", "find", "Find a text", _HERE, weight=8),
    Key(
        "transcript.find_next",
        "n",
        "find_next",
        "",
        "Go to the next place that was found",
        _HERE,
        beneath="frame.attention",
    ),
    Key("transcript.find_before", "N", "find_before", "", "Go to the place before that was found", _HERE),
    Key("transcript.turn_next", "right_square_bracket", "turn_next", "turn", "Go to the next turn", _HERE, weight=5),
    Key("transcript.turn_before", "left_square_bracket", "turn_before", "", "Go to the turn before", _HERE),
    Key("transcript.user_next", "right_curly_bracket", "user_next", "", "Go to the next turn of the user", _HERE),
    Key("transcript.user_before", "left_curly_bracket", "user_before", "", "Go to the user's turn before", _HERE),
    Key("transcript.copy", "y", "copy", "copy", "Copy the message", _HERE, weight=6),
    Key("transcript.copy_code", "Y", "copy_code", "code", "Copy the code block", _HERE, weight=5),
    Key("transcript.pager", "p", "pager", "pager", "Read the whole conversation in your pager", _HERE, weight=4),
    Key("transcript.editor", "e", "editor", "editor", "Open a copy of it in your editor", _HERE, weight=3),
    Key(
        "transcript.edit",
        "E",
        "edit_file",
        "edit",
        "Change its turns in your editor, after a look at the difference",
        _HERE,
        writes=True,
        weight=2,
    ),
    Key(
        "transcript.provenance",
        "i",
        "provenance",
        "source",
        "Show where the turn comes from: file, line, bytes, hash, account",
        _HERE,
        weight=5,
    ),
    Key(
        "transcript.side_chains",
        "s",
        "side_chains",
        "side chains",
        "Step into a sub-agent's conversation; esc steps back",
        _HERE,
        weight=6,
    ),
    Key("transcript.secrets", "S", "secrets", "", "Show the secrets in it, or hide them again", _HERE),
    Key("transcript.resume", "r", "resume", "resume", "Go on with it in a terminal", _HERE, writes=True, weight=8),
)
