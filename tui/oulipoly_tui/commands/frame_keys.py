"""What keys of the frame do that no part of the app does. Loaded at the start, so what is opened is imported late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oulipoly_tui.base.app_interface import SET_UP
from oulipoly_tui.screens import dialogs
from oulipoly_tui.widgets import theming

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Hit
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.view.transcript.transcript import Target


def open_palette(app: AppInterface) -> None:
    """Open the palette."""
    from oulipoly_tui.commands.palette import palette  # noqa: PLC0415 - only when it is opened

    app.push_screen(palette())


def open_command_line(app: AppInterface) -> None:
    """Open the line for commands with arguments."""
    from oulipoly_tui.screens.command_line import ask  # noqa: PLC0415 - only when it is opened

    ask(app)


def open_help(app: AppInterface) -> None:
    """Show every key."""
    from oulipoly_tui.screens.help import Help  # noqa: PLC0415 - only when it is opened

    def on_chosen(identity: str | None) -> None:
        if identity is not None:
            app.call_next(app.action_choose, identity)

    works = {row.id for row in app.works_now()}
    app.push_screen(Help(app.keys, app.frame.current.id or "", works), on_chosen)


def open_menu(app: AppInterface) -> None:
    """Offer what can be done with the row under the cursor."""
    from oulipoly_tui.screens.menu import offer  # noqa: PLC0415 - only when it is opened

    offer(app)


def search(app: AppInterface) -> None:
    """Search everything that was said; a result opens its transcript."""
    from oulipoly_tui.screens.sessions.search import Search  # noqa: PLC0415 - only when it is opened
    from oulipoly_tui.view.sessions.sessions import title_of  # noqa: PLC0415 - with its pane
    from oulipoly_tui.view.transcript.transcript import Target  # noqa: PLC0415 - with its pane

    def on_opened(hit: Hit | None) -> None:
        if hit is not None:
            part = hit.part
            chain = "" if hit.session is None else hit.session.chain_id
            path = None if part is None else part.transcript
            title = "" if hit.session is None else title_of(hit.session)
            open_target(app, Target(chain, hit.account, hit.session_id, path, title, hit.entry_id, hit.timestamp))

    app.push_screen(Search(lambda: app.now() if app.snapshot is None else app.snapshot.at), on_opened)


def open_target(app: AppInterface, target: Target) -> None:
    """Open a transcript and give it the keys; the list's cursor follows: its keys act on what was opened last."""

    async def hand_over() -> None:
        pane = await app.frame.turn_to("transcript")
        if pane is not None:
            pane.open_target(target)
        if target.chain_id and app.has_pane("sessions"):
            await app.frame.add_hidden("sessions")
            sessions: Any = app.frame.find("sessions")
            if sessions is not None and not sessions.is_on(target.chain_id):
                sessions.show(target.chain_id)

    app.call_next(hand_over)


def jump(app: AppInterface) -> None:
    """Go where a letter is typed."""
    from oulipoly_tui.screens.jump import Jump  # noqa: PLC0415 - only when it is opened

    targets = [one for one in app.frame.focus_chain if one.region]
    app.push_screen(Jump(targets), lambda one: None if one is None else one.focus())


def session_in_front(app: AppInterface) -> str | None:
    """Return the session under the cursor, or the one that is shown, whose changes can be looked at; None: no such."""
    return app.frame.current.live_session_id


def next_theme(app: AppInterface) -> None:
    """Change the theme."""
    app.theme = theming.after(app.theme)
    app.say(f"Theme {theming.label(app.theme)}")


def leave(app: AppInterface, question: str = "Quit?", result: str | None = None) -> None:
    """End the app with a result, and ask first where something would be lost."""
    set_up: list[Any] = [app.get_screen(SET_UP)] if app.is_screen_installed(SET_UP) else []
    reasons = [text for part in (*app.frame.panes, *set_up) if (text := part.reason_to_stay()) is not None]
    if not reasons:
        app.exit(result)
    else:
        dialogs.confirm(app, question, "; ".join(reasons), "quit", lambda: app.exit(result))
