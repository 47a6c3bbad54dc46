"""Files of sessions: archive, export, import, bundle, and taking a replacement back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_engine.paths import expand_user
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands.sessions import did, find_session
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.sessions.export import FORMATS, LOSSLESS

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_engine.facade.sessions.archive import KeepResult
    from oulipoly_engine.facade.sessions.bundles import Packed
    from oulipoly_engine.facade.sessions.types import Plan
    from oulipoly_engine.facade.sessions.values import Exported, Import, Unpacked
    from oulipoly_tui.base.app_interface import AppInterface


def archive(app: AppInterface, arguments: list[str]) -> None:
    """Keep copies of sessions."""
    sessions, texts = engine_of(app).sessions, arguments[0].split()
    app.say("Archiving …")

    def work() -> str:
        return sessions.archive.keep([sessions.catalogue.find(text).chain_id for text in texts])

    app.work("archive", work, app.say, title="archiving")


def archive_all(app: AppInterface, _arguments: list[str]) -> None:
    """Keep copies of every account's sessions."""
    app.say("Archiving …")
    title, work = "archiving every session", engine_of(app).sessions.archive.keep_all

    def on_done(kept: KeepResult) -> None:
        app.say(f"{kept.kept} of {kept.looked_at} files kept anew")

    app.work("archive", work, on_done, title=title, can_stop=True)


def restore(app: AppInterface, arguments: list[str]) -> None:
    """Put the archive's copy back."""
    sessions = engine_of(app).sessions

    def on_found(one: Session) -> None:
        work = partial(sessions.archive.restore, one.chain_id)
        _start(app, "put back", work, lambda done: app.say(done.sentence))

    find_session(app, arguments[0], on_found)


def _start(
    app: AppInterface, name: str, function: Callable[[], Any], act: Callable[[Any], object], title: str = ""
) -> None:
    app.work(name, function, act, title=title, can_stop=bool(title))


def export(app: AppInterface, arguments: list[str]) -> str | None:
    """Write a session to a file."""
    text, form, path = arguments
    if form not in FORMATS:
        return f"there is no format {form!r}: {', '.join(FORMATS)}"
    from oulipoly_engine.facade.sessions.values import ExportOptions  # noqa: PLC0415 - loaded already

    sessions, target = engine_of(app).sessions, expand_user(path)

    def on_found(one: Session) -> None:
        def on_done(file: Exported) -> None:
            if form == LOSSLESS:
                app.exports[one.chain_id] = file.path
            app.say(f"{file.path}: {file.size_bytes:,} bytes")

        work = partial(sessions.files.export, one.chain_id, ExportOptions(form), target)
        _start(app, "export", work, on_done, f"writing {target.name}")

    find_session(app, text, on_found)
    return None


def bundle(app: AppInterface, arguments: list[str]) -> None:
    """Pack a session for another machine."""
    text, path = arguments
    sessions, target = engine_of(app).sessions, expand_user(path)

    def on_done(one: Packed) -> None:
        missing = f"; missing: {', '.join(one.missing)}" if one.missing else ""
        app.say(f"{one.path}: {one.size_bytes:,} bytes{missing}", severity="warning" if missing else "information")

    def on_found(one: Session) -> None:
        _start(app, "bundle", partial(sessions.bundles.pack, one.chain_id, target), on_done, f"writing {target.name}")

    find_session(app, text, on_found)


def unbundle(app: AppInterface, arguments: list[str]) -> None:
    """Check a bundle, say what it would do, and unpack it after a yes."""
    sessions, source = engine_of(app).sessions, expand_user(arguments[0])
    folder = expand_user(arguments[1]) if len(arguments) > 1 else None

    def on_planned(plan: Unpacked) -> None:
        def unpack() -> None:
            work = partial(sessions.bundles.unpack, source, folder=folder)
            _start(app, "unbundle", work, lambda _: app.say(f"Unpacked on {plan.account}"), f"unpacking {source.name}")

        dialogs.confirm(app, "Unpack this session?", format_unpacking(plan), "unpack", unpack)

    work = partial(sessions.bundles.plan, source, folder=folder)
    _start(app, "unbundle", work, on_planned, f"checking {source.name}")


