"""How a window burns, drawn in braille dots: what was used, the even pace, what is expected, and each reset. Pure.

A canvas of our own: it draws bands and dashes, which the plotting widgets do not, in a tenth of their time. Every line
has a look of its own, so that none is told by colour alone: what was used is solid, the even pace dotted, the forecast
dashed inside a shaded band, resets are dotted uprights with a word of what they left unused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from oulipoly_tui.view.spans import Line, Span, Tone

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by dot row and column of one braille cell
_BLANK = 0x2800
_AXIS = 6  # columns of the scale at the left
_LEAST_WIDTH, _LEAST_HEIGHT = _AXIS + 10, 4
_BAND, _RESET, _NOW = "░", "┊", "│"
_TICK_CELLS = 16  # at least so many columns from one time to the next

Point = tuple[datetime, float]  # (aware instant, used 0..1)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is expected from now on: straight lines from the present use."""

    begin: Point
    end: datetime  # the reset, or where 100 % is reached
    used: float  # expected there, 0..1
    low: float
    high: float
    is_dry: bool = False  # reaches 100 % before the reset


@dataclass(frozen=True, slots=True)
class Burn:
    """One window over a range of time."""

    since: datetime
    until: datetime
    now: datetime
    cycles: tuple[tuple[Point, ...], ...] = ()  # readings, a tuple a cycle, oldest first
    even: tuple[tuple[datetime, datetime], ...] = ()  # (begin, reset) of the cycles whose even pace is drawn
    resets: tuple[datetime, ...] = ()
    unused: tuple[Point, ...] = ()  # what resets threw away, where that is known
    ahead: Ahead | None = None
    reserve: float = 0.0  # 0..1 that is kept unspent


class _Layer:
    """Dots of one meaning."""

    def __init__(self, tone: Tone, width: int, height: int) -> None:
        self.tone = tone
        self.cells = [bytearray(width) for _ in range(height)]

    def dot(self, x: int, y: int) -> None:
        self.cells[y >> 2][x >> 1] |= _DOTS[y & 3][x & 1]


