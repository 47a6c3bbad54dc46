"""What stands on the lower edge of the settings, and the colours of a change that is shown above it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from oulipoly_tui.view.frame.hints import link

KEYS = (
    ("enter: change", "change"),
    ("→: next", "turn(1)"),
    ("del: default", "reset"),
    ("ctrl+u: undo", "undo"),
    ("esc: close", "leave"),
)
KEYS_OF_STAGED = (("enter: write it", "change"), ("→: next", "turn(1)"), ("esc: leave it as it is", "leave"))
_TONES = {"-": "$text-error", "+": "$text-success"}


def link_keys(keys: Sequence[tuple[str, str]]) -> str:
    """Return keys, each with what a click on it does."""
    return " · ".join(link(text, f"screen.{action}") for text, action in keys)


def colour_diff(lines: Sequence[str]) -> Content:
    """Return the lines of a change, those that go and those that come in a colour each."""
    return Content("\n").join(Content.styled(line, _TONES.get(line[:1], "")) for line in lines)
