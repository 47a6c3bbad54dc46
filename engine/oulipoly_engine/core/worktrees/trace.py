"""What a session has done, run by run: thoughts, tools, plan, tokens. Pure (contract of worktree sessions, B8)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.text.redact import redact, redact_beginning
from oulipoly_engine.core.transcripts.claude import INTERRUPTED
from oulipoly_engine.core.transcripts.dialogue import Entry, Kind, Part
from oulipoly_engine.core.transcripts.turn_script import EntryRefused, instant
from oulipoly_engine.records import Record, replace

RunStatus = Literal["running", "waiting_approval", "success", "error", "timeout", "unknown"]
ToolLabel = Literal["read", "list", "search", "exec"]
STEP_STATUSES = ("pending", "in_progress", "completed")

_READ = frozenset(("cat", "head", "tail", "less", "more", "nl", "bat", "batcat"))
_LIST = frozenset(("ls", "tree", "fd", "eza", "dir"))
_SEARCH = frozenset(("grep", "egrep", "fgrep", "rg", "ag", "ack"))
_FIND_TESTS = frozenset(("-name", "-iname", "-path", "-regex"))
_SED_ACTS = ("-i", "--in-place")
_JOINTS = frozenset((";", "&&", "||", "&", "|", "|&", "\n"))
_BOLD_LINE = re.compile(r"\s*\*\*(.+?)\*\*[ \t]*(?:\n+|$)")
_LONGEST_COMMAND = 100_000  # characters: taking a shell's line apart costs a microsecond each
_BREAK = re.compile(r"\n\s*\n(?=\*\*[^\n]+?\*\*[ \t]*(?:\n|$))")


class Section(Record):
    """One section of an agent's thoughts."""

    text: str
    title: str = ""  # its first line, where that is bold; then it is no part of the text


class ToolRow(Record):
    """One command."""

    call_id: str
    label: ToolLabel  # by its first command
    command: str
    more: str = ""  # `+2 cmds`: how many stand behind the first one
    status: str = "running"  # of its item
    exit_code: int | None = None
    duration_ms: int | None = None  # None: it runs


class PlanSnapshot(Record):
    """The plan as it was told last."""

    steps: tuple[tuple[str, str], ...]  # text, and one of `STEP_STATUSES`
    updated_at: int  # milliseconds since 1970
    explanation: str = ""


