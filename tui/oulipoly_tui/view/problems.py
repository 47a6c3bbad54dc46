"""The problems list: cause, then fix. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from oulipoly_tui.view.spans import Line

if TYPE_CHECKING:
    from oulipoly_engine.engine import Snapshot
    from oulipoly_tui.keymap import Keymap


class Problem(NamedTuple):
    """One thing that is wrong, and what to do."""

    cause: str
    fix: str
    place: str = ""
    is_error: bool = True


def of_app(snapshot: Snapshot | None, failures: Iterable[tuple[str, bool]], keys: Keymap) -> tuple[Problem, ...]:
    """Return what is wrong with configuration, quota and state, with our own work and with the user's keys."""
    known = () if snapshot is None else snapshot.problems
    found = [Problem(one.cause, one.fix, one.place, one.is_error) for one in known]
    found += [
        Problem(text, "it is a bug of ours: please report it" if is_bug else "see the sentence itself", is_error=is_bug)
        for text, is_bug in failures
    ]
    found += [
        Problem(f"the key {clash.key} means both {clash.first} and {clash.second}", "change one in [keys]", "app.toml")
        for clash in keys.clashes
    ]
    found += [Problem(f"[keys] has {name!r}, which is no binding", fix, "app.toml") for name, fix in keys.unknown]
    return tuple(sorted(found, key=lambda one: not one.is_error))


def problem_lines(problems: Sequence[Problem]) -> tuple[Line, ...]:
    """Return the list, two or three lines a problem."""
    lines: list[Line] = []
    for one in problems:
        lines.append(
            (("✗ error   " if one.is_error else "! warning ", "bad" if one.is_error else "warn"), (one.place, "dim"))
        )
        lines.append((("  " + one.cause, ""),))
        lines.append((("  → " + one.fix, "good"),))
        lines.append(())
    return tuple(lines)