def format_unpacking(plan: Unpacked) -> str:
    """Say what unpacking a bundle would do."""
    known = " A session here has it already." if plan.was_known else ""
    warned = "".join(f" {text}." for text in plan.warnings)
    files = f"{plan.files} file{'s' * (plan.files != 1)}"
    return f"{plan.session_id[:8]} goes on on {plan.account}, in {plan.folder}: {files}.{known}{warned}"


def import_file(app: AppInterface, arguments: list[str]) -> None:
    """Show what an edited export would change."""
    text, path = arguments
    sessions, source = engine_of(app).sessions, expand_user(path)

    def on_found(one: Session) -> None:
        def on_shown(wish: Import) -> None:
            show_difference(app, wish, one, str(wish.path))

        _start(app, "import", partial(sessions.edits.read_import, one.chain_id, source), on_shown)

    find_session(app, text, on_found)


def show_difference(app: AppInterface, wish: Import, session: Session, source: str) -> None:
    """Show what an import would change in a session, and carry it out after a yes."""
    sessions = engine_of(app).sessions

    def on_replaced(receipt: Any) -> None:  # noqa: ANN401 - Receipt
        if receipt.operation_uuid is None:
            app.say("The transcript was as wanted already: nothing was changed")
            return
        back = partial(sessions.edits.undo, receipt.session_id)
        did(app, "Session replaced", back)

    work = partial(sessions.edits.carry_out, wish)
    replace = partial(app.work, "import", work, on_replaced, title="replacing the turns")
    _review(app, wish.plan, session, "replace", f"by {source}", replace)


def _review(  # noqa: PLR0913, RUF100 - what would be done, and what follows
    app: AppInterface, plan: Plan, session: Session, verb: str, source: str, act: Callable[[], object]
) -> None:
    from oulipoly_tui.view.sessions.import_diff import diff_lines, summary  # noqa: PLC0415 - only when it is opened
    from oulipoly_tui.view.sessions.sessions import quote_title, title_of  # noqa: PLC0415 - as above

    title = f"{verb.capitalize()} {quote_title(title_of(session))} {source}"
    note = " · then u: undo"
    can_do = bool(plan.changes)
    dialogs.review(app, title, summary(plan), diff_lines(plan.steps), act, yes=f"Yes, {verb}", note=note, can_do=can_do)


def undo_replacement(app: AppInterface, arguments: list[str]) -> None:
    """Show what taking the latest replacement back would change."""
    sessions = engine_of(app).sessions

    def on_found(one: Session) -> None:
        def on_planned(plan: Plan) -> None:
            work = partial(sessions.edits.undo, one.chain_id)
            undo = partial(app.work, "undo", work, lambda _: app.say("Undone: session replaced"))
            _review(app, plan, one, "put back", "as it was before the latest replacement", undo)

        app.work("undo", partial(sessions.edits.plan_undo, one.chain_id), on_planned)

    find_session(app, arguments[0], on_found)


def delete(app: AppInterface, arguments: list[str]) -> None:
    """Delete a session after a yes; an undo puts it back."""
    archive = engine_of(app).sessions.archive

    def on_found(session: Session) -> None:
        from oulipoly_tui.view.sessions.sessions import quote_title, title_of  # noqa: PLC0415 - only when it is opened

        back = partial(archive.undelete, session.chain_id)
        work = partial(archive.delete, session.chain_id)
        act = partial(_start, app, "delete", work, lambda _: did(app, "Session deleted", back))
        text = "Its transcripts go into the archive, and no list has it. `session undelete` undoes that."
        dialogs.confirm(app, f"Delete {quote_title(title_of(session))}?", text, "delete", act, can_undo=True)

    find_session(app, arguments[0], on_found)


def undelete(app: AppInterface, arguments: list[str]) -> None:
    """Put a deleted session back, which no list has."""
    work = partial(engine_of(app).sessions.archive.undelete, arguments[0])
    _start(app, "undelete", work, lambda done: app.say(f"Session {done.chain_id[:8]} is back"))