class RunTrace(Record):
    """One run: a turn."""

    run_id: str
    status: RunStatus = "running"
    sections: tuple[Section, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    plan: PlanSnapshot | None = None
    usage: ev.Usage | None = None
    message: str = ""  # why it failed


def build_trace(events: Iterable[ev.Numbered], unended: RunStatus = "running") -> tuple[RunTrace, ...]:
    """Return the runs of a session, oldest first, from its events in their order; others belong to none.

    unended: what is said of a run, or a command, whose end no event tells.
    """
    runs: dict[str, _Run] = {}
    for numbered in events:
        run_id = getattr(numbered.event, "turn_id", "")
        if run_id:
            run = runs.setdefault(run_id, _Run(run_id, unended))
            run.take(numbered.event, _milliseconds(numbered.at))
    return tuple(run.trace() for run in runs.values())


def trace_entries(entries: Iterable[Entry]) -> tuple[RunTrace, ...]:
    """Return the runs of a session of which its transcript alone tells, without their secrets.

    A run is what follows a person's message, and has its id. How it has ended no transcript says, nor what became of a
    command without a result: both are `unknown`.
    """
    return build_trace(_make_events(entries), "unknown")


def _make_events(entries: Iterable[Entry]) -> Iterator[ev.Numbered]:
    """Yield events of what entries hold for a trace. A result belongs to the run of its call."""
    run_id = ""
    calls: dict[str, ev.ItemStarted] = {}
    for entry in entries:
        if entry.is_sidechain:
            continue
        try:
            at = instant(entry.at)
        except EntryRefused:
            continue
        said = [part for part in entry.parts if part.kind is Kind.TEXT and not part.text.startswith(INTERRUPTED)]
        if said and entry.role == "user":
            run_id = entry.entry_id or f"line {entry.line}"
            yield ev.Numbered(entry.line, at, ev.TurnStarted(turn_id=run_id))
        for part in entry.parts:
            event = _make_event(part, run_id, calls.get(part.call_id))
            if event is not None:
                yield ev.Numbered(entry.line, at, event)
            if isinstance(event, ev.ItemStarted):
                calls[part.call_id] = event


def _make_event(part: Part, run_id: str, call: ev.ItemStarted | None) -> ev.ItemStarted | ev.ItemEnded | None:
    match part.kind:
        case Kind.THINKING:
            return ev.ItemEnded(ev.Item("", "reasoning", text=redact(part.text)), run_id)
        case Kind.CALL if part.command:
            command = redact_beginning(part.command, _LONGEST_COMMAND)
            return ev.ItemStarted(ev.Item(part.call_id, "command", title=command), run_id)
        case Kind.RESULT if call is not None:
            has_failed = part.is_error or bool(part.exit_code)
            ended = replace(call.item, status="failed" if has_failed else "completed", exit_code=part.exit_code)
            return ev.ItemEnded(ended, call.turn_id)
        case _:
            return None


def run_lines(run: RunTrace) -> Iterator[str]:
    """Yield a run as text: its id, its thoughts, its commands."""
    yield run.run_id
    for section in run.sections:
        yield f"  thought: {section.title or section.text}"
    for row in run.tools:
        code = "" if row.exit_code is None else f", exit code {row.exit_code}"
        yield f"  {row.command} ({row.status}{code})"


def check_plan(steps: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the steps of a plan; none where one of them is empty or has a state that is not known."""
    told = tuple((text.strip(), status) for text, status in steps)
    return told if all(text and status in STEP_STATUSES for text, status in told) else ()


def split_sections(text: str) -> tuple[Section, ...]:
    """Split thoughts before each line that is bold as a whole; such a line is a section's title."""
    sections = []
    for part in _BREAK.split(text):
        match = _BOLD_LINE.match(part)
        title, rest = (match[1].strip(), part[match.end() :]) if match else ("", part)
        if title or rest.strip():
            sections.append(Section(rest.strip(), title))
    return tuple(sections)


def label_command(command: str) -> tuple[ToolLabel, int]:
    """Return what the first command of a shell's line does, and how many others stand behind it."""
    commands = _split_commands(command)
    return (_label(commands[0]), len(commands) - 1) if commands else ("exec", 0)


class _Run:
    """One run while it is put together."""

    def __init__(self, run_id: str, unended: RunStatus) -> None:
        self._run_id = run_id
        self._unended = unended
        self._status = unended
        self._sections: list[Section] = []
        self._tools: dict[str, ToolRow] = {}
        self._began: dict[str, int] = {}
        self._plan: PlanSnapshot | None = None
        self._usage: ev.Usage | None = None
        self._message = ""

    def take(self, event: ev.AnyEvent, at: int) -> None:
        """Take an event; whatever comes after a question shows that the run goes on."""
        if self._status == "waiting_approval":
            self._status = "running"
        match event:
            case ev.RequestOpened():
                self._status = "waiting_approval"
            case ev.TurnEnded():
                self._status, self._message = _end_status(event), event.message
                self._usage = event.usage or self._usage
            case ev.UsageUpdated():
                self._usage = event.usage
            case ev.ItemStarted(item=ev.Item(kind="command") as item):
                self._began[item.id] = at
                self._take_command(item, None)
            case ev.ItemEnded(item=ev.Item(kind="command") as item):
                began = self._began.get(item.id)
                self._take_command(item, None if began is None else at - began)
            case ev.ItemEnded(item=ev.Item(kind="reasoning") as item):
                self._sections += split_sections(item.text)
            case ev.ItemEnded(item=ev.Item(kind="plan") as item):
                steps = check_plan(item.steps)
                if steps:
                    self._plan = PlanSnapshot(steps, at, item.text)
            case _:
                pass

    def _take_command(self, item: ev.Item, duration_ms: int | None) -> None:
        label, others = label_command(item.title)
        more = f"+{others} cmd{'s' if others > 1 else ''}" if others else ""
        status = self._unended if item.status == "running" else item.status
        self._tools[item.id] = ToolRow(item.id, label, item.title, more, status, item.exit_code, duration_ms)

    def trace(self) -> RunTrace:
        """Return the run as it is."""
        tools = tuple(self._tools.values())
        return RunTrace(
            self._run_id, self._status, tuple(self._sections), tools, self._plan, self._usage, self._message
        )


def _end_status(event: ev.TurnEnded) -> RunStatus:
    if event.status == "completed":
        return "success"
    return "timeout" if event.code == "timed_out" else "error"


def _split_commands(command: str) -> list[list[str]]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|\n")
    lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " \t\r", ""
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in _JOINTS:
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:  # a quote that is not closed
        return [command.split()] if command.split() else []
    return [words for words in commands if words]


def _label(words: Sequence[str]) -> ToolLabel:
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name in _READ or (name == "sed" and "-n" in rest and not any(word.startswith(_SED_ACTS) for word in rest)):
        return "read"
    if name in _SEARCH or (name == "git" and rest[:1] == ["grep"]):
        return "search"
    if name == "find":
        return "search" if _FIND_TESTS.intersection(rest) else "list"
    return "list" if name in _LIST else "exec"


def _milliseconds(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)
