"""Commands for conversations. Keys, palette and line all come through here; what can be taken back says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_tui.actions.frame import accounts
from oulipoly_tui.actions.registry import Argument, Command
from oulipoly_tui.messages import ReplWanted
from oulipoly_tui.panes.sessions.actions import LOSSLESS

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Conversation
    from oulipoly_engine.facade.sessions.archive import Kept
    from oulipoly_engine.facade.sessions.bundles import Packed
    from oulipoly_engine.facade.sessions.sessions import Sessions
    from oulipoly_engine.facade.sessions.values import Exported, Import, Unpacked
    from oulipoly_tui.app import AgentsApp

_SESSION = Argument("session")
_SESSIONS = Argument("sessions", is_rest=True)
_ACCOUNT = Argument("account", accounts)
_PATH = Argument("file", is_rest=True)
_FORMATS = ("markdown", "html", LOSSLESS)


def _sessions(app: AgentsApp) -> Sessions:
    if app.engine is None:
        raise RuntimeError("asked before the engine was open")  # `commands.run` refuses before it comes to this
    return app.engine.sessions


def did(app: AgentsApp, text: str, take_back: Callable[[], object] | None = None) -> None:
    """Say what was done; the pane remembers how it is taken back, which runs in a thread of its own."""
    pane: Any = app.frame.find("sessions")
    if pane is None:
        app.say(text)
    else:
        pane.did(text, take_back)


def found_session(app: AgentsApp, text: str, act: Callable[[Conversation], None]) -> None:
    """Find what an id means, then act."""
    app.work("find a session", partial(_sessions(app).catalogue.find, text), act)


def _open(app: AgentsApp, arguments: list[str]) -> None:
    from oulipoly_tui.view.sessions.sessions import title_of  # noqa: PLC0415 - with its pane
    from oulipoly_tui.view.transcript.transcript import Target  # noqa: PLC0415 - with its pane

    def opened(one: Conversation) -> None:
        part = one.active
        target = Target(one.chain_id, part.account, part.session_id, part.transcript, title_of(one))

        async def hand_over() -> None:
            await app.frame.turn_to("transcript")
            pane: Any = app.frame.find("transcript")
            if pane is not None:
                pane.open_target(target)

        app.call_next(hand_over)

    found_session(app, arguments[0], opened)


def _resume(app: AgentsApp, arguments: list[str]) -> None:
    """Go on in a terminal; with an account, there."""
    account = arguments[1] if len(arguments) > 1 else None

    def found(one: Conversation) -> None:
        model = one.model if app.snapshot is not None and app.snapshot.pool(one.model) is not None else ""
        app.post_message(ReplWanted(model, account, one.active.session_id))

    found_session(app, arguments[0], found)


def _fork(app: AgentsApp, arguments: list[str]) -> str | None:
    """Begin a conversation with the past of another one, in a terminal."""
    if not app.has_pane("repl"):
        return "this version has no terminals yet: `agents repl --resume ID --fork` does it in the shell"

    def found(one: Conversation) -> None:
        async def hand_over() -> None:
            await app.frame.turn_to("repl")
            pane: Any = app.frame.find("repl")
            if pane is not None:
                pane.fork(one.active.session_id)

        app.call_next(hand_over)

    found_session(app, arguments[0], found)
    return None


def _move(app: AgentsApp, arguments: list[str]) -> None:
    text, account = arguments
    sessions = _sessions(app)

    def found(one: Conversation) -> None:
        def planned(what: str) -> None:
            from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - only when there is something to ask

            question = f"From {one.active.account} to {account}: {what}."
            app.push_screen(Confirm("Move this conversation?", question, "move"), lambda yes: moved() if yes else None)

        def moved() -> None:
            back = partial(sessions.moves.move, one.chain_id, one.active.account)
            done = f"moved to {account}"
            work = partial(sessions.moves.move, one.chain_id, account)
            app.work("move", work, lambda _: did(app, done, back), title=f"moving to {account}")

        app.work("move", partial(sessions.moves.preview, one.chain_id, account), planned)

    found_session(app, text, found)


def _name(app: AgentsApp, arguments: list[str]) -> None:
    text, name = arguments[0], arguments[1] if len(arguments) > 1 else ""
    sessions = _sessions(app)

    def found(one: Conversation) -> None:
        def named(before: str | None) -> None:
            back = partial(sessions.notes.rename, one.chain_id, before or "")
            did(app, f"named “{name}”" if name.strip() else "called by its first words", back)

        app.work("name", partial(sessions.notes.rename, one.chain_id, name), named)

    found_session(app, text, found)


def _note(app: AgentsApp, arguments: list[str]) -> None:
    text, note = arguments[0], arguments[1] if len(arguments) > 1 else ""
    sessions = _sessions(app)

    def found(one: Conversation) -> None:
        def noted(before: str | None) -> None:
            back = partial(sessions.notes.annotate, one.chain_id, before or "")
            did(app, "noted" if note.strip() else "the note is gone", back)

        app.work("note", partial(sessions.notes.annotate, one.chain_id, note), noted)

    found_session(app, text, found)


def _pin(app: AgentsApp, arguments: list[str], *, on: bool) -> None:
    sessions, texts = _sessions(app), arguments[0].split()

    def resolved() -> list[str]:
        return sessions.notes.pin([sessions.catalogue.find(text).chain_id for text in texts], on=on)

    def pinned(changed: list[str]) -> None:
        back = partial(sessions.notes.pin, changed, on=not on) if changed else None
        word = "pinned" if on else "no longer pinned"
        did(app, word if len(texts) == 1 else f"{len(texts)} {word}", back)

    app.work("pin", resolved, pinned)


def _archive(app: AgentsApp, arguments: list[str]) -> None:
    sessions, texts = _sessions(app), arguments[0].split()
    app.say("archiving …")

    def work() -> str:
        return sessions.archive.keep([sessions.catalogue.find(text).chain_id for text in texts])

    app.work("archive", work, app.say, title="archiving")


def _archive_all(app: AgentsApp, _arguments: list[str]) -> None:
    app.say("archiving …")
    title, work = "archiving every conversation", _sessions(app).archive.keep_all

    def done(kept: Kept) -> None:
        app.say(f"{kept.kept} of {kept.looked_at} files kept anew")

    app.work("archive", work, done, title=title, can_stop=True)


def _restore(app: AgentsApp, arguments: list[str]) -> None:
    sessions = _sessions(app)

    def found(one: Conversation) -> None:
        work = partial(sessions.archive.restore, one.chain_id)
        _start(app, "put back", work, lambda done: app.say(done.sentence))

    found_session(app, arguments[0], found)


def _start(
    app: AgentsApp, name: str, function: Callable[[], Any], act: Callable[[Any], object], title: str = ""
) -> None:
    app.work(name, function, act, title=title, can_stop=bool(title))


def _export(app: AgentsApp, arguments: list[str]) -> str | None:
    text, form, path = arguments
    if form not in _FORMATS:
        return f"there is no format {form!r}: {', '.join(_FORMATS)}"
    from oulipoly_engine.facade.sessions.values import ExportWish  # noqa: PLC0415 - loaded already

    sessions, target = _sessions(app), Path(path).expanduser()

    def found(one: Conversation) -> None:
        def done(file: Exported) -> None:
            pane: Any = app.frame.find("sessions")
            if pane is not None and form == LOSSLESS:
                pane.exported(one.chain_id, file.path)
            app.say(f"{file.path}: {file.size_bytes:,} bytes")

        work = partial(sessions.files.export, one.chain_id, ExportWish(form), target)
        _start(app, "export", work, done, f"writing {target.name}")

    found_session(app, text, found)
    return None


def _bundle(app: AgentsApp, arguments: list[str]) -> None:
    text, path = arguments
    sessions, target = _sessions(app), Path(path).expanduser()

    def done(one: Packed) -> None:
        missing = f"; missing: {', '.join(one.missing)}" if one.missing else ""
        app.say(f"{one.path}: {one.size_bytes:,} bytes{missing}", severity="warning" if missing else "information")

    def found(one: Conversation) -> None:
        _start(app, "bundle", partial(sessions.bundles.pack, one.chain_id, target), done, f"writing {target.name}")

    found_session(app, text, found)


def _unbundle(app: AgentsApp, arguments: list[str]) -> None:
    """Check a bundle, say what it would do, and unpack it after a yes."""
    sessions, source = _sessions(app), Path(arguments[0]).expanduser()
    folder = Path(arguments[1]).expanduser() if len(arguments) > 1 else None

    def planned(plan: Unpacked) -> None:
        from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - only when there is something to ask

        def answered(yes: bool | None) -> None:
            if yes:
                work = partial(sessions.bundles.unpack, source, folder=folder)
                _start(
                    app, "unbundle", work, lambda _: app.say(f"unpacked on {plan.account}"), f"unpacking {source.name}"
                )

        app.push_screen(Confirm("Unpack this conversation?", unpacking_text(plan), "unpack"), answered)

    work = partial(sessions.bundles.plan, source, folder=folder)
    _start(app, "unbundle", work, planned, f"checking {source.name}")


def unpacking_text(plan: Unpacked) -> str:
    """Say what unpacking a bundle would do."""
    known = " A conversation here has it already." if plan.was_known else ""
    warned = "".join(f" {text}." for text in plan.warnings)
    files = f"{plan.files} file{'s' * (plan.files != 1)}"
    return f"{plan.session_id[:8]} goes on on {plan.account}, in {plan.folder}: {files}.{known}{warned}"


def _import(app: AgentsApp, arguments: list[str]) -> None:
    text, path = arguments
    sessions, source = _sessions(app), Path(path).expanduser()

    def shown(wish: Import) -> None:
        show_difference(app, wish, str(wish.path))

    found_session(
        app, text, lambda one: _start(app, "import", partial(sessions.edits.read_import, one.chain_id, source), shown)
    )


def show_difference(app: AgentsApp, wish: Import, source: str) -> None:
    """Show what an import would change, and carry it out after a yes."""
    from oulipoly_tui.screens.import_ import ImportScreen  # noqa: PLC0415 - only when it is opened

    sessions = _sessions(app)

    def decided(yes: bool | None) -> None:
        if yes:
            app.work("import", partial(sessions.edits.carry_out, wish), replaced, title="replacing the turns")

    def replaced(receipt: Any) -> None:  # noqa: ANN401 - Receipt
        if receipt.operation_uuid is None:
            app.say("the transcript was as wanted already: nothing was changed")
            return
        back = partial(sessions.edits.undo, receipt.session_id)
        did(app, "the turns are replaced", back)

    app.push_screen(ImportScreen(wish.plan, source), decided)


def _undo(app: AgentsApp, arguments: list[str]) -> None:
    sessions = _sessions(app)

    def found(one: Conversation) -> None:
        def planned(plan: Any) -> None:  # noqa: ANN401 - Plan
            from oulipoly_tui.screens.import_ import ImportScreen  # noqa: PLC0415 - only when it is opened

            def decided(yes: bool | None) -> None:
                if yes:
                    app.work(
                        "undo", partial(sessions.edits.undo, one.chain_id), lambda _: app.say("put back as it was")
                    )

            app.push_screen(ImportScreen(plan, "what it was before the latest replacement", deed="put back"), decided)

        app.work("undo", partial(sessions.edits.plan_undo, one.chain_id), planned)

    found_session(app, arguments[0], found)


_TEXT = Argument("text", is_rest=True, is_optional=True)
COMMANDS = (
    Command("session open", "read its transcript", _open, (_SESSION,)),
    Command(
        "session resume",
        "go on with it in a terminal, on another account if one is named",
        _resume,
        (_SESSION, Argument("account", accounts, is_optional=True)),
        writes=True,
    ),
    Command("session fork", "go on in a new conversation with its past", _fork, (_SESSION,), writes=True),
    Command("session move", "move it to another account", _move, (_SESSION, _ACCOUNT), writes=True),
    Command("session name", "give it a name", _name, (_SESSION, _TEXT), writes=True),
    Command("session note", "keep a note with it", _note, (_SESSION, _TEXT), writes=True),
    Command("session pin", "keep it at the top", partial(_pin, on=True), (_SESSIONS,), writes=True),
    Command("session unpin", "let it take its place again", partial(_pin, on=False), (_SESSIONS,), writes=True),
    Command("session archive", "keep a copy of it", _archive, (_SESSIONS,), writes=True),
    Command("session archive all", "keep copies of every account's conversations", _archive_all, writes=True),
    Command("session restore", "put the archive's copy back", _restore, (_SESSION,), writes=True),
    Command(
        "session export",
        "write it to a file as markdown, html or canonical-jsonl",
        _export,
        (_SESSION, Argument("format", lambda _: _FORMATS), _PATH),
        writes=True,
    ),
    Command("session bundle", "pack it for another machine", _bundle, (_SESSION, _PATH), writes=True),
    Command(
        "session unbundle",
        "unpack one that was packed elsewhere",
        _unbundle,
        (Argument("file"), Argument("folder", is_optional=True)),
        writes=True,
    ),
    Command("session import", "replace its turns by an edited export", _import, (_SESSION, _PATH), writes=True),
    Command("session undo", "take the latest replacement back", _undo, (_SESSION,), writes=True),
)
