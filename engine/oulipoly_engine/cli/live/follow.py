"""`session follow`: what happens in a live session, as lines for people or for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.requests import describe_end
from oulipoly_engine.core.live.retry import describe_retry
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.facade import output

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from oulipoly_engine.facade.live.sessions import LiveSessions


def add_arguments(parser: Parser) -> None:
    """Add its arguments behind the session's id."""
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="only what came after this number")
    parser.add_argument("--no-deltas", action="store_true", help="whole items only")
    parser.add_argument("--until-idle", action="store_true", help="end once no turn runs and no message waits")


def serve(context: Context, options: Namespace) -> int:
    """Print what happens."""
    live, shown = context.engine.live, _Lines()
    for numbered in _follow(live, options):
        if options.json:
            output.write_json(ev.to_json(numbered), pretty=False)
        else:
            shown.write(numbered.event)
    if not options.json:  # no event has the text of a message that waits
        output.write_block("".join(f"user (waits): {_indent(each.text)}\n" for each in live.queue(options.session)))
    return 0


def _follow(live: LiveSessions, options: Namespace) -> Iterator[ev.Numbered]:
    end = _Idleness(live, options.session) if options.until_idle else None
    if end is not None and end.is_behind(options.after):
        return
    for numbered in live.follow(options.session, options.after, deltas=not options.no_deltas):
        yield numbered
        if end is not None and end.is_reached(numbered):
            return


class _Idleness:
    """Tells when a session has nothing more to do."""

    def __init__(self, live: LiveSessions, session: str) -> None:
        self._live, self._session = live, session
        self._last = live.last_number(session)  # to be looked at; once idle, to be shown
        self._awaited: set[str] = set()  # the turns that run or will run by themselves
        self._look()

    def is_behind(self, number: int) -> bool:
        """Return whether nothing comes after a number: no turn runs, no message waits, and all is told."""
        return not self._awaited and self._last <= number

    def is_reached(self, numbered: ev.Numbered) -> bool:
        """Take an event, and tell whether it is the last one."""
        event = numbered.event
        is_end = isinstance(event, ev.TurnEnded) and event.turn_id in self._awaited
        # What was waited for may have been taken back.
        if is_end or (isinstance(event, ev.QueueChanged) and self._awaited and numbered.seq > self._last):
            self._look()
        return self.is_behind(numbered.seq)

    def _look(self) -> None:
        status = self._live.status(self._session)
        if status.status in ("starting", "running", "waiting_input"):
            running = {status.turn_id} if status.turn_id else set()
            self._awaited = running | {one.message_id for one in status.queue}
        else:
            self._awaited = set()
        if not self._awaited:  # what has come to its end meanwhile is shown
            self._last = self._live.last_number(self._session)


class _Lines:
    """Prints a conversation for people: text as it comes, one line for the rest."""

    def __init__(self) -> None:
        self._open = ""  # the item whose text the line goes on with

    def write(self, event: ev.AnyEvent) -> None:
        """Print an event."""
        match event:
            case ev.ItemDelta(kind="agent_message"):
                begin = "agent: " if self._open != event.item_id else ""
                self._open = event.item_id
                output.write_block(begin + _indent(event.text))
            case ev.ItemDelta():
                pass
            case ev.ItemEnded() if event.item.id == self._open:
                self._open = ""
                output.write_line("")
            case _:
                if line := describe(event):
                    if self._open:
                        self._open = ""
                        output.write_line("")
                    output.write_block(line + "\n")


def describe(event: ev.AnyEvent, stop: str = "") -> str:
    """Return an event as people read it; empty: it is not for them. stop: what ends a turn here."""
    match event:
        case ev.ItemStarted(item=item) if item.untaken:
            return f"{_name_speaker(item)} ({item.untaken}): {_indent(item.text)}"
        case ev.ItemEnded():
            item = event.item
            if item.kind in ("user_message", "agent_message"):
                untaken = f" ({item.untaken})" if item.untaken else ""
                return f"{_name_speaker(item)}{untaken}: {_indent(item.text)}"
            return "" if item.kind == "reasoning" else f"[{item.kind}: {plain(item.title)}, {item.status}]"
        case ev.RequestOpened():
            return f"[it asks: {plain(event.prompt.title)} · {plain(event.request_id)}]"
        case ev.RequestResolved():
            return f"[{plain(describe_end(event.status, event.decision))} by {plain(event.by)}]"
        case ev.TurnEnded():
            why = f": {plain(event.message)}" if event.message else ""
            return f"[the turn is {event.status}{why}]"
        case ev.SessionFailed() | ev.SessionClosed():
            return f"[the session's process: {plain(event.reason)}, {plain(event.message)}]"
        case ev.TurnRetrying():
            return f"[{describe_retry(event, stop)}]"
        case ev.ControlChanged():
            return f"[{plain(ev.describe_control(event))}]"
        case ev.Notice():
            return f"[{plain(event.text)}]"
        case _:
            return ""


def _name_speaker(item: ev.Item) -> str:
    if item.kind == "agent_message":
        return "agent"
    return "agent-runner" if item.native_kind == ev.RESUMES else "user"


def _indent(text: str) -> str:
    """Return a text whose further lines cannot be taken for lines of ours."""
    return text.expandtabs(4).replace("\n", "\n  ")
