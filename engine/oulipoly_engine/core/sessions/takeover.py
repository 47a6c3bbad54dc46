"""Which lines of a transcript say what was heard of the same session before, and take over its turns. Pure.

A live session or a one-shot makes entries of what it hears at once; the CLI writes the same down by itself, sooner or
later. Lines are matched in order: by the CLI's own id, by who has said which words, then by a part of the words; what
stands between two lines of one turn belongs to that turn. What is not matched belongs to no turn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import passages
from oulipoly_engine.records import Record

_SAID = ("text", "context")  # the types of chunks with words, rather than what tools were given and gave
_AHEAD = 50  # entries that are searched for a part of the words

Pairs = Mapping[int, int]  # places of read entries, and of the heard ones that they say again


class HeardEntry(Record):
    """An entry that a live session or a one-shot has made."""

    entry_id: str
    role: str
    timestamp: str  # RFC 3339 in the one fixed form, as the other instants
    text: str  # as `read_words` returns it
    turn_id: str
    native_id: str | None = None  # the CLI's own id of the item
    begun_at: str = ""  # when its turn began
    has_ended: bool = False  # its turn is over


class ReadEntry(Record):
    """An entry of a transcript."""

    entry_id: str
    role: str
    timestamp: str
    text: str = ""
    turn_id: str | None = None  # that it has taken over before
    is_sidechain: bool = False


class TakenTurn(Record):
    """What an entry of a transcript takes over."""

    entry_id: str
    turn_id: str
    native_id: str | None = None


class Takeover(Record):
    """What becomes of the entries of a session."""

    turns: tuple[TakenTurn, ...] = ()
    dropped: tuple[str, ...] = ()  # ids of heard entries that the transcript has
    heirs: Mapping[str, str] = {}  # of those: the read entry that each is now, or the last one before it


def read_words(body: str | None) -> str:
    """Return the words of an entry as they are compared: without secrets and white space, in which copies differ."""
    words = "\n".join(passage.text for passage in passages(body) if passage.kind in _SAID)
    return "".join(redact(words).split())


def plan_takeover(heard: Sequence[HeardEntry], read: Sequence[ReadEntry]) -> Takeover:
    """Return which entries of a transcript take over which turns, and which heard entries are given up for them.

    Both are in order, and `read` begins no later than the first turn of `heard`. Given up is what is matched, what
    stands before it, and what is no later than the transcript; of a turn that is over all, once the transcript has
    words of the agent in their place.
    """
    pairs = dict(_pair_alike(heard, read))
    pairs |= _pair_parts(heard, read, pairs)
    taken = {place: TakenTurn(read[place].entry_id, heard[i].turn_id, heard[i].native_id) for place, i in pairs.items()}
    end = _find_end(heard, read, pairs)
    replaced = dict(_find_replacements(heard[end:], read, max(pairs, default=-1) + 1))
    taken |= {place: TakenTurn(read[place].entry_id, said.turn_id, said.native_id) for place, said in replaced.items()}
    taken |= dict(_fill_gaps(read, taken, {entry.turn_id: entry.timestamp for entry in heard}))
    latest = max((entry.timestamp for entry in read if not entry.is_sidechain), default="")
    replaced_turns = {entry.turn_id for entry in replaced.values()}
    late = (each for each in heard[end:] if each.timestamp <= latest or each.turn_id in replaced_turns)
    dropped = tuple(each.entry_id for each in (*heard[:end], *late))
    says = {heard[i].entry_id: read[place].entry_id for place, i in pairs.items()}
    says |= {entry.entry_id: read[place].entry_id for place, entry in replaced.items()}
    return Takeover(tuple(taken[place] for place in sorted(taken)), dropped, _find_heirs(dropped, says))


def _find_heirs(dropped: Sequence[str], says: Mapping[str, str]) -> dict[str, str]:
    """Return the heirs of what is given up. says: the read entries that say the same, by the heard ones."""
    heirs = {}
    last = ""
    for entry_id in dropped:
        last = says.get(entry_id, last)
        if last:
            heirs[entry_id] = last
    return heirs


def _is_free(entry: ReadEntry) -> bool:
    return entry.turn_id is None and not entry.is_sidechain


def _pair_alike(heard: Sequence[HeardEntry], read: Sequence[ReadEntry]) -> Iterator[tuple[int, int]]:
    """Pair what has the same id or the same words, in order."""
    by_id = {entry.native_id: i for i, entry in enumerate(heard) if entry.native_id}
    by_words: dict[tuple[str, str], list[int]] = {}
    for i, entry in enumerate(heard):
        if entry.text:
            by_words.setdefault((entry.role, entry.text), []).append(i)
    behind = 0
    for place, line in enumerate(read):
        if not _is_free(line):
            continue
        match = by_id.get(line.entry_id, -1)
        if match < behind:
            places = by_words.get((line.role, line.text), [])
            match = next(iter(places[bisect_left(places, behind) :]), -1)
        if match >= behind and heard[match].begun_at <= line.timestamp:
            yield place, match
            behind = match + 1


def _pair_parts(heard: Sequence[HeardEntry], read: Sequence[ReadEntry], pairs: Pairs) -> Pairs:
    """Pair what stands between those pairs, where one holds the words of the other."""
    parts: dict[int, int] = {}
    bounds = ((-1, -1), *pairs.items(), (len(read), len(heard)))
    for (first, behind), (last, end) in pairwise(bounds):
        start = behind + 1
        for place in range(first + 1, last):
            ahead = range(start, min(end, start + _AHEAD))
            match = next((i for i in ahead if _is_free(read[place]) and _is_part(heard[i], read[place])), None)
            if match is not None:
                parts[place] = match
                start = match + 1
    return parts


def _is_part(entry: HeardEntry, line: ReadEntry) -> bool:
    if not (entry.text and line.text) or entry.role != line.role or entry.begun_at > line.timestamp:
        return False
    is_of_message = (entry.native_id or "").startswith(f"{line.entry_id}/")  # opencode's, of which a call parts two
    return is_of_message or entry.text in line.text or line.text in entry.text


def _find_end(heard: Sequence[HeardEntry], read: Sequence[ReadEntry], pairs: Pairs) -> int:
    """Return the place behind all that is matched: one line may hold what was heard in pieces."""
    if not pairs:
        return 0
    last_line = max(pairs)
    end = pairs[last_line] + 1
    for i in range(end, len(heard)):
        if heard[i].text and not _is_part(heard[i], read[last_line]):
            break
        end = i + 1 if heard[i].text else end
    return end


def _find_replacements(
    heard: Sequence[HeardEntry], read: Sequence[ReadEntry], start: int
) -> Iterator[tuple[int, HeardEntry]]:
    """Find the lines with other words of the agent in a turn that is over, and what we have heard last in it."""
    ended = [entry for entry in heard if entry.has_ended]
    for place in range(start, len(read)):
        line = read[place]
        if _is_free(line) and line.text and line.role == "assistant":
            begun = [entry for entry in ended if entry.begun_at <= line.timestamp]
            if begun:
                yield place, begun[-1]


def _fill_gaps(
    read: Sequence[ReadEntry], taken: Mapping[int, TakenTurn], ends: Mapping[str, str]
) -> Iterator[tuple[int, TakenTurn]]:
    """Give what stands between two lines of one turn to that turn. ends: when each was last heard."""
    last_turn: str | None = None
    gap: list[int] = []
    for place, line in enumerate(read):
        turn_id = taken[place].turn_id if place in taken else line.turn_id
        if turn_id is None:
            gap.append(place)
            continue
        if turn_id == last_turn:
            yield from ((each, TakenTurn(read[each].entry_id, turn_id)) for each in gap)
        last_turn = turn_id
        gap = []
    if last_turn is not None:
        inside = (each for each in gap if read[each].timestamp <= ends.get(last_turn, ""))
        yield from ((each, TakenTurn(read[each].entry_id, last_turn)) for each in inside)
