"""Ask something in a dialog, and act on the answer; who cancels has nothing done. Dialogs are loaded when they open."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from textual.app import App

    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.view.transcript.spans import Line, Row


def confirm(  # noqa: PLR0913, RUF100 - what is asked, and what follows
    app: App[Any], title: str, text: str, verb: str, act: Callable[[], object], *, can_undo: bool = False
) -> None:
    """Act after a yes. verb: what the yes does; can_undo: enter says yes."""
    from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - textual's widgets, only when it is opened

    app.push_screen(Confirm(title, text, verb, can_undo=can_undo), lambda yes: _act_if(yes, act))


def review(  # noqa: PLR0913, RUF100 - as above
    app: App[Any],
    title: str,
    head: Sequence[Line],
    body: Sequence[Line],
    act: Callable[[], object],
    *,
    yes: str,
    note: str = "",
    can_do: bool = True,
    waits: bool = False,
    can_undo: bool = False,
) -> None:
    """Show what would be done, and act after a yes; the rest as in `Review`."""
    from oulipoly_tui.screens.review import Review  # noqa: PLC0415 - as above

    screen = Review(title, head, body, yes=yes, note=note, can_do=can_do, waits=waits, can_undo=can_undo)
    app.push_screen(screen, lambda agreed: _act_if(agreed, act))


def choose(  # noqa: PLR0913, RUF100 - as above
    app: App[Any], title: str, rows: Sequence[Row], act: Callable[[str], object], text: str = "", *, at: str = ""
) -> None:
    """Act with the key of the row that is chosen. text: stands above the list; at: where the cursor begins."""
    from oulipoly_tui.screens.choice import Choice  # noqa: PLC0415 - as above

    app.push_screen(Choice(title, rows, text, at=at), lambda key: _act_with(key, act))


def choose_account(
    app: AppInterface, title: str, names: Sequence[str], act: Callable[[str], object], text: str = ""
) -> None:
    """Act with the account that is chosen of some, which are shown with what is used of them."""
    from oulipoly_tui.view.frame.room import room_rows  # noqa: PLC0415 - as above

    choose(app, title, room_rows(names, app.snapshot), act, text)


def ask(  # noqa: PLR0913, RUF100 - as above
    app: App[Any],
    title: str,
    text: str,
    act: Callable[[str], object],
    value: str = "",
    refuse: Callable[[str], str | None] | None = None,
) -> None:
    """Act with the text that is typed, which may be empty. refuse: says what is wrong with it."""
    from oulipoly_tui.screens.question import Question  # noqa: PLC0415 - as above

    app.push_screen(Question(title, text, value, refuse), lambda answer: _act_with(answer, act))


def ask_reason(app: App[Any], deny: Callable[[str], object]) -> None:
    """Ask why something is denied, and deny it."""
    ask(app, "Deny", "What the agent is told; empty: nothing", lambda reason: deny(reason.strip()))


def ask_name(app: App[Any], title: str, text: str, act: Callable[[str], object], value: str = "") -> None:
    """Act with the text that is typed, without spaces around it; with nothing typed do nothing."""
    ask(app, title, text, lambda answer: _act_with(answer.strip() or None, act), value)


def read(app: App[Any], title: str, lines: Sequence[Line] | Callable[[int], Sequence[Line]]) -> None:
    """Show lines to read. lines: or what lays them out for the terminal's columns."""
    from oulipoly_tui.screens.reading import Reading  # noqa: PLC0415 - as above

    app.push_screen(Reading(title, lines))


def _act_if(yes: bool | None, act: Callable[[], object]) -> None:  # noqa: FBT001, RUF100 - as Textual tells it
    if yes:
        act()


def _act_with(answer: str | None, act: Callable[[str], object]) -> None:
    if answer is not None:
        act(answer)
