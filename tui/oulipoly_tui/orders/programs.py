"""A program in a terminal of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from oulipoly_tui.base.app_interface import AppInterface


def show_program(
    app: AppInterface,
    argv: tuple[str, ...],
    folder: Path | None = None,
    ended: Callable[[], object] | None = None,
) -> None:
    """Run a command in a terminal and turn to it. folder: where; None: ours. ended: called when it has ended."""

    async def begin() -> None:
        pane = await app.frame.turn_to("repl")
        pane.run_program(argv, folder, ended)

    app.call_next(begin)
