"""What a session has done, run by run: thoughts, tools, plan, tokens. Pure (contract of worktree sessions, B8)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.records import Record

RunStatus = Literal["running", "waiting_approval", "success", "error", "timeout"]
ToolLabel = Literal["read", "list", "search", "exec"]
STEP_STATUSES = ("pending", "in_progress", "completed")

_READ = frozenset(("cat", "head", "tail", "less", "more", "nl", "bat", "batcat"))
_LIST = frozenset(("ls", "tree", "fd", "eza", "dir"))
_SEARCH = frozenset(("grep", "egrep", "fgrep", "rg", "ag", "ack"))
_FIND_TESTS = frozenset(("-name", "-iname", "-path", "-regex"))
_SED_ACTS = ("-i", "--in-place")
_JOINTS = frozenset((";", "&&", "||", "&", "|", "|&", "\n"))
_BOLD_LINE = re.compile(r"\s*\*\*(.+?)\*\*[ \t]*(?:\n+|$)")
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


def build_trace(events: Iterable[ev.Numbered]) -> tuple[RunTrace, ...]:
    """Return the runs of a session, oldest first, from its events in their order; others belong to none."""
    runs: dict[str, _Run] = {}
    for numbered in events:
        run_id = getattr(numbered.event, "turn_id", "")
        if run_id:
            run = runs.setdefault(run_id, _Run(run_id))
            run.take(numbered.event, _milliseconds(numbered.at))
    return tuple(run.trace() for run in runs.values())


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

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._status: RunStatus = "running"
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
        self._tools[item.id] = ToolRow(item.id, label, item.title, more, item.status, item.exit_code, duration_ms)

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
