"""How a window burns, drawn in braille dots: what was used, the even pace, what is expected, and each reset. Pure.

A canvas of our own: it draws bands and dashes, which the plotting widgets do not, in a tenth of their time. Every line
has a look of its own, so that none is told by colour alone: what was used is solid, the even pace dotted, the forecast
dashed inside a shaded band, resets are dotted uprights with a word of what they left unused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Line, Span, Tone

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # of one braille cell: left and right, downwards
_BARS = tuple(  # by column of dots, first and last of them: all dots between
    tuple(tuple(sum(column[first : last + 1]) for last in range(4)) for first in range(4)) for column in _DOTS
)
_DOTTED = (" ", *(chr(0x2800 + dots) for dots in range(1, 256)))
_FILLED = bytes((0, *[0xFF] * 255))  # translates dots to where there are any
# A row's tones, a byte a cell. Marks and blanks are pieces apart from dots: fonts that lack one of them borrow it in
# another width, and a picture of the screen places whole pieces.
_CODES: tuple[Tone, ...] = ("dim", "dim", "accent", "warn", "bad")
_MARK, _DOTS_OF, _WARN = 0, {tone: code for code, tone in enumerate(_CODES)}, _CODES.index("warn")
_RUNS = re.compile(b"|".join(b"\\x%02x+" % code for code in range(len(_CODES))))
_AXIS = 6  # columns of the scale at the left
_LEAST_WIDTH, _LEAST_HEIGHT = _AXIS + 10, 4
_BAND, _RESET, _NOW = "░", "┊", "│"
_WORDY = 2  # rows at the top that take words
_TICK_CELLS = 16  # at least so many columns from one time to the next
_DAYS_ALONE = timedelta(days=3)  # over a longer time the axis names days without the clock

Point = tuple[datetime, float]  # (aware instant, used 0..1)


class Ahead(Record):
    """What is expected from now on: straight lines from the present use."""

    begin: Point
    end: datetime  # the reset, or where 100 % is reached
    used: float  # expected there, 0..1
    low: float
    high: float
    is_dry: bool = False  # reaches 100 % before the reset


class Burn(Record):
    """One window over a range of time."""

    since: datetime
    until: datetime
    now: datetime
    cycles: tuple[tuple[Point, ...], ...] = ()  # readings, a tuple a cycle, oldest first
    even: tuple[tuple[datetime, datetime], ...] = ()  # (begin, reset) of the cycles whose even pace is drawn
    resets: tuple[datetime, ...] = ()
    unused: tuple[tuple[datetime, float, bool], ...] = ()  # (reset, 0..1 that it threw away, whether just so much)
    ahead: Ahead | None = None
    reserve: float = 0.0  # 0..1 that is kept unspent


class _Layer:
    """Dots of one meaning, rows of braille cells."""

    def __init__(self, tone: Tone, width: int, height: int) -> None:
        self.tone = tone
        self.cells = [bytearray(width) for _ in range(height)]

    def bar(self, x: int, begin: int, end: int) -> None:
        """Draw all dots of a column between two, in either order."""
        top, bottom = (begin, end) if begin < end else (end, begin)
        first, last, column, bars = top >> 2, bottom >> 2, x >> 1, _BARS[x & 1]
        if first == last:
            self.cells[first][column] |= bars[top & 3][bottom & 3]
            return
        self.cells[first][column] |= bars[top & 3][3]
        for row in range(first + 1, last):
            self.cells[row][column] |= bars[0][3]
        self.cells[last][column] |= bars[0][bottom & 3]


class _Plot:
    """Turns instants and shares into dots."""

    def __init__(self, burn: Burn, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._bottom = 4 * height - 1
        self._begin = burn.since.timestamp()
        self._dots_a_second = (2 * width - 1) / max(1.0, burn.until.timestamp() - self._begin)

    def x(self, at: datetime) -> float:
        return (at.timestamp() - self._begin) * self._dots_a_second

    def y(self, used: float) -> int:
        return self._bottom if used <= 0 else 0 if used >= 1 else round((1 - used) * self._bottom)

    def column(self, at: datetime) -> int | None:
        x = round(self.x(at))
        return x >> 1 if 0 <= x < 2 * self.width else None

    def trace(self, layer: _Layer, points: Sequence[Point], dash: tuple[int, int] | None = None) -> None:
        """Draw straight lines through points, which may begin and end outside; they are joined without gaps.

        dash: single dots instead, the first so many columns of every so many.
        """
        placed = [(x := self.x(at), round(x), used, self.y(used)) for at, used in points]
        edge = 2 * self.width - 1
        if len(placed) == 1 and 0 <= placed[0][0] <= edge:
            _, x, _, y = placed[0]
            layer.cells[y >> 2][x >> 1] |= _DOTS[x & 1][y & 3]
        for (x0, first, used0, y0), (x1, last, used1, y1) in pairwise(placed):
            columns: Sequence[int] = range(max(0, first), min(edge, last) + 1)
            if dash is not None:
                columns = [x for x in columns if x % dash[1] < dash[0]]
            slope = (used1 - used0) / (x1 - x0) if x1 > x0 else 0.0
            before = y0 if x1 - x0 < 1 and dash is None else None
            for x in columns:
                y = y1 if x >= x1 else self.y(used0 + slope * (x - x0)) if x > x0 else y0
                if before is None or before == y:
                    layer.cells[y >> 2][x >> 1] |= _DOTS[x & 1][y & 3]
                else:
                    layer.bar(x, before, y)
                before = y if dash is None else None


def legend_of(burn: Burn, *, is_short: bool = False) -> tuple[Line, ...]:
    """Return what each line means, beside a piece of it as it is drawn."""
    used, even, expected = ("⠤", "⠄", "⠤ ⠤") if is_short else ("⠤⠤⠤", "⠄ ⠄", "⠤⠤ ⠤⠤")
    found: list[Line] = [
        ((used, "accent"), (" used", "")),
        ((even, "dim"), (" even" if is_short else " even pace", "")),
    ]
    if burn.ahead is not None:
        words = " ahead" if is_short else " forecast"
        found.append(((expected, _ahead_tone(burn.ahead)), ("░", "dim"), (words, "")))
    return tuple(found)


def _ahead_tone(ahead: Ahead) -> Tone:
    return "bad" if ahead.is_dry else "warn"


def burn_chart(burn: Burn, width: int, height: int) -> tuple[Line, ...]:
    """Return the chart as `height` lines of `width` columns, a scale at its left and times below.

    Below 16 columns or 4 lines there is no room for one: empty.
    """
    if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return ()
    plot = _Plot(burn, width - _AXIS, height - 1)
    layers = _layers(burn, plot)
    shaded = _find_band_columns(burn, plot)
    uprights = _uprights(burn, plot)
    said = _words(burn, plot, uprights, layers)
    lines = [
        (_scale(row, plot.height), *_row(_cells(row, plot.width, layers), uprights, shaded[row], said.get(row, {})))
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
        plot.trace(even, ((begin, 0.0), (reset, 1.0)), dash=(1, 4))
    if burn.ahead is not None:
        expected.tone = _ahead_tone(burn.ahead)
        line = (burn.ahead.begin, (burn.ahead.end, burn.ahead.used))
        plot.trace(expected, line, dash=(4, 6))
    if burn.reserve > 0:
        edge = 1 - burn.reserve
        plot.trace(kept, ((burn.since, edge), (burn.until, edge)), dash=(2, 8))
    return used, expected, even, kept


def _find_band_columns(burn: Burn, plot: _Plot) -> list[set[int]]:
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


def _uprights(burn: Burn, plot: _Plot) -> dict[int, str]:
    found: dict[int, str] = {}
    for reset in burn.resets:
        if (column := plot.column(reset)) is not None:
            found[column] = _RESET
    if (column := plot.column(burn.now)) is not None and burn.now < burn.until:
        found[column] = _NOW
    return found


def _words(
    burn: Burn, plot: _Plot, uprights: dict[int, str], layers: Sequence[_Layer]
) -> dict[int, dict[int, tuple[str, int]]]:
    """Return letters by row and column: what the lines are, where it hides nothing; of resets the newest first."""
    found: dict[int, dict[int, tuple[str, int]]] = {}
    marked = bytearray(plot.width)
    for column in uprights:
        marked[column] = 1
    used, expected = layers[0], layers[1]
    taken = [bytearray(map(max, *both)) for both in zip(used.cells, expected.cells, strict=True)]
    for place, texts, code in _labels(burn, plot):
        for row, text, begin in _places(place, texts, plot):
            end = begin + len(text)
            if begin < 0 or end > plot.width:
                continue
            around = slice(max(0, begin - 1), end + 1)
            if marked[around].count(1) == marked[max(0, place)] and not any(taken[row][around]):
                taken[row][begin:end] = b"\x01" * len(text)
                found.setdefault(row, {}).update((at, (letter, code)) for at, letter in enumerate(text, begin))
                break
    return found


def _labels(burn: Burn, plot: _Plot) -> Iterator[tuple[int, tuple[str, ...], int]]:
    """Yield (column, its texts, the longest first, their code), the most important label first."""
    if burn.now < burn.until and (place := plot.column(burn.now)) is not None:
        yield place, ("now",), _MARK
    unused = {at: (share, is_exact) for at, share, is_exact in burn.unused}
    for at in sorted({*burn.resets, *unused}, reverse=True):
        place, (share, is_exact) = plot.column(at), unused.get(at, (0.0, True))
        if place is None:
            continue
        if round(100 * share) >= 1:
            amount = f"{'' if is_exact else '≤ '}{100 * share:.0f} %"
            yield place, (f"{amount} unused", amount), _WARN
        elif at > burn.now:
            yield place, ("reset",), _MARK
    yield -1, ("limit",), _MARK  # the upper edge, behind the scale


def _places(column: int, texts: Sequence[str], plot: _Plot) -> Iterator[tuple[int, str, int]]:
    """Yield (row, text, first column) in the order in which they are tried: before the line, where a reset's gap is."""
    for text in texts:
        for row in sorted({*range(min(_WORDY, plot.height)), plot.height - 1}) if column >= 0 else (0,):
            yield row, text, column - len(text)
            yield row, text, column + 1


