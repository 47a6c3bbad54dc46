"""What the lower edge of a box says: its keys, each of which can be clicked too. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding, BindingType
from textual.markup import escape

from oulipoly_tui.keys.keymap import format_first_key


def link(text: str, action: str) -> str:
    """Return a text, marked up so that a click on it does an action of Textual's."""
    return f"[@click={action}]{escape(text)}[/]"


def key_links(bindings: Iterable[BindingType], *actions: str) -> tuple[str, ...]:
    """Return links of some actions of a box, each with its key and in the words of its binding."""
    by_action = {binding.action: binding for binding in bindings if isinstance(binding, Binding)}
    chosen = (by_action[action] for action in actions)
    return tuple(
        link(f"{format_first_key(binding.key)}: {binding.description}", f"screen.{binding.action}")
        for binding in chosen
    )


BACK = link("esc: cancel", "screen.dismiss(None)")
CLOSE = link("esc: close", "screen.dismiss(None)")
