"""What is said at the end of a turn, and how its figures are written. Pure."""

from __future__ import annotations

from datetime import timedelta

from oulipoly_engine.core.live.events import TurnEnded, Usage
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import Tone

_MANY, _MANY_MORE = 10_000, 1_000_000


def turn_end_note(event: TurnEnded, seconds: float | None) -> tuple[str, Tone]:
    """Return what is said of a turn that is over, and how it is shown."""
    figures = [text for text in (duration(seconds), *usage_figures(event.usage)) if text]
    told = f" · {' · '.join(figures)}" if figures else ""
    if event.status == "failed":
        code = f" ({event.code})" if event.code else ""
        return f"✗ the turn failed: {event.message or 'the CLI does not say why'}{code}{told}", "bad"
    if event.status == "interrupted":
        return f"■ interrupted{f': {event.message}' if event.message else ''}{told}", "warn"
    return f"✓ done{told}", "dim"


def usage_figures(usage: Usage | None) -> tuple[str, ...]:
    """Return the figures of a turn: tokens and cost, as far as they are known."""
    if usage is None:
        return ()
    tokens = [f"{count(value)} {name}" for value, name in ((usage.input, "in"), (usage.output, "out")) if value]
    return (*((" ".join((*tokens, "tokens")),) if tokens else ()), *((cost(usage.cost_usd),) if usage.cost_usd else ()))


def duration(seconds: float | None) -> str:
    """Return a duration: `12 s`, `3 m 20 s`; empty where it is not known."""
    if seconds is None:
        return ""
    whole = int(seconds)
    if whole < 60:  # noqa: PLR2004, RUF100 - seconds of a minute
        return f"{whole} s"
    return f"{whole // 60} m {whole % 60} s" if whole < 3600 else words.duration(timedelta(seconds=whole))  # noqa: PLR2004, RUF100 - of an hour


def cost(dollars: float) -> str:
    """Return a cost."""
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.4f}"  # noqa: PLR2004, RUF100 - a cent


def count(number: int) -> str:
    """Return a count of tokens: `950`, `12k`, `1.2M`."""
    if number >= _MANY_MORE:
        return f"{number / 1_000_000:.1f}M"
    return f"{number / 1000:.0f}k" if number >= _MANY else f"{number:,}"
