"""The working line: how the session stands, on whose account, what it has used, and the key that interrupts. Pure."""

from __future__ import annotations

from oulipoly_engine.core.sessions.facets import WAITS
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.records import Record
from oulipoly_tui.view import words
from oulipoly_tui.view.live.conversation import Conversation
from oulipoly_tui.view.live.lists import status_words
from oulipoly_tui.view.live.turn_notes import cost, duration
from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cells, cut


class Standing(Record):
    """What the events of a session do not tell."""

    account: str = ""
    window: tuple[str, float] | None = None  # the account's limiting window: its name, and how much of it is used
    elapsed_s: float | None = None  # of the running turn
    interrupt_key: str = ""
    is_interrupting: bool = False  # the running turn was asked to end
    fork_key: str = ""
    is_attached: bool = False  # its process lives and tells us what happens
    is_connecting: bool = False
    fence: str | None = None  # why it cannot go on; None: it can


def state_of(talk: Conversation, standing: Standing) -> tuple[str, Tone]:
    """Return the state of a session in a word or two, and how it is shown."""
    if standing.fence is not None:
        return status_words("fenced")
    if standing.is_connecting:
        return "connecting …", "dim"
    if talk.requests:
        return WAITS, "warn"
    if talk.turn is not None:
        if standing.is_interrupting:
            return "interrupting …", "warn"
        if talk.turn.retry:
            return f"{talk.turn.retry}. Esc: stop", "warn"
        running = "running what was queued" if talk.turn.was_queued else "running"
        doing = {"compact": "compacting", "review": "reviewing"}.get(talk.turn.kind, running)
        return f"{doing} {duration(standing.elapsed_s)}".rstrip(), "accent"
    if not standing.is_attached:
        return ("turn cut off", "warn") if talk.left_turn else ("ended", "dim")
    return "ready" if talk.is_open else "starting", "good"


def working_line(talk: Conversation, standing: Standing, width: int) -> Line:
    """Return the line; what does not fit is left out: first what changes least."""
    state, tone = state_of(talk, standing)
    parts: list[tuple[int, Span]] = [(0, (f"● {state}", tone))]  # (the higher, the sooner left out; the part)
    if talk.turn is not None and standing.is_interrupting:
        parts += [(1, ("then what is queued runs", "warn"))] if talk.queue else []
    elif talk.turn is not None and standing.interrupt_key and not talk.turn.retry:
        parts.append((1, (f"{standing.interrupt_key} interrupts", "")))
    if standing.account:
        used = None if standing.window is None else standing.window[1]
        told = "" if standing.window is None else f" {standing.window[0]} {words.percent(standing.window[1])}"
        parts.append((2, (visible_line(f"{standing.account}{told}"), words.use_tone(used))))
    if (context := context_used(talk)) is not None:
        parts.append((3, (f"context {words.percent(context)}", words.use_tone(context, "dim"))))
    if talk.cost_usd:
        parts.append((5, (cost(talk.cost_usd), "dim")))
    if talk.model:
        parts.append((6, (visible_line(talk.model), "dim")))
    if talk.may_do:
        parts.append((4, (talk.may_do, "dim")))
    others = talk.clients.count_others(talk.reader)
    if others and not talk.clients.writer_beside(talk.reader):
        parts.append((3, (f"{others} other{' watches' if others == 1 else 's watch'}", "dim")))
    while len(parts) > 1 and sum(cells(text) + 3 for _, (text, _) in parts) - 3 > width:
        parts.remove(max(parts, key=lambda part: part[0]))
    line: list[Span] = []
    for _, (text, own) in parts:
        line += [(" · ", "dim")] if line else []
        line.append((cut(text, width), own))
    return tuple(line)


def writer_line(talk: Conversation, width: int) -> Line:
    """Return who else writes to the session now; empty: nobody who is still there."""
    writer = talk.clients.writer_beside(talk.reader)
    text = " is writing here; what you send takes over"
    return ((cut(visible_line(writer), max(8, width - cells(text))), "warn"), (text, "dim")) if writer else ()


def context_used(talk: Conversation) -> float | None:
    """Return which share of the model's context is taken; None where the CLI does not tell."""
    usage = talk.usage
    return None if not usage.window or usage.context is None else min(1.0, usage.context / usage.window)


def queue_lines(talk: Conversation, width: int, key: str, most: int = 2) -> tuple[Line, ...]:
    """Return what waits to be sent. key: what edits, moves and takes back."""
    if not talk.queue:
        return ()
    count = len(talk.queue)
    lines: list[Line] = []
    for number, one in enumerate(talk.queue[:most]):
        head = f"queued {number + 1} of {count}: "
        text = visible_line(" ".join(one.text[:400].split()))
        hint = f"  {key} changes" if number == 0 and key else ""
        lines.append(((head, "warn"), (cut(text, max(8, width - cells(head + hint))), ""), (hint, "dim")))
    return tuple(lines)


def composer_hint(talk: Conversation, standing: Standing, *, can_steer: bool, write_key: str = "") -> str:
    """Return what Enter does now, for the empty composer. write_key: gives it the keys, which it has not."""
    if standing.fence is not None:
        forks = f" · {standing.fork_key} forks it" if standing.fork_key else ""
        return f"it cannot go on: {visible_line(standing.fence) or 'its thread is lost'}{forks}"
    is_ended = talk.turn is None and not standing.is_attached and not standing.is_connecting
    resumes = "/resume goes on with the turn that was cut off" if is_ended and talk.left_turn else ""
    if write_key and resumes:
        return f"{write_key} writes a message · {resumes}"
    if write_key:
        return f"{write_key} writes a message{', which starts the session again' if is_ended else ''}"
    if talk.turn is not None:
        return "enter steers the turn · tab queues" if can_steer else "enter queues: sent when the turn ends"
    if resumes:
        return f"enter sends · {resumes}"
    if is_ended:
        return "enter sends, and starts the session again"
    return "enter sends · alt+enter new line · / commands · @ files"
