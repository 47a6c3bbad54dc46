"""What a live session can begin with: pools, and runtimes with their models, each with how it stands. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.live.runtime_status import (
    Degraded,
    Disabled,
    MissingBinary,
    NeedsAuth,
    Ready,
    RuntimeSummary,
    UnsupportedVersion,
    describe_cause,
    describe_status,
    is_unchecked,
    list_usable,
)
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Row, Tone, cells, cut, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import PoolView

_NAME = 24  # columns, at most


class Start(Record):
    """What a session begins with: a pool, or a runtime with a model of its own, or with what is usual there."""

    pool: str = ""
    runtime: str = ""
    cli_model: str = ""

    @property
    def key(self) -> str:
        """Return what tells two apart."""
        return f"pool\n{self.pool}" if self.pool else f"runtime\n{self.runtime}\n{self.cli_model}"

    @property
    def name(self) -> str:
        """Return what it is called."""
        return self.pool or " · ".join(filter(None, (self.runtime, self.cli_model)))


def read_start(key: str) -> Start:
    """Return what a row's key stands for."""
    kind, name, *model = key.split("\n")
    return Start(pool=name) if kind == "pool" else Start(runtime=name, cli_model=model[0] if model else "")


def picker_rows(pools: Sequence[PoolView], runtimes: Sequence[RuntimeSummary], width: int) -> tuple[Row, ...]:
    """Return the rows: the pools, then each runtime with its models below it."""
    ids = max((cells(visible_line(one.runtime.id)) for one in runtimes), default=0)
    column = min(_NAME, ids)  # of the runtimes' names: what is wrong with them needs the room
    return (*_pool_rows(pools), *(row for one in runtimes for row in _runtime_rows(one, column, width)))


def _pool_rows(pools: Sequence[PoolView]) -> Iterator[Row]:
    yield Row("pools", (("pools", "heading"), ("  the account is chosen by what is left of it", "dim")), False)
    for one in pools:
        name = visible_line(one.model.name)
        told: tuple[str, Tone] = (f"→ {one.next_account}", "") if one.next_account else ("nobody can serve now", "bad")
        yield Row(Start(pool=one.model.name).key, (("  ", ""), (fit_text(name, _NAME), ""), (f" {told[0]}", told[1])))


def _runtime_rows(one: RuntimeSummary, column: int, width: int) -> Iterator[Row]:
    status, cause = describe_status(one.status), visible_line(describe_cause(one.status))
    tone: Tone = "good" if isinstance(one.status, Ready) else "warn" if one in list_usable((one,)) else "bad"
    told = f"  {cause}" if cause else ""
    if is_unchecked(one.status):
        told = " · R checks"
    said = cut(told, max(0, width - column - len(status) - 4))
    name = fit_text(visible_line(one.runtime.id), column)
    yield Row(Start(runtime=one.runtime.id).key, ((name, "strong"), (f"  {status}", tone), (said, "dim")))
    for model in one.models:
        marks = " default" if model.is_default else ""
        said = cut(f"  {visible_line(model.description)}", max(0, width - _NAME - 12))
        label = fit_text(visible_line(model.name or model.id), _NAME)
        yield Row(
            Start(runtime=one.runtime.id, cli_model=model.id).key,
            (("  ", ""), (label, ""), (marks, "accent"), (said, "dim")),
        )


def reason_against(one: RuntimeSummary) -> str | None:
    """Say why no session begins on a runtime, and how that is mended; None: one can."""
    return None if one in list_usable((one,)) else f"{one.runtime.id}: {describe_status(one.status)}. {mend(one)}"


def describe(one: RuntimeSummary) -> str:
    """Return all that is wrong with a runtime, and what makes it ready or tells more; empty: nothing is."""
    cause = visible_line(describe_cause(one.status))
    return ". ".join(filter(None, (f"{describe_status(one.status)}: {cause}" if cause else "", mend(one))))


def mend(one: RuntimeSummary) -> str:
    """Return what makes a runtime ready, or tells more of it; empty: it is ready."""
    match one.status:
        case Ready():
            return ""
        case NeedsAuth():
            return f"`agents runtime login {one.runtime.id}` logs in"
        case MissingBinary():
            return f"install {one.runtime.program}, or correct {one.runtime.named_in}"
        case UnsupportedVersion():
            return f"update {one.runtime.program}"
        case Disabled():
            return f"`enabled = true` in [runtimes.{one.runtime.id}] of config.toml lets it work"
        case Degraded():
            return "R checks it"
        case _:
            return "R asks it again"