class _Plot:
    """Turns instants and shares into dots."""

    def __init__(self, burn: Burn, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._bottom = 4 * height - 1
        self._begin = burn.since.timestamp()
        self._length = max(1.0, burn.until.timestamp() - self._begin)

    def x(self, at: datetime) -> float:
        return (at.timestamp() - self._begin) / self._length * (2 * self.width - 1)

    def y(self, used: float) -> int:
        return self._bottom if used <= 0 else 0 if used >= 1 else round((1 - used) * self._bottom)

    def column(self, at: datetime) -> int | None:
        x = round(self.x(at))
        return x >> 1 if 0 <= x < 2 * self.width else None

    def trace(self, layer: _Layer, points: Sequence[Point], gap: Callable[[int], bool] | None = None) -> None:
        """Draw straight lines through points, which may begin and end outside; `gap` leaves columns out."""
        placed = [(self.x(at), used) for at, used in points]
        edge = 2 * self.width - 1
        if len(placed) == 1 and 0 <= placed[0][0] <= edge:
            layer.dot(round(placed[0][0]), self.y(placed[0][1]))
        for (x0, used0), (x1, used1) in pairwise(placed):
            first, last = max(0, round(x0)), min(edge, round(x1))
            slope = (used1 - used0) / (x1 - x0) if x1 > x0 else 0.0
            before = self.y(used0) if x1 - x0 < 1 and first <= last else None
            for x in range(first, last + 1):
                y = self.y(used1 if x >= x1 else used0 + slope * (x - x0) if x > x0 else used0)
                if gap is None:
                    low, high = (y, y) if before is None else (before, y) if before < y else (y, before)
                    for between in range(low, high + 1):
                        layer.dot(x, between)
                elif not gap(x):
                    layer.dot(x, y)
                before = y


def burn_chart(burn: Burn, width: int, height: int) -> tuple[Line, ...]:
    """Return the chart as `height` lines of `width` columns, a scale at its left and times below.

    Below 16 columns or 4 lines there is no room for one: empty.
    """
    if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return ()
    plot = _Plot(burn, width - _AXIS, height - 1)
    layers = _layers(burn, plot)
    shaded = _shaded(burn, plot)
    uprights = _uprights(burn, plot)
    said = _words(burn, plot, uprights, layers[0])
    lines = [
        (_scale(row, plot.height), *_row(row, plot.width, layers, shaded[row], uprights | said.get(row, {})))
        for row in range(plot.height)
    ]
    return (*lines, _times(burn, plot))


def _layers(burn: Burn, plot: _Plot) -> tuple[_Layer, ...]:
    """Return the layers, the most important first: where two share a cell, the first one's tone is shown."""
    size = plot.width, plot.height
    used, expected, even, kept = (_Layer(tone, *size) for tone in ("accent", "warn", "dim", "bad"))
    for cycle in burn.cycles:
        plot.trace(used, cycle)
    for begin, reset in burn.even:
        plot.trace(even, ((begin, 0.0), (reset, 1.0)), gap=lambda x: x % 4 != 0)
    if burn.ahead is not None:
        if burn.ahead.is_dry:
            expected.tone = "bad"
        line = (burn.ahead.begin, (burn.ahead.end, burn.ahead.used))
        plot.trace(expected, line, gap=lambda x: x % 6 >= 4)
    if burn.reserve > 0:
        edge = 1 - burn.reserve
        plot.trace(kept, ((burn.since, edge), (burn.until, edge)), gap=lambda x: x % 8 >= 2)
    return used, expected, even, kept


def _shaded(burn: Burn, plot: _Plot) -> list[set[int]]:
    """Return, for each row of cells, the columns inside the forecast's band."""
    rows: list[set[int]] = [set() for _ in range(plot.height)]
    ahead = burn.ahead
    if ahead is None:
        return rows
    x0, x1 = plot.x(ahead.begin[0]), plot.x(ahead.end)
    for column in range(max(0, round(x0) >> 1), min(plot.width - 1, round(x1) >> 1) + 1):
        share = 1.0 if x1 <= x0 else min(1.0, max(0.0, (2 * column + 0.5 - x0) / (x1 - x0)))
        top = plot.y(ahead.begin[1] + share * (ahead.high - ahead.begin[1])) >> 2
        bottom = plot.y(ahead.begin[1] + share * (ahead.low - ahead.begin[1])) >> 2
        for row in range(top, bottom + 1):
            rows[row].add(column)
    return rows


def _uprights(burn: Burn, plot: _Plot) -> dict[int, Span]:
    found: dict[int, Span] = {}
    for reset in burn.resets:
        if (column := plot.column(reset)) is not None:
            found[column] = (_RESET, "dim")
    if (column := plot.column(burn.now)) is not None and burn.now < burn.until:
        found[column] = (_NOW, "dim")
    return found


def _words(burn: Burn, plot: _Plot, uprights: dict[int, Span], used: _Layer) -> dict[int, dict[int, Span]]:
    """Return a word beside each reset that left something, where it hides nothing; the newest is placed first."""
    found: dict[int, dict[int, Span]] = {}
    for at, share in sorted(burn.unused, reverse=True):
        column = plot.column(at)
        if column is None or round(100 * share) < 1:
            continue
        for row, text, begin in _places(column, f"{100 * share:.0f} %", plot):
            cells = range(begin - 1, begin + len(text) + 1)
            taken = found.setdefault(row, {})
            is_free = all(cell == column or cell not in uprights for cell in cells) and not any(
                cell in taken or (0 <= cell < plot.width and used.cells[row][cell]) for cell in cells
            )
            if is_free and begin >= 0 and begin + len(text) <= plot.width:
                taken |= {begin + place: (letter, "warn") for place, letter in enumerate(text)}
                break
    return found


def _places(column: int, amount: str, plot: _Plot) -> Iterator[tuple[int, str, int]]:
    """Yield (row, text, first column) in the order in which they are tried: before the reset, where the gap is."""
    for text in (f"{amount} unused", amount):
        for row in range(min(2, plot.height)):
            yield row, text, column - len(text)
            yield row, text, column + 1


def _row(
    row: int, width: int, layers: Sequence[_Layer], shaded: set[int], uprights: dict[int, Span]
) -> tuple[Span, ...]:
    """Return a row of cells; only the columns where something stands are looked at one by one."""
    masks = [layer.cells[row] for layer in layers]
    merged = 0
    for mask in masks:
        merged |= int.from_bytes(mask)
    dots = merged.to_bytes(width)
    filled = {column for column, bits in enumerate(dots) if bits} if merged else set()
    spans: list[Span] = []
    end = 0
    for column in sorted(filled.union(uprights, shaded)):
        if column > end:
            spans.append((" " * (column - end), ""))
        end = column + 1
        mark = uprights.get(column)
        if dots[column] and (mark is None or mark[0] in (_RESET, _NOW)):
            tone = next(layer.tone for layer, mask in zip(layers, masks, strict=True) if mask[column])
            cell: Span = (chr(_BLANK + dots[column]), tone)
        elif mark is not None:
            cell = mark  # an upright where there are no dots; a letter lies over them
        else:
            cell = (_BAND, "dim")
        if spans and spans[-1][1] == cell[1]:
            cell = (spans.pop()[0] + cell[0], cell[1])
        spans.append(cell)
    if end < width:
        spans.append((" " * (width - end), ""))
    return tuple(spans)


def _scale(row: int, height: int) -> Span:
    marks = {0: "100 %", height - 1: "  0 %"}
    if height >= 5:
        marks[height // 2 if height % 2 else height // 2 - 1] = " 50 %"
    return (f"{marks.get(row, ''):<{_AXIS - 1}}" + ("┤" if row in marks else "│"), "dim")


def _times(burn: Burn, plot: _Plot) -> Line:
    count = max(1, plot.width // _TICK_CELLS)
    text = [" "] * plot.width
    for number in range(count + 1):
        at = burn.since + (burn.until - burn.since) * number / count
        label = _time(at, burn.until - burn.since)
        place = min(round(number * (plot.width - 1) / count), plot.width - 1)
        begin = max(0, min(place - len(label) // 2, plot.width - len(label)))
        if all(text[column] == " " for column in range(max(0, begin - 1), min(plot.width, begin + len(label) + 1))):
            text[begin : begin + len(label)] = label
    return ((" " * _AXIS + "".join(text)[: plot.width], "dim"),)


def _time(at: datetime, length: timedelta) -> str:
    local = at.astimezone()
    if length <= timedelta(hours=30):
        return f"{local:%H:%M}"
    return f"{local:%a %H:%M}" if length <= timedelta(days=3) else f"{local:%d %b}"
