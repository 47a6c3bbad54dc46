"""Live sessions for screen readers: listed, begun, talked to, followed; what they ask is answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.commands.slash.lines import Message, Order, Refusal
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.orders import Interrupt, Send
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.live.sessions import HostGone, HostUnreachable, LiveClient, LiveStatus, NewSession
from oulipoly_tui.linear.pools import choose_model
from oulipoly_tui.view import words
from oulipoly_tui.view.live.lists import name_of, state_words
from oulipoly_tui.view.live.spoken import spoken, spoken_request

if TYPE_CHECKING:
    from oulipoly_engine.core.commands.command import Command
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_WINDOW = 60  # events that are said of a session that is opened
_LOOK_S = 0.5
_APPROVE, _SESSION, _DENY, _CANCEL = "Approve once", "Approve for the session", "Deny", "Deny and interrupt the turn"


def live_lines(talk: Talk, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a live session, then what they ask."""
    found = talk.engine.live.list_sessions()
    yield from (_line(one, snapshot) for one in found)
    if not found:
        yield "No live sessions."
    count = 0 if talk.read_only else len(talk.engine.live.requests())
    if count:
        yield f"{count} request{'s' * (count != 1)} wait{'s' * (count == 1)} for you."


def _line(one: LiveStatus, snapshot: Snapshot) -> str:
    state, _ = state_words(one)
    age = words.age(one.session.updated_at, snapshot.at)
    return f"{name_of(one)}. {state.capitalize()}. {one.session.account or one.session.runtime_id}. Changed {age}."


def choose(talk: Talk, snapshot: Snapshot, _command: Command) -> LiveStatus | None:
    """Let a live session be chosen."""
    sessions = talk.engine.live.list_sessions()
    return talk.choose_of("Live session", sessions, lambda status: _line(status, snapshot), "There is no live session.")


def begin(talk: Talk, snapshot: Snapshot) -> None:
    """Begin a session with a model, then talk."""
    pool = choose_model(talk, snapshot)
    if pool is not None:
        begun = talk.engine.live.begin(NewSession(Path.cwd(), model=pool.model.name))
        talk.say(f"Begun on {begun.session.account or begun.session.runtime_id}. {begun.why}.")
        open_talk(talk, begun.session.session_id)


def talk_to(talk: Talk, one: LiveStatus) -> None:
    """Say how a session went, then send messages and tell what comes of them."""
    read(talk, one)
    open_talk(talk, one.session.session_id)


def read(talk: Talk, one: LiveStatus) -> int:
    """Say how a session went last, and return the number of the last event."""
    events = talk.engine.live.events(one.session.session_id, limit=_WINDOW)
    for numbered in events:
        tell(talk, numbered.event)
    return events[-1].seq if events else 0


def follow(talk: Talk, one: LiveStatus) -> None:
    """Say what happens in a session until its process ends, or control and c stops it."""
    last = read(talk, one)
    talk.say("Control and c stops following. The session goes on.")
    try:
        for numbered in talk.engine.live.follow(one.session.session_id, last, deltas=False):
            tell(talk, numbered.event)
            if isinstance(numbered.event, ev.RequestOpened):
                for line in spoken_request(numbered.event.kind, numbered.event.prompt):
                    talk.quote(line)
    except KeyboardInterrupt:
        talk.say("")
    talk.say("No longer followed.")


def answer_requests(talk: Talk, _snapshot: Snapshot) -> None:
    """Answer what is asked, one after the other."""
    found = talk.engine.live.requests()
    if not found:
        talk.say(Need.REQUEST.fact)
    for one in found:
        _answer(talk, one)


def interrupt(talk: Talk, one: LiveStatus) -> None:
    """Interrupt a running turn."""
    talk.engine.live.order(one.session.session_id, Interrupt(), starts=False)
    talk.say("Interrupting.")


def open_talk(talk: Talk, session_id: str, begun_turn: str = "") -> None:
    """Have what is asked answered, then send messages and tell what comes of them.

    begun_turn: the first turn of a session of which nothing was told yet.
    """
    if begun_turn:
        _follow_turn(talk, session_id, begun_turn, 0)
    else:
        status = talk.engine.live.status(session_id)
        for one in (one for one in talk.engine.live.requests() if one.session_id == session_id):
            _answer(talk, one)
        if status.busy and status.turn_id:
            _follow_turn(talk, session_id, status.turn_id, talk.engine.live.last_number(session_id))
    while typed := talk.ask("Message, empty to go back", "Type what the agent is told, or /help.").strip():
        text = _run_command(talk, session_id, typed)
        if text is None:
            continue
        try:
            with talk.engine.live.connect(session_id, starts=True) as client:
                last = talk.engine.live.events(session_id, limit=1)
                turn_id = str(client.order(Send(text))["turn_id"])
                client.follow(last[-1].seq if last else 0, deltas=False)
                _listen(talk, client, session_id, turn_id)
        except (HostGone, HostUnreachable) as error:
            talk.say(f"Its process has ended. {error.message}.")