def _cells(row: int, width: int, layers: Sequence[_Layer]) -> tuple[bytes, bytearray]:
    """Return a row's dots and the code of each cell's tone, all cells at once: a row of bytes is one number.

    Empty cells have the marks' tone: on a blank it cannot be seen, and a mark between blanks is not a piece of its own.
    """
    dots, tones = 0, int.from_bytes(bytes((_MARK,)) * width)
    for layer in reversed(layers):
        cells = layer.cells[row]
        if any(cells):
            filled = int.from_bytes(cells.translate(_FILLED))
            code = int.from_bytes(bytes((_DOTS_OF[layer.tone],)) * width)
            tones = tones & ~filled | code & filled
            dots |= int.from_bytes(cells)
    return dots.to_bytes(width), bytearray(tones.to_bytes(width))


def _row(
    cells: tuple[bytes, bytearray], uprights: dict[int, str], shaded: set[int], said: dict[int, tuple[str, int]]
) -> list[Span]:
    """Return a row's spans. Marks stand where there are no dots; letters lie over everything."""
    dots, tones = cells
    shown = [*map(_DOTTED.__getitem__, dots)]
    for column in shaded:
        if not dots[column]:
            shown[column], tones[column] = _BAND, _MARK
    for column, mark in uprights.items():
        if not dots[column]:
            shown[column], tones[column] = mark, _MARK
    for column, (letter, code) in said.items():
        shown[column], tones[column] = letter, code
    text, runs = "".join(shown), _RUNS.findall(tones)
    ends = [0, *accumulate(map(len, runs))]
    return [(text[begin:end], _CODES[tones[begin]]) for begin, end in pairwise(ends)]


