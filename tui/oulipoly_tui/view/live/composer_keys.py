"""The keys of the line that is written on, as the footer shows them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_tui.actions.action import Action, own


def composer_keys(
    *, is_running: bool, can_steer: bool, is_asked: bool, waits_to_retry: bool = False
) -> tuple[Action, ...]:
    """Return what the keys do now, each a row with one key."""
    sends = ("steer" if can_steer else "queue") if is_running else "send"
    rows = [("composer.send", sends, "enter", 9)]
    if is_running:
        rows += [("composer.queue", "queue", "tab", 7)] if can_steer else []
        rows.append(("composer.interrupt", "interrupt", "ctrl+c", 8))
    leaves = "answer the request" if is_asked else "leave the line"
    rows.append(("composer.leave", "stop" if waits_to_retry else leaves, "escape", 9))
    rows += [("composer.new_line", "new line", "alt+enter", 4), ("composer.history", "sent before", "up", 3)]
    return _actions(rows)


def completion_keys() -> tuple[Action, ...]:
    """Return what the keys do while the list of what a begun name can become is open."""
    rows = [
        ("composer.take", "take it", "tab", 9),
        ("composer.move", "another one", "down", 8),
        ("composer.close_list", "close the list", "escape", 9),
    ]
    return _actions(rows)


def _actions(rows: Sequence[tuple[str, str, str, int]]) -> tuple[Action, ...]:
    return tuple(Action(name, own(label, label), keys=key, weight=weight) for name, label, key, weight in rows)
