"""What runs have kept, sent, returned and received: a row a version, and all about the one under the cursor. Pure.

What agents call their artifacts, say of them and write into them is hostile: it is only ever shown, sign by sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, overload

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.columns import lines_of, size_text
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.facade.artifacts import PREVIEW_BYTES
from oulipoly_tui.view.sessions.columns import short_age
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, cut, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.versions import Version
    from oulipoly_engine.facade.artifacts import RunArtifacts

GROUPS = (  # a field of RunArtifacts, its heading
    ("returned", "Returned to the caller"),
    ("received", "Received from runs that it started"),
    ("sent", "Sent to others"),
    ("kept", "Kept for itself"),
)
EMPTY: tuple[Line, ...] = (
    (("No artifacts.", "strong"),),
    (),
    (("Artifacts are files that agents keep and hand to each other. A run makes one by ", ""),),
    (("agent-messenger return --name NAME --content-file FILE", "accent"),),
    (("to hand it to its caller, or by agent-scratchpad write to keep it for itself.", ""),),
)
_SAID = 400  # characters of what a maker says, in a row
_LONGEST_LINE = 1000  # characters, before it is broken whatever stands there
_BRIEF = 200  # lines of a preview
_NAME_LEAST, _NAME_MOST = 16, 40
_TEXTS_FROM, _PLACE_FROM = 62, 100  # columns of a row, from which it has what its maker says, and where it lies
_DIFF_TONES: dict[str, Tone] = {"+": "good", "-": "bad", "@": "accent"}


class ArtifactRows(Sequence[Row]):
    """The rows of a list of any length, in groups, the newest first; only those that are shown are made."""

    def __init__(self, found: RunArtifacts) -> None:
        self._items: list[Version | str] = []  # a text is a heading
        self._keys: list[str] = []
        for field, heading in GROUPS:
            versions: Sequence[Version] = getattr(found, field)
            if versions:
                self._items.append(f"{heading} ({len(versions):,})")
                self._keys.append(field)
            for one in newest_first(versions):
                self._items.append(one)
                self._keys.append(f"{field} {one.address.text}")
        self._places = {key: place for place, key in enumerate(self._keys)}
        self.total = sum(not isinstance(one, str) for one in self._items)
        names = (len(one.address.name) for one in self._items if not isinstance(one, str))
        self._name = min(max(names, default=0), _NAME_MOST)
        self._look: tuple[int, datetime] | None = None

    def laid_out(self, width: int, now: datetime) -> ArtifactRows:
        """Return the same rows for another width or at another time."""
        other = ArtifactRows.__new__(ArtifactRows)
        other.__dict__ = {**self.__dict__, "_look": (width, now)}
        return other

    def find(self, key: str | None) -> Version | None:
        """Return the version of a row."""
        place = None if key is None else self._places.get(key)
        found = None if place is None else self._items[place]
        return None if isinstance(found, str) else found

    def before(self, version: Version) -> Version | None:
        """Return the version before one of the same artifact, of those that are listed."""
        older = [
            one
            for one in self._items
            if not isinstance(one, str)
            and (one.address.run, one.address.name) == (version.address.run, version.address.name)
            and one.number < version.number
        ]
        return max(older, key=lambda one: one.number, default=None)

    def place_of(self, key: str) -> int | None:
        """Return where a key stands."""
        return self._places.get(key)

    def __len__(self) -> int:
        """Return how many rows there are, headings included."""
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """Return the row at a place."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        one, key = self._items[place], self._keys[place]
        if isinstance(one, str):
            return Row(key, ((one, "heading"),), is_selectable=False)
        width, now = self._look or (80, one.created_at)
        return Row(key, _line(one, width, min(self._name, max(_NAME_LEAST, width // 3)), now))


def _line(one: Version, width: int, name_width: int, now: datetime) -> Line:
    head = f"{fit_text(shown(one.address.name), name_width)} {f'v{one.number}':>4}"
    facts = f" {size_text(one.content_len):>7} {short_age(to_text(one.created_at), now):>6}"
    spans: list[Span] = [(head, ""), (facts, "dim")]
    if width >= _TEXTS_FROM:
        place = f"  {_brief_place(one)}" if width >= _PLACE_FROM else ""
        kind = f"  {fit_text(shown(one.format_hint or ''), 10)}" if width >= _PLACE_FROM else ""
        labels = f"  {' '.join(one.labels)}" if one.labels else ""
        room = width - cells(head) - cells(facts) - cells(kind) - cells(place)
        labels = cut(labels, room // 2)
        said = fit_text(f"  {shown((one.verdict_line or '')[:_SAID])}", max(0, room - cells(labels)))
        spans += [(kind, "dim"), (labels, "accent"), (said, ""), (place, "dim")]
    return tuple(span for span in spans if span[0])


def newest_first(versions: Sequence[Version]) -> list[Version]:
    """Return versions in the order in which they are listed; of what was stored at once the later version first."""
    return sorted(versions, key=lambda one: (one.created_at, one.number), reverse=True)


def shown(text: str) -> str:
    """Return what a maker wrote as one harmless line without secrets."""
    return redact(visible_line(text))


def title_of(one: Version) -> str:
    """Return what a version is called in a title or a sentence."""
    return f"{cut(shown(one.address.name), _NAME_MOST)} v{one.number}"


def brief_lines(one: Version, width: int, now: datetime) -> tuple[Line, ...]:
    """Return what is told of a version above its content, in as few lines as it takes."""
    facts = (size_text(one.content_len), shown(one.format_hint or ""), ago(one.created_at, now), *one.labels)
    said = cut(shown((one.verdict_line or "")[:_SAID]), width * 2)
    return (
        ((title_of(one), "strong"), ("  " + " · ".join(text for text in facts if text), "dim")),
        *((((said, ""),),) if said else ()),
        ((cut(shown(one.address.text), width), "dim"),),
    )


def detail_lines(one: Version, now: datetime) -> tuple[Line, ...]:
    """Return all that is known of a version, its content aside."""
    rows = [
        ("name", shown(one.address.name)),
        ("version", f"{one.number}{f', made from {one.predecessor}' if one.predecessor else ''}"),
        ("says", shown((one.verdict_line or "")[: 10 * _SAID])),
        ("size", f"{one.content_len:,} bytes"),
        ("format", shown(one.format_hint or "")),
        ("labels", " ".join(one.labels)),
        ("stored", ago(one.created_at, now)),
        ("run", one.producer),
        ("address", shown(one.address.text)),
        ("sha256", one.sha256),
    ]
    return tuple(((f"{name:<9}", "dim"), (text, "")) for name, text in rows if text)


def content_lines(one: Version, text: str | None, *, is_brief: bool = False) -> Iterator[Line]:
    """Yield a content line by line. text: as much of it as was read; None: it is not a text.

    is_brief: only its beginning, for a look in passing.
    """
    if text is None:
        yield ((f"Not a text: {one.content_len:,} bytes.", "warn"), (" s", "key"), (" saves it as it is.", ""))
        yield (("sha256 ", "dim"), (one.sha256, ""))
        return
    lines = (part for line in lines_of(text) for part in _parts(line))
    yield from (((line, ""),) for line in (islice(lines, _BRIEF) if is_brief else lines))
    rest = next(lines, None) if is_brief else None
    if rest is not None:
        yield (("…", "dim"), (" enter", "key"), (" shows more.", ""))
    elif one.content_len > PREVIEW_BYTES:
        yield ()
        yield ((f"Only the beginning of {size_text(one.content_len)}.", "warn"), (" s", "key"), (" saves all.", ""))


def diff_lines(lines: Sequence[str]) -> Iterator[Line]:
    """Yield what differs, a tone a kind of line."""
    for line in islice(lines, 2, None) if len(lines) > 2 and lines[0].startswith("--- ") else lines:
        tone = _DIFF_TONES.get(line[:1], "")
        yield from (((part, tone),) for whole in lines_of(line) for part in _parts(whole))


def returned_lines(versions: Sequence[Version] | Exception, width: int, key: str, most: int = 3) -> tuple[Line, ...]:
    """Return what a transcript tells of what the session's runs have returned, the newest first; or what is wrong."""
    if isinstance(versions, Exception):
        text = str(getattr(versions, "message", versions))
        return (((cut(f"Returned artifacts cannot be read: {shown(text)}", width), "warn"),),)
    count = len(versions)
    told = f"{count:,} artifact{'s' * (count != 1)} returned"
    does = " opens, copies and saves them"
    does = does if cells(f"{told}: {key}{does}") <= width else " lists them"
    lines: list[Line] = [((f"{told}: ", "heading"), (key, "key"), (does, "dim"))]
    for one in newest_first(versions)[:most]:
        name = cut(shown(one.address.name), max(_NAME_LEAST, width // 2))
        told = f" v{one.number} {size_text(one.content_len)}"
        said = cut(f"  {shown((one.verdict_line or '')[:_SAID])}", max(0, width - cells(name + told) - 2))
        lines.append((("  ", ""), (name, ""), (told, "dim"), (said, "")))
    return tuple(lines)


def _parts(line: str) -> Iterator[str]:
    if len(line) <= _LONGEST_LINE:
        yield line
        return
    yield from (line[at : at + _LONGEST_LINE] for at in range(0, len(line), _LONGEST_LINE))


def _brief_place(one: Version) -> str:
    """Return where it lies, as short as one recognises it by."""
    kind, colon, rest = one.address.run.partition(":")
    text = f"{kind} {rest[:8]}" if colon and kind in ("return", "scratchpad") else f"run {shown(one.address.run)}"
    return fit_text(text, 20)
