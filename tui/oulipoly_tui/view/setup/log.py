"""What a set-up says, shows and asks leave for, as lines. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.setup.dialogs import (
    Answer,
    AnyDialog,
    AnyShown,
    Cancelled,
    CliChoice,
    CommandOutput,
    ConfigWritten,
    Confirmed,
    DetectionSummary,
    Skipped,
)
from oulipoly_engine.core.setup.dialogs import TestResult as Tested
from oulipoly_engine.core.setup.events import Agreement, Complete, Failure, Outcome, Progress, Status, Told
from oulipoly_engine.core.text.control_characters import visible_text
from oulipoly_tui.view.setup.dialogs import split_lines
from oulipoly_tui.view.transcript.spans import Line, Tone

if TYPE_CHECKING:
    from oulipoly_engine.facade.setup.agent import SetupEnd

_MOST_LINES = 200  # of one text; who wants all of it runs the command
_BEGINNINGS: tuple[tuple[str, Tone], ...] = (
    *(("+++", "heading"), ("---", "heading"), ("@@", "accent")),
    *(("+", "good"), ("-", "bad")),
)
_OUTCOMES: dict[Outcome, tuple[str, Tone]] = {
    Outcome.SUCCESS: ("✓ The set-up is complete", "good"),
    Outcome.DONE: ("✓ The set-up has ended", "good"),
    Outcome.CANCELLED: ("! The set-up was cancelled", "warn"),
    Outcome.AGENT_ERROR: ("✗ The set-up has failed", "bad"),
    Outcome.MAX_TURNS_EXCEEDED: ("! The set-up has used all its turns", "warn"),
    Outcome.FAILED_BOOTSTRAP: ("✗ The set-up could not begin", "bad"),
}


def wish_lines(wish: str, model: str, cli: str = "") -> tuple[Line, ...]:
    """Return what was asked for, and of whom. cli: the one that is set up alone."""
    wanted = wish or "find out what is there, and ask"
    return (
        (("wanted  ", "dim"), (wanted, "strong")),
        *(((("CLI     ", "dim"), (f"{cli} alone", "")),) if cli else ()),
        (("model   ", "dim"), (model or "the first that can serve", "")),
    )


def answered_lines(asked: AnyDialog, answer: Answer) -> tuple[Line, ...]:
    """Return that something was answered, as it stays in the log: never what was typed."""
    word: str
    tone: Tone
    match answer:
        case Skipped():
            word, tone = "- skipped  ", "dim"
        case Cancelled():
            word, tone = "✗ cancelled  ", "warn"
        case Confirmed():
            word, tone = ("✓ yes  ", "good") if answer.confirmed else ("✗ no   ", "warn")
        case _:
            word, tone = "✓ answered  ", "good"
    chosen = ", ".join(answer.selected) if isinstance(answer, CliChoice) else ""
    return (((word, tone), (asked.title, ""), (f"  {chosen}" if chosen else "", "dim")),)


def told_lines(event: Told) -> tuple[Line, ...]:
    """Return what is told; how it ended stands in `end_lines` alone."""
    match event:
        case Status():
            return _paragraph(event.message)
        case Progress():
            told = f"{event.message}  {event.detail}" if event.detail else event.message
            return ((), ((told, "heading"),))
        case Failure() if event.recoverable:
            return _paragraph(f"! {event.message}", "bad")
        case Complete() | Failure():
            return ()


def shown_lines(shown: AnyShown) -> tuple[Line, ...]:
    """Return a result."""
    match shown:
        case CommandOutput():
            ended = "it did not end" if shown.exit_code is None else f"exit code {shown.exit_code}"
            is_well = shown.exit_code == 0
            mark: Line = (("✓ ", "good"),) if is_well else (("✗ ", "bad"),)
            head: Line = (*mark, (shown.command, "strong"), (f"  {ended}", "dim" if is_well else "bad"))
            return (head, *_indented(shown.stdout), *_indented(shown.stderr, "warn"))
        case DetectionSummary():
            return ((("Found on this machine", "heading"),), *(((f"  {line}", ""),) for line in shown.lines))
        case ConfigWritten():
            head = (("✓ wrote ", "good"), (shown.path, "strong"), (f"  {shown.description}", "dim"))
            return (head, *_cut(tuple((("    ", ""), *line) for line in diff_lines(shown.diff))))
        case Tested():
            how: Line = ((" answered", "good"),) if shown.success else ((" gave no answer", "bad"),)
            mark = (("✓ ", "good"),) if shown.success else (("✗ ", "bad"),)
            return ((*mark, (shown.model_name, "strong"), *how), *_indented(shown.output))


def agreement_head(asked: Agreement) -> tuple[Line, ...]:
    """Return what stands above that for which leave is asked; our warning first, where no long reason pushes it out."""
    return (*_paragraph(f"! {asked.warning}" if asked.warning else "", "bad"), *_paragraph(asked.description))


def agreement_body(asked: Agreement) -> tuple[Line, ...]:
    """Return all of that for which leave is asked; what nobody would see is a sign: it would run all the same."""
    text = visible_text(asked.text)
    return diff_lines(text) if asked.is_diff else _paragraph(text, "strong")


def agreed_lines(asked: Agreement, *, is_agreed: bool) -> tuple[Line, ...]:
    """Return what was answered, as it stays in the log."""
    first = split_lines(asked.text)[0] if asked.text and not asked.is_diff else ""
    answer: Line = (("✓ yes  ", "good"),) if is_agreed else (("✗ no   ", "warn"),)
    return ((*answer, (asked.question, ""), (f"  {first}" if first else "", "dim")),)


def diff_lines(text: str) -> tuple[Line, ...]:
    """Return a unified diff."""
    return tuple(((line, _tone_of(line)),) for line in split_lines(text))


def end_lines(end: SetupEnd) -> tuple[Line, ...]:
    """Return how it ended."""
    text, tone = _OUTCOMES[end.outcome]
    turns = f"{end.turns} turn{'s' * (end.turns != 1)}"
    changes = [((f"  {change}", ""),) for change in end.changes]
    undo = (((("`:setup undo` takes back the last of them, then the one before", "dim")),),) if changes else ()
    return (
        (),
        ((text, tone), (f"  after {turns}", "dim")),
        *_paragraph(end.summary),
        *(((f"  ✓ {item}", ""),) for item in end.items),
        *((((("Changed", "heading")),), *changes) if changes else ()),
        *undo,
    )


def _tone_of(line: str) -> Tone:
    return next((tone for beginning, tone in _BEGINNINGS if line.startswith(beginning)), "")


def _paragraph(text: str, tone: Tone = "") -> tuple[Line, ...]:
    return tuple(((line, tone),) for line in split_lines(text))


def _indented(text: str, tone: Tone = "dim") -> tuple[Line, ...]:
    return _cut(tuple(((f"    {line}", tone),) for line in split_lines(text)))


def _cut(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    left_out = len(lines) - _MOST_LINES
    return lines if left_out <= 0 else (*lines[:_MOST_LINES], ((f"    … {left_out} lines more", "dim"),))
