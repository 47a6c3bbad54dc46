"""What the lower edge of a box says: its keys, each of which can be clicked too. Pure."""

from __future__ import annotations

from textual.markup import escape


def link(text: str, action: str) -> str:
    """Return a text, marked up so that a click on it does an action of Textual's."""
    return f"[@click={action}]{escape(text)}[/]"


BACK = link("esc: cancel", "screen.dismiss(None)")
CLOSE = link("esc: close", "screen.dismiss(None)")