def _run_command(talk: Talk, session_id: str, typed: str) -> str | None:
    """Return the message that a line is; None: it was a command, or is refused, and what comes of it was said."""
    match talk.engine.slash.judge(session_id, typed):
        case Message(text=text):
            return text
        case Refusal(reason=reason):
            talk.say(f"Error. {reason}.")
        case Order() as order:
            try:
                lines = talk.engine.slash.run(session_id, order).lines
            except RunnerError as error:
                talk.say(f"Error. {error.message}.")
            else:
                for line in lines:
                    talk.quote(line)
    return None


def _follow_turn(talk: Talk, session_id: str, turn_id: str, after: int) -> None:
    try:
        with talk.engine.live.connect(session_id) as client:
            client.follow(after, deltas=False)
            _listen(talk, client, session_id, turn_id)
    except HostUnreachable:  # it has ended already
        for numbered in talk.engine.live.events_after(session_id, after):
            tell(talk, numbered.event)
    except HostGone:
        return


def _listen(talk: Talk, client: LiveClient, session_id: str, turn_id: str) -> None:
    """Say what comes until a turn is over; control and c asks whether to interrupt it."""
    while True:
        try:
            for numbered in client.wait(_LOOK_S):
                event = numbered.event
                if not _is_own_message(event):
                    tell(talk, event)
                if isinstance(event, ev.RequestOpened) and not _answer(
                    talk, talk.engine.live.find_request(event.request_id)
                ):
                    return
                if isinstance(event, ev.TurnEnded) and event.turn_id == turn_id:
                    return
                if isinstance(event, ev.SessionFailed):
                    return
        except KeyboardInterrupt:
            talk.say("")
            if not talk.confirm("Interrupt the turn?"):
                talk.say("The turn goes on.")
                return
            talk.engine.live.order(session_id, Interrupt(), starts=False)


def _is_own_message(event: ev.AnyEvent) -> bool:
    return isinstance(event, ev.ItemEnded) and event.item.kind == "user_message"


def tell(talk: Talk, event: ev.AnyEvent) -> None:
    """Say what has happened."""
    for line in spoken(event):
        talk.quote(line)


def _answer(talk: Talk, request: LiveRequest) -> bool:
    """Say all of a request and answer it as is chosen; return whether it is open no more."""
    for line in spoken_request(request.kind, request.prompt):
        talk.quote(line)
    try:
        if request.kind == "user_input":
            return _answer_questions(talk, request)
        ways = (_DENY, _CANCEL) if request.session_id else (_DENY,)
        names = [_APPROVE, *((_SESSION,) if request.prompt.reach else ()), *ways]
        talk.drop_typed_ahead()
        chosen = talk.choose("Answer", [_CANCEL] if request.kind == "other" else names)
        if chosen is None:
            talk.say("It waits on.")
            return False
        decision = {_APPROVE: "approve", _SESSION: "approve_for_session", _DENY: "deny", _CANCEL: "cancel"}[chosen]
        if decision == "approve_for_session":
            talk.drop_typed_ahead()
            if not talk.confirm(f"Approve {request.prompt.reach}?"):
                talk.say("It waits on.")
                return False
        takes_reason = decision == "deny" and request.hears_reasons
        reason = talk.ask("Reason, empty for none").strip() if takes_reason else ""
        talk.engine.live.answer(request.request_id, decision, reason=reason)
    except RunnerError as error:  # somebody else has answered it, or its turn is over
        talk.say(f"Error. {error.message}.")
    return True


def _answer_questions(talk: Talk, request: LiveRequest) -> bool:
    answers: dict[str, tuple[str, ...]] = {}
    for question in request.prompt.questions:
        talk.quote(question.text or question.header or question.id)
        if question.is_secret:
            talk.say("It is a secret, which would be seen here: `agents requests answer` asks for it unseen.")
            return False
        labels = [label for label, _ in question.options]
        talk.drop_typed_ahead()
        if labels and not question.takes_other:
            given = talk.choose("Answer", labels) or ""
        else:
            given = talk.ask("Answer" + (f": {', '.join(labels)}, or your own" if labels else "")).strip()
        if given:
            answers[question.id] = (given,)
        elif not question.is_optional:
            talk.say("It waits on.")
            return False
    talk.engine.live.answer(request.request_id, "answer", answers=answers)
    return True
