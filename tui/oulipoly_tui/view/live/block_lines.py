"""Blocks of a conversation as lines: what was said, what tools did folded to what matters first. Pure.

Texts come from outside and are hostile: they are only ever shown, sign by sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live.events import RESUMES, Item
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.quantities import moment
from oulipoly_tui.view.live.blocks import BODY, Block
from oulipoly_tui.view.live.diff_lines import change_lines, summary
from oulipoly_tui.view.live.stream import StreamLines
from oulipoly_tui.view.transcript.markdown import bar, flow, markdown, printable, typed
from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cells, cut, wrap_lines
from oulipoly_tui.view.transcript.transcript import TranscriptLine

_INDENT, _INNER = "  ", "    "
_OUTPUT, _DIFF = 3, 12  # lines that are seen of what is folded
_MESSAGES = ("user_message", "agent_message")
_FOLDED = ("reasoning", "command", "file_change", "tool", "compaction", "review", "other")
_NAMES = {"reasoning": "thinking", "compaction": "compacted here", "review": "review"}
_STEPS = {"completed": ("[x] ", "good"), "in_progress": ("[>] ", "accent")}
_STATES = {"running": "running", "failed": "failed", "declined": "declined", "interrupted": "interrupted"}
_WAITS = "WAITS FOR YOU"


def is_foldable(block: Block) -> bool:
    """Tell whether a block can be folded."""
    return block.item is not None and block.item.kind in _FOLDED


def stream_lines(block: Block, width: int) -> StreamLines:
    """Return what lays out the text of a block as it grows."""
    width = max(12, width)
    if block.item is None or block.item.kind == "agent_message":
        return StreamLines(width, _INDENT)
    if block.item.kind == "user_message":
        return StreamLines(width, _INDENT, form="typed")
    return StreamLines(width, _INNER, form="bar")


def block_lines(
    block: Block, width: int, *, is_open: bool, stream: StreamLines | None = None
) -> Sequence[TranscriptLine]:
    """Return the lines of a block. stream: what is laid out already of its text, whose own list is returned then."""
    width = max(12, width)
    item = block.item
    if item is None:
        return tuple(TranscriptLine(line) for line in _note(block, width))
    if item.kind == "plan":
        return tuple(TranscriptLine(line) for line in _plan(block, item, width))
    if item.kind in _MESSAGES:
        head = tuple(_message_head(block, item, width))
        if item.untaken:
            return (*head, *_untaken(block, width))
        if block.is_running or block.is_long:
            return (stream or stream_lines(block, width)).lines(block, head)
        return (*head, *_message(block, item, width))
    lines = (_head(block, item, width, is_open=is_open), *_body(block, item, width, is_open=is_open))
    head = tuple(TranscriptLine(line, BODY) for line in lines)
    if is_open and item.kind != "file_change":
        return (stream or stream_lines(block, width)).lines(block, head)
    return head


def _note(block: Block, width: int) -> Iterator[Line]:
    text = printable(plain(block.text))
    yield from flow([(text, block.tone)], width, _INDENT, _INDENT + "  ")


def _name_speaker(item: Item) -> Span:
    if item.kind != "user_message":
        return ("▌ assistant", "accent")
    return ("▌ agent-runner", "dim") if item.native_kind == RESUMES else ("▌ you", "good")


def _message_head(block: Block, item: Item, width: int) -> Iterator[TranscriptLine]:
    is_user = item.kind == "user_message"
    yield TranscriptLine(())
    if is_user or block.has_heading:
        name = _name_speaker(item)
        when = f"  {_moment(block.at)}" + (f"  {item.untaken}" if item.untaken else "")
        yield TranscriptLine((name, (cut(when, width - len(name[0])), "dim")))


def _untaken(block: Block, width: int) -> Iterator[TranscriptLine]:
    """Yield what the turn has not taken, in grey: the agent has not read it."""
    for line in typed(block.text.strip("\n"), width - len(_INDENT)):
        yield TranscriptLine(((_INDENT, ""), *((text, "dim") for text, _tone in line)), BODY)


def _message(block: Block, item: Item, width: int) -> Iterator[TranscriptLine]:
    text = block.text.strip("\n")
    if item.kind == "user_message":
        yield from (TranscriptLine(((_INDENT, ""), *line), BODY) for line in typed(text, width - len(_INDENT)))
        return
    for written in markdown(text, width - len(_INDENT)):
        yield TranscriptLine(((_INDENT, ""), *written.line), BODY, written.block)


def _plan(block: Block, item: Item, width: int) -> Iterator[Line]:
    if block.is_outdated:
        done = sum(state == "completed" for _, state in item.steps)
        yield ((_INDENT, ""), (cut(f"plan  {done} of {len(item.steps)} done", width - len(_INDENT)), "dim"))
        return
    yield ((_INDENT, ""), ("plan", "strong"), (f"  {_state(block, item)}".rstrip(), "dim"))
    for text, state in item.steps:
        mark, tone = _STEPS.get(state, ("[ ] ", ""))
        own: Tone = "dim" if state == "completed" else ""
        yield from flow([(printable(plain(text)), own)], width, _INNER + mark, " " * len(_INNER + mark), tone)  # type: ignore[arg-type]
    if not item.steps and block.text:
        yield from ((("    ", ""), *one.line) for one in markdown(block.text, width - len(_INNER)))


def _head(block: Block, item: Item, width: int, *, is_open: bool) -> Line:
    mark = _INDENT + ("▾ " if is_open else "▸ ")
    state = _state(block, item)
    name, told = _words(block, item)
    tone: Tone = "bad" if item.status == "failed" or item.exit_code else "dim"
    if state == _WAITS:
        tone = "warn"
    name_tone: Tone = "dim" if item.kind == "reasoning" else "strong"
    end = f"  {state}" if state else ""
    name = cut(name, max(1, width - cells(mark + end)))
    room = width - cells(mark + name + end) - 2
    shown = cut(told, max(0, room)) if told else ""
    between = " " if item.kind == "command" else "  "
    return ((mark, "dim"), (name, name_tone), (f"{between}{shown}" if shown else "", ""), (end, tone))


def _words(block: Block, item: Item) -> tuple[str, str]:
    """Return what a piece is, and what it is about, each in a line."""
    title = plain(" ".join(item.title[:400].split()))
    if item.kind == "command":
        return "$", title
    if item.kind == "file_change":
        return "edit", summary(item.changes) or title
    if item.kind == "reasoning":
        first = title or plain(" ".join(block.tail()[-200:].split()) if block.is_running else _first_words(block))
        return _NAMES["reasoning"], first
    if item.kind in _NAMES:
        return _NAMES[item.kind], title
    return plain(item.native_kind or item.kind), title


def _first_words(block: Block) -> str:
    return " ".join(block.text[:400].split())


def _state(block: Block, item: Item) -> str:
    if block.is_running and block.waits_for_answer:
        return _WAITS
    if item.exit_code:
        return f"exit {item.exit_code}"
    return _STATES.get(item.status, "")


def _body(block: Block, item: Item, width: int, *, is_open: bool) -> Iterator[Line]:
    """Yield what stands below the head: of an unfolded text, what stands above it."""
    if item.kind == "file_change":
        lines = wrap_lines(change_lines(item.changes, width - len(_INNER)), width - len(_INNER))
        yield from _some(iter(lines), None if is_open else _DIFF)
        return
    if is_open:
        if item.kind == "command" and ("\n" in item.title or len(item.title) > width - _OUTPUT):
            yield from (((_INNER, ""), *line) for line in bar(item.title, width - len(_INNER), "dim", "key"))
        if item.cwd:
            yield ((_INNER, ""), (cut(f"in {plain(item.cwd)}", width - len(_INNER)), "dim"))
    elif item.kind == "command" or item.status == "failed":
        yield from _tail(block, width)


def _tail(block: Block, width: int) -> Iterator[Line]:
    """Yield the last lines of an output, and how many there are before them."""
    text = block.tail()
    if not text.strip("\n"):
        return
    shown = text.strip("\n").split("\n")[-_OUTPUT:]
    more = block.newlines + (not text.endswith("\n")) - len(shown)
    if more > 0:
        yield ((_INNER, ""), (f"… {more:,} more line{'s' * (more != 1)}", "dim"))
    yield from (((_INNER, ""), ("│ ", "dim"), (cut(printable(line), width - 6), "dim")) for line in shown)


def _some(lines: Iterator[Line], most: int | None) -> Iterator[Line]:
    if most is None:
        yield from (((_INNER, ""), *line) for line in lines)
        return
    yield from (((_INNER, ""), *line) for line in islice(lines, most))
    left = sum(1 for _ in lines)
    if left:
        yield ((_INNER, ""), (f"… {left:,} more line{'s' * (left != 1)}", "dim"))


def _moment(at: str) -> str:
    try:
        return moment(from_text(at))
    except (ValueError, OverflowError):
        return plain(at[:30])
