"""Commands for live sessions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live.orders import Order, Rename, SetModel
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.orders.work import find_kind
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.live.sessions import LiveStatus
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.view.live.models import Start

_PANE = "live"
_ZOOMED_BELOW = 120  # columns of the screen: beside lists there is no room to read and write
_WIDTH = 64  # columns of a choice


def show(app: AppInterface, session_id: str, *, is_begun: bool = False) -> None:
    """Show a live session and give it the keys. is_begun: just now, so that a message is written to it next."""

    async def hand_over() -> None:
        pane = await app.frame.turn_to(_PANE, zoomed=True if app.size.width < _ZOOMED_BELOW else None)
        if pane is not None:
            following = pane.following
            (following.open_begun if is_begun else following.open_session)(session_id)

    app.call_next(hand_over)


def open_session(app: AppInterface, arguments: list[str]) -> None:
    """Show a live session by its id."""
    app.work("live session", partial(engine_of(app).live.find, arguments[0]), lambda one: show(app, one.session_id))


def begin(app: AppInterface, arguments: list[str]) -> None:
    """Begin a live session with a model, on an account of its pool; without one, with what is chosen."""
    if not arguments:
        pick(app)
        return
    start(app, arguments[0], arguments[1] if len(arguments) > 1 else None)


def pick(app: AppInterface) -> None:
    """Choose what to begin a live session with, then what it may do unasked."""
    from oulipoly_tui.screens.live.picker import ModelPicker  # noqa: PLC0415 - only when it is opened
    from oulipoly_tui.view.live.lists import start_rows  # noqa: PLC0415 - the same

    def on_picked(wanted: Start | None) -> None:
        if wanted is None:
            return

        def on_chosen(profile: str) -> None:
            start(app, wanted.pool or None, profile=profile, runtime=wanted.runtime, cli_model=wanted.cli_model)

        def on_known(kind: str) -> None:
            rows = start_rows(kind, has_terminal=False)
            dialogs.choose(app, f"Talk to {wanted.name}", rows, on_chosen)

        pools = () if app.snapshot is None else app.snapshot.pools
        likely = next((one.next_account for one in pools if one.model.name == wanted.pool), None)
        work = partial(find_kind, engine_of(app), likely, wanted.runtime)
        app.work("runtimes", work, on_known, lambda _: on_known(""))

    app.push_screen(ModelPicker(), on_picked)


def start(  # noqa: PLR0913, RUF100 - a call reads as a sentence
    app: AppInterface,
    model: str | None,
    account: str | None = None,
    *,
    profile: str = "supervised",
    runtime: str = "",
    cli_model: str = "",
) -> None:
    """Begin a live session in our own folder."""
    from oulipoly_engine.facade.live.sessions import NewSession  # noqa: PLC0415 - only where one is begun

    wish = NewSession(
        Path.cwd(), model=model, account=account, runtime=runtime or None, profile=profile, cli_model=cli_model
    )

    def on_begun(begun: Any) -> None:  # noqa: ANN401 - facade's Begun
        show(app, begun.session.session_id, is_begun=True)

    app.work(
        "begin", partial(engine_of(app).live.begin, wish), on_begun, title=f"starting a session of {model or runtime}"
    )


def offer(
    app: AppInterface, model: str, account: str | None, likely: str | None, open_terminal: Callable[[], object]
) -> None:
    """Begin a terminal, or let it be chosen whether a live session begins instead, where its CLI can be driven.

    account: that is pinned. likely: the one that would be chosen.
    """
    engine = engine_of(app)

    def on_known(kind: str) -> None:
        if not kind or not app.has_pane(_PANE):
            open_terminal()
            return
        from oulipoly_tui.view.live.lists import start_rows  # noqa: PLC0415 - only when it is opened

        def on_chosen(key: str) -> None:
            if key == "terminal":
                open_terminal()
            else:
                start(app, model, account, profile=key)

        dialogs.choose(app, f"Talk to {model}", start_rows(kind), on_chosen)

    app.work("runtimes", partial(find_kind, engine, account or likely), on_known, lambda _: open_terminal())


def choose(app: AppInterface, _arguments: list[str]) -> None:
    """List the live sessions and show the chosen one."""

    def on_listed(found: Sequence[LiveStatus]) -> None:
        if not found:
            app.say("There is no live session: r under Pools begins one")
            return
        from oulipoly_tui.view.live.lists import session_rows  # noqa: PLC0415 - only when it is opened

        pane: Any = app.frame.find(_PANE)
        here = "" if pane is None or pane.live_session_id is None else pane.live_session_id
        rows = session_rows(found, min(_WIDTH, app.size.width - 12), app.now())
        dialogs.choose(app, "Live sessions", rows, partial(show, app), at=here)

    app.work("live sessions", engine_of(app).live.list_sessions, on_listed)


def inbox(app: AppInterface, _arguments: list[str] | None = None) -> None:
    """Show what is asked, and go to the session that asks, or answer here what none asks."""
    from oulipoly_tui.screens.live.inbox import Inbox  # noqa: PLC0415 - only when it is opened

    requests = app.requests
    requests.look_soon()

    def on_chosen(request: LiveRequest | None) -> None:
        if request is not None and request.session_id:
            show(app, request.session_id)
        elif request is not None:
            from oulipoly_tui.commands.inbox import answer  # noqa: PLC0415 - only where no session asks

            answer(app, request)

    app.push_screen(Inbox(lambda: (requests.open, requests.names)), on_chosen)


def rename(app: AppInterface, arguments: list[str]) -> str | None:
    """Give the open session a name."""
    return _order(app, Rename(" ".join(arguments)))


def model(app: AppInterface, arguments: list[str]) -> str | None:
    """Let the open session use another model."""
    return _order(app, SetModel(arguments[0]))


def _order(app: AppInterface, order: Order) -> str | None:
    pane: Any = app.frame.find(_PANE)
    if pane is None or pane.live_session_id is None:
        return Need.SESSION.value
    pane.orders.order(order)
    return None
