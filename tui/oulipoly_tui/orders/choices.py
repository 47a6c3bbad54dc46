"""What may stand for an argument of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from oulipoly_tui.view.sessions.export import FORMATS
from oulipoly_tui.widgets import theming

if TYPE_CHECKING:
    from oulipoly_engine.core.commands.command import Argument, Choices
    from oulipoly_engine.facade.snapshot import Snapshot


def choices_of(
    argument: Argument, snapshot: Snapshot, own: Mapping[Choices, Sequence[str]] = MappingProxyType({})
) -> tuple[str, ...] | None:
    """Return what an argument may be; None: anything. own: what only the place knows that asks."""
    if argument.choices is None:
        return None
    return tuple(own[argument.choices] if argument.choices in own else CHOICES[argument.choices](snapshot))


CHOICES: Mapping[Choices, Callable[[Snapshot], Sequence[str]]] = {
    "accounts": lambda snapshot: [view.name for view in snapshot.accounts],
    "models": lambda snapshot: [view.model.name for view in snapshot.pools],
    "themes": lambda _: [theming.label(name) for name in theming.ORDER],
    "export formats": lambda _: FORMATS,
    "runs": lambda snapshot: [orphan.uuid[:8] for orphan in snapshot.orphans],
    "views": lambda snapshot: [view.name for view in snapshot.views],
}