def _scale(row: int, height: int) -> Span:
    marks = {0: "100 %", height - 1: "  0 %"}
    if height >= 5:
        marks[height // 2 if height % 2 else height // 2 - 1] = " 50 %"
    return (f"{marks.get(row, ''):<{_AXIS - 1}}" + ("┤" if row in marks else "│"), "dim")


def _times(burn: Burn, plot: _Plot) -> Line:
    """Return the line of times: the date where a day is named first, the clock alone after it."""
    count = max(1, plot.width // _TICK_CELLS)
    text, told = [" "] * plot.width, ""
    for number in range(count + 1):
        local = (burn.since + (burn.until - burn.since) * number / count).astimezone()
        day, place = f"{local:%d %b}", round(number * (plot.width - 1) / count)
        labels = [day] if burn.until - burn.since > _DAYS_ALONE else [f"{day} {local:%H:%M}", f"{local:%H:%M}"]
        for label in labels[day == told :] or labels:
            begin = max(0, min(place - len(label) // 2, plot.width - len(label)))
            around = text[max(0, begin - 1) : begin + len(label) + 1]
            if set(around) == {" "}:
                text[begin : begin + len(label)] = label
                told = day if day in label else told
                break
    return ((" " * _AXIS + "".join(text)[: plot.width], "dim"),)
