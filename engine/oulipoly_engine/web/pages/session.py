"""One session: what was said, what it asks, what waits, and the orders to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from starlette.responses import Response
from starlette.routing import BaseRoute

from oulipoly_engine.core.commands.slash.lines import Message, Order, Refusal
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.events import Numbered
from oulipoly_engine.core.live.requests import TurnInFlight
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.worktrees.changes import ChangeSet
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade.live.standing import LiveStatus
from oulipoly_engine.web.api import sessions
from oulipoly_engine.web.api.engine import NotFound, check_slash, find_to_drive, find_work, live_of, may_drive
from oulipoly_engine.web.api.sessions import download
from oulipoly_engine.web.base import bodies
from oulipoly_engine.web.pages import entries
from oulipoly_engine.web.pages.page import Page, decode_path, encode_path, get, post
from oulipoly_engine.web.pages.recorded import read_whole_text, show_recorded
from oulipoly_engine.web.pages.requests import cards
from oulipoly_engine.web.pages.weights import cut_beginning, cut_end, weight_of
from oulipoly_engine.web.pages.words import standing_of

_EVENTS = 400  # that one look reads
_LOG_LINES, _LOG_BUDGET = 200, 24_000
_PIECE = 20_000  # bytes of an entry on a page of its own
_MOST_QUEUED = 10
_MOST_ARTIFACTS = 100
_LOOK_S = 2.0  # git looks no oftener for all who watch a session


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [
        get("/sessions/{session_id}", _show),
        get("/sessions/{session_id}/entries/{seq:int}", _show_entry),
        get("/sessions/{session_id}/log", _show_log),
        get("/sessions/{session_id}/artifacts", _list_artifacts),
        get("/sessions/{session_id}/artifacts/file", _download),
        post("/sessions/{session_id}", _change, "session change"),
        post("/sessions/{session_id}/messages", _send, "session send"),
        post("/sessions/{session_id}/interrupt", _interrupt, "session interrupt"),
        post("/sessions/{session_id}/cancel", _cancel, "session cancel"),
        post("/sessions/{session_id}/fork", _fork, "session fork"),
        post("/sessions/{session_id}/queue/{message_id}", _change_queue, "session queue"),
    ]


def _show(page: Page) -> Response:
    try:
        work = find_work(page.engine, page.path["session_id"])
    except NotFound:
        return show_recorded(page)
    key, live = work.session.session_id, page.engine.live
    before, after = page.number("before"), page.number("after")
    last = live.events(key, before, _EVENTS)
    found = last if after is None else live.events_after(key, after, _EVENTS)
    made = entries.make_entries(found, _titles((*last, *found)), page.viewer.name)
    shown = entries.newest_that_fit(made) if after is None else entries.oldest_that_fit(made)
    cursor = found[-1].seq if found else after or 0
    has_more = False
    if after is not None:
        has_more = len(shown) < len(made) or len(found) == _EVENTS
        cursor = shown[-1].seq if len(shown) < len(made) else cursor
    is_past = before is not None
    changes = None if is_past else _look(page, key)
    asked = [one for one in live.requests() if one.session_id == key]
    shown_cards, more_cards = cards(page, asked, 14_000)
    queue = work.queue
    clients = ev.ClientsChanged() if is_past or work.pid is None else live.clients(key)
    return page.show(
        "session.html",
        work=work,
        session=work.session,
        pool="" if work.session.model_name == UNKNOWN_MODEL else work.session.model_name,
        standing=standing_of(work),
        entries=shown,
        cursor=cursor,
        has_more=has_more,
        earlier=shown[0].seq if shown and (len(shown) < len(made) or found[0].seq > 1) else None,
        is_past=is_past,
        changes=changes,
        running=() if is_past else entries.running_items(last, work.turn_id)[-3:],
        cards=shown_cards,
        more_cards=more_cards,
        artifacts=() if is_past else page.engine.work.artifacts(key, _MOST_ARTIFACTS),
        most_artifacts=_MOST_ARTIFACTS,
        queue=queue[:_MOST_QUEUED],
        queue_more=max(0, len(queue) - _MOST_QUEUED),
        writer=clients.writer_beside(page.viewer.name),
        watchers=clients.count_others(page.viewer.name),
        blocks=work.session.opening.block_while_running,
        instead=() if is_past or work.pid is not None else live.runtimes_instead(key),
        may_drive=may_drive(page.engine, page.viewer, work),
        back=f"/sessions/{key}",
    )


def _look(page: Page, key: str) -> ChangeSet | None:
    """Return what a session has changed; None where git cannot say it now."""
    try:
        return page.engine.changes.status(key, max_age_s=_LOOK_S)
    except RequestRefused:
        return None


def _titles(numbered: tuple[Numbered, ...]) -> Mapping[str, str]:
    """Return what requests asked, by their ids."""
    opened = [one.event for one in numbered if isinstance(one.event, ev.RequestOpened)]
    return {event.request_id: event.prompt.title for event in opened}


def _show_entry(page: Page) -> Response:
    seq, begin = int(page.path["seq"]), page.number("from", 0) or 0
    try:
        session = find_work(page.engine, page.path["session_id"]).session
    except NotFound:
        identity = page.path["session_id"]
        title, text = read_whole_text(page, seq)
    else:
        identity = session.session_id
        title = session.title
        found = [one for one in page.engine.live.events_after(identity, seq - 1, 1) if one.seq == seq]
        text = entries.whole_text(found[0]) if found else ""
    if not text:
        raise NotFound(f"this session has nothing to show at {seq}")
    piece = cut_beginning(text[begin:], _PIECE)
    end = begin + len(piece)
    return page.show(
        "text.html",
        heading=f"Entry {seq}",
        identity=identity,
        title=title,
        text=piece,
        later=f"?from={end}" if len(text) > end else "",
        earlier=f"?from={max(0, begin - _PIECE)}" if begin else "",
        note="",
    )


def _show_log(page: Page) -> Response:
    work = find_work(page.engine, page.path["session_id"])
    text = page.engine.work.log_tail(work.session.session_id, _LOG_LINES)
    files = page.engine.work.files_of(work.session)
    note = f"The last lines of {files.log}"
    if files.agent_log_hint:
        note += f". The agent's own log: {files.agent_log_hint}"
    return page.show(
        "text.html",
        heading="Log",
        identity=work.session.session_id,
        title=work.session.title,
        text=cut_end(text, _LOG_BUDGET),
        later="",
        earlier="",
        note=note,
    )


def _list_artifacts(page: Page) -> Response:
    work = find_work(page.engine, page.path["session_id"])
    found = page.engine.work.artifacts(work.session.session_id, _MOST_ARTIFACTS + 1)
    folder = page.engine.work.files_of(work.session).artifacts
    rows: list[tuple[str, str, int, datetime]] = []
    budget = _PIECE
    for name, size, at in found[:_MOST_ARTIFACTS]:
        token = encode_path(name)
        budget -= 2 * len(token) + weight_of(name[:300]) + 250
        if rows and budget < 0:
            break
        rows.append((name, token, size, at))
    return page.show(
        "artifacts.html",
        folder=folder,
        session=work.session,
        rows=rows,
        is_cut=len(rows) < len(found),
    )


def _download(page: Page) -> Response:
    work = find_work(page.engine, page.path["session_id"])
    return download(page.engine, work, decode_path(page.query.get("path", "")))


# Orders --------------------------------------------------------------------------------------------------------------
def _change(page: Page) -> Response:
    body = bodies.SessionChange(block_while_running=page.field("block_while_running") == "on")
    return _order(page, sessions.change, body=body)


def _send(page: Page) -> Response:
    work = find_to_drive(page.engine, page.viewer, page.path["session_id"])
    key, text, how = work.session.session_id, page.field("content"), page.field("how") or "send"
    if not text.strip():
        raise UsageInvalid("the message is empty: write what the session is to do")
    match page.engine.slash.judge(key, text):
        case Refusal(reason=reason):
            raise UsageInvalid(reason)
        case Order() as order:
            return _run(page, work, order)
        case Message(text=text):
            pass
    handler = {"send": sessions.send, "queue": sessions.queue, "steer": sessions.steer}.get(how)
    if handler is None:
        raise UsageInvalid(f"a message is sent, queued, or steers: not {how[:40]!r}")
    body = bodies.NewMessage.model_construct(content=text)
    try:
        page.ask(handler, session_id=key, body=body)
    except TurnInFlight as error:
        if work.session.opening.block_while_running:
            message = "a turn runs meanwhile: queue the message behind it, or steer the turn with it"
            raise TurnInFlight(message) from error
        page.ask(sessions.queue, session_id=key, body=body)
    return page.go(f"/sessions/{key}#end")


def _run(page: Page, work: LiveStatus, order: Order) -> Response:
    """Run a command that was written behind a slash, and show what it says."""
    check_slash(page.engine, page.viewer, work, order)
    command = order.slash.does
    key = work.session.session_id
    if command.destroys and page.field("sure") != "yes":
        return page.show("ask.html", does=command, page=page, back=f"/sessions/{key}")
    if command.name == "session new":
        return _tell(page, order, "", "/sessions/new")
    outcome = page.engine.slash.run(key, order, live_of(page.engine, page.viewer))
    text = cut_beginning(redact("\n".join(outcome.lines)), _PIECE)
    return _tell(page, order, text, f"/sessions/{outcome.session_id or key}")


def _tell(page: Page, order: Order, text: str, onward: str) -> Response:
    """Show what a command says. onward: where it leads, perhaps to another page."""
    if onward != f"/sessions/{page.path['session_id']}" and not page.is_part:
        return page.go(onward)
    return page.show("told.html", heading=f"/{order.slash.name}", text=text, onward=onward)


def _interrupt(page: Page) -> Response:
    return _order(page, sessions.interrupt)


def _cancel(page: Page) -> Response:
    return _order(page, sessions.cancel)


def _fork(page: Page) -> Response:
    return _order(page, sessions.fork_session, body=bodies.Fork.model_construct(runtime_id=page.field("runtime_id")))


def _order(page: Page, handler: Callable[..., Response], **given: object) -> Response:
    """Do as REST does, and go to the session that it answers with."""
    done = page.ask(handler, session_id=page.path["session_id"], **given)
    return page.go(f"/sessions/{done['id']}")


def _change_queue(page: Page) -> Response:
    act, place = page.field("act"), {"session_id": page.path["session_id"], "message_id": page.path["message_id"]}
    if act == "edit":
        page.ask(sessions.change_queue, body=bodies.QueueChange.model_construct(text=page.field("text")), **place)
    elif act == "first":
        page.ask(sessions.change_queue, body=bodies.QueueChange(place=1), **place)
    elif act == "remove":
        page.ask(sessions.remove_from_queue, **place)
    else:
        raise UsageInvalid(f"a message that waits can be edited, moved to the front or taken back: not {act[:40]!r}")
    return page.go(f"/sessions/{place['session_id']}")
