"""Going on with sessions, and what a person says of them; what can be taken back says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.base.messages import ReplWanted
from oulipoly_tui.commands.frame_keys import open_target
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_tui.base.app_interface import AppInterface


def did(app: AppInterface, text: str, take_back: Callable[[], object] | None = None) -> None:
    """Say what was done; the pane remembers how it is taken back, which runs in a thread of its own."""
    pane: Any = app.frame.find("sessions")
    if pane is None:
        app.say(text)
    else:
        pane.actions.did(text, take_back)


def find_session(app: AppInterface, text: str, act: Callable[[Session], None]) -> None:
    """Find what an id means, then act."""
    app.work("find a session", partial(engine_of(app).sessions.catalogue.find, text), act)


def open_session(app: AppInterface, arguments: list[str]) -> None:
    """Show the transcript."""
    from oulipoly_tui.view.sessions.sessions import title_of  # noqa: PLC0415 - with its pane
    from oulipoly_tui.view.transcript.transcript import Target  # noqa: PLC0415 - with its pane

    def on_opened(one: Session) -> None:
        part = one.active
        open_target(app, Target(one.chain_id, part.account, part.session_id, part.transcript, title_of(one)))

    find_session(app, arguments[0], on_opened)


def show_tree(app: AppInterface, arguments: list[str]) -> None:
    """Show all branches; without an id of the session in front, else of the one that was used last."""
    from oulipoly_tui.screens.sessions.tree import TreeScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(TreeScreen(arguments[0] if arguments else app.frame.current.session_in_front))


def resume(app: AppInterface, arguments: list[str]) -> None:
    """Go on in a terminal; with an account, there."""
    account = arguments[1] if len(arguments) > 1 else None

    def on_found(one: Session) -> None:
        model = one.model if app.snapshot is not None and app.snapshot.pool(one.model) is not None else ""
        app.post_message(ReplWanted(model, account, one.active.session_id))

    find_session(app, arguments[0], on_found)


def fork(app: AppInterface, arguments: list[str]) -> str | None:
    """Begin a session with the past of another one, in a terminal."""
    if not app.has_pane("repl"):
        return "this version has no terminals yet: `agents repl --resume ID --fork` does it in the shell"

    def on_found(one: Session) -> None:
        async def hand_over() -> None:
            pane = await app.frame.turn_to("repl")
            if pane is not None:
                pane.fork(one.active.session_id)

        app.call_next(hand_over)

    find_session(app, arguments[0], on_found)
    return None


def move(app: AppInterface, arguments: list[str]) -> None:
    """Move a session to another account, after a yes."""
    text, account = arguments
    sessions = engine_of(app).sessions

    def on_found(one: Session) -> None:
        def on_planned(what: str) -> None:
            from oulipoly_tui.view.sessions.sessions import quote_title, title_of  # noqa: PLC0415 - with its pane

            title = f"Move {quote_title(title_of(one))}?"
            question = f"From {one.active.account} to {account}: {what}."
            dialogs.confirm(app, title, question, "move", on_moved, can_undo=True)

        def on_moved() -> None:
            back = partial(sessions.moves.move, one.chain_id, one.active.account)
            done = f"Session moved to {account}"
            work = partial(sessions.moves.move, one.chain_id, account)
            app.work("move", work, lambda _: did(app, done, back), title=f"moving to {account}")

        app.work("move", partial(sessions.moves.preview, one.chain_id, account), on_planned)

    find_session(app, text, on_found)


def rename(app: AppInterface, arguments: list[str]) -> None:
    """Give a session a name."""
    name = "".join(arguments[1:])
    done = f"Session named “{name}”" if name.strip() else "Session called by its first words"
    _write(app, "name", arguments[0], engine_of(app).sessions.notes.rename, name, done)


def annotate(app: AppInterface, arguments: list[str]) -> None:
    """Keep a note with a session."""
    note = "".join(arguments[1:])
    done = "Note kept" if note.strip() else "Note deleted"
    _write(app, "note", arguments[0], engine_of(app).sessions.notes.annotate, note, done)


def _write(  # noqa: PLR0913, RUF100 - what is written, and what is said of it
    app: AppInterface, kind: str, session: str, write: Callable[[str, str], str | None], text: str, done: str
) -> None:
    """Write down a text about a session. write: returns what was there before."""

    def on_found(one: Session) -> None:
        def on_written(before: str | None) -> None:
            did(app, done, partial(write, one.chain_id, before or ""))

        app.work(kind, partial(write, one.chain_id, text), on_written)

    find_session(app, session, on_found)


def pin(app: AppInterface, arguments: list[str]) -> None:
    """Keep sessions at the top."""
    _pin(app, arguments[0].split(), on=True)


def unpin(app: AppInterface, arguments: list[str]) -> None:
    """Let sessions take their places again."""
    _pin(app, arguments[0].split(), on=False)


def _pin(app: AppInterface, texts: list[str], *, on: bool) -> None:
    sessions = engine_of(app).sessions

    def on_resolved() -> list[str]:
        return sessions.notes.pin([sessions.catalogue.find(text).chain_id for text in texts], on=on)

    def on_pinned(changed: list[str]) -> None:
        back = partial(sessions.notes.pin, changed, on=not on) if changed else None
        done = "pinned" if on else "unpinned"
        did(app, f"Session {done}" if len(texts) == 1 else f"{len(texts)} sessions {done}", back)

    app.work("pin", on_resolved, on_pinned)
