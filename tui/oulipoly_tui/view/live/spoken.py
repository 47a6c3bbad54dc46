"""What happens in a live session as sentences, for who listens instead of looking. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.events import RESUMES, Item, Prompt
from oulipoly_engine.core.live.requests import describe_end
from oulipoly_engine.core.live.retry import describe_retry
from oulipoly_engine.core.text.control_characters import visible_line, visible_text
from oulipoly_tui.view.live.diff_lines import summary
from oulipoly_tui.view.live.request_lines import KINDS

_STATES = {"completed": "Done", "in_progress": "Under way"}


def spoken(event: ev.AnyEvent) -> Iterator[str]:
    """Yield what is said of an event; nothing of most."""
    match event:
        case ev.ItemEnded():
            yield from _item(event.item)
        case ev.TurnEnded():
            cause = f" {visible_line(event.message)}." if event.message else ""
            yield f"Turn {event.status}.{cause}"
        case ev.TurnRetrying():
            yield f"{describe_retry(event)}."
        case ev.RequestResolved():
            yield f"The request is {describe_end(event.status, event.decision)}."
        case ev.SessionFailed() | ev.SessionClosed():
            yield f"Its process has ended. {visible_line(event.message or event.reason)}."
        case ev.ControlChanged():
            yield f"{visible_line(ev.describe_control(event))}."
        case ev.Notice():
            yield f"Note. {visible_line(event.text)}"
        case ev.OrderFailed():
            yield f"Refused. {visible_line(event.order)}: {visible_line(event.message)}"
        case _:
            return


def spoken_request(kind: str, prompt: Prompt) -> Iterator[str]:
    """Yield all that is asked."""
    yield f"It wants to {KINDS.get(kind, 'ask something')}. {visible_line(prompt.title)}"
    if prompt.command:
        yield f"Command: {visible_text(prompt.command)}"
    if prompt.cwd:
        yield f"In {visible_line(prompt.cwd)}."
    if prompt.reason:
        yield f"Reason: {visible_text(prompt.reason)}"
    for change in prompt.changes:
        yield f"File {visible_line(change.path)}, {visible_line(change.kind)}."
        if change.diff:
            yield f"Difference: {visible_text(change.diff).rstrip()}"
    if prompt.reach:
        yield f"For the session covers: {visible_line(prompt.reach)}"
    if prompt.note:
        yield visible_line(prompt.note)


def _item(item: Item) -> Iterator[str]:
    text, title = visible_text(item.text.strip()), visible_line(item.title)
    count = text.count("\n") + 1 if text else 0
    lines = f" {count:,} line{'s' * (count != 1)} of output." if count else ""
    state = f" {item.status.capitalize()}." if item.status not in ("completed", "running") else ""
    match item.kind:
        case "user_message":
            speaker = "agent-runner" if item.native_kind == RESUMES else "You"
            yield f"{speaker}, {item.untaken}: {text}" if item.untaken else f"{speaker}: {text}"
        case "agent_message":
            yield f"Assistant: {text}"
        case "command":
            code = "" if item.exit_code is None else f" Exit code {item.exit_code}."
            yield f"Command: {title}.{code}{state}{lines}"
        case "file_change":
            yield f"Files changed: {summary(item.changes) or title}.{state}"
        case "plan":
            steps = (f"{_STATES.get(how, 'Open')}: {visible_line(step)}." for step, how in item.steps)
            yield " ".join(("Plan.", *steps)) if item.steps else f"Plan: {text}"
        case "reasoning":
            return
        case _:
            yield f"{visible_line(item.native_kind or item.kind).capitalize()}: {title or 'no title'}.{state}{lines}"
