"""Read transcripts' lines into checked entries for the turn adapters when they run in process: no JSON text in between.

Whole lines, cursors and damage are the script's own matter (`adapters.scripts.entries`), which imports nothing of ours;
what a line says comes from `core.transcripts`, and is the same as the script says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from oulipoly_engine.adapters.scripts.turns import (
    FORMATS,
    NO_META,
    NO_OBJECT,
    NO_SESSION,
    Format,
    Place,
    kept_ids,
    lacks,
)
from oulipoly_engine.core.transcripts import claude, codex, gemini
from oulipoly_engine.core.transcripts.line_decoder import UNFIT
from oulipoly_engine.core.transcripts.turn_script import EntryRefused, LineError, Told


def form(adapter: str) -> Format[Told]:
    """Return how an adapter reads its CLI's transcripts."""
    known = FORMATS[adapter]
    read = _READERS[adapter]

    def read_or_refuse(text: bytes, place: Place) -> Sequence[Told]:
        try:
            return read(text, place)
        except UNFIT:  # in a content, which is decoded last
            place.problem = NO_OBJECT
            return ()

    return Format(adapter, known.prefix, known.marks, read_or_refuse)


def _claude(text: bytes, place: Place) -> Sequence[Told]:
    line = claude.DECODER.leniently(text)
    if line is None:
        place.problem = NO_OBJECT
        return ()
    place.kept = kept_ids(line.compact_metadata, place.kept)
    kept = place.kept if line.is_compact_summary is True else None
    try:
        turn = claude.entry_line(line, place.shown, kept)
    except EntryRefused as refused:
        return (_error(refused, place),)
    if turn is not None and turn.is_compaction_boundary:
        place.kept = None
    if turn is None:
        place.problem = lacks(claude.find_missing_texts(line))
        return ()
    return ((turn, None),)


def _codex(text: bytes, place: Place) -> Sequence[Told]:
    line = codex.DECODER.leniently(text)
    if line is None:
        place.problem = NO_OBJECT
        return ()
    # A fork repeats its parent's session_meta on its second line: the first one is the rollout's own.
    place.session_id = place.session_id or codex.session_of(line)
    try:
        turn = codex.entry_line(line, place.session_id, f"{place.shown}:{place.lines}", place.shown)
    except EntryRefused as refused:
        return (_error(refused, place),)
    if turn is None:
        missing = codex.find_missing_texts(line)
        place.problem = None if missing is None else lacks(missing) or NO_META
        return ()
    return ((turn, None),)


def _gemini(text: bytes, place: Place) -> Sequence[Told]:
    line = gemini.DECODER.leniently(text)
    if line is None:
        place.problem = NO_OBJECT
        return ()
    place.session_id = gemini.session_of(line) or place.session_id
    found = [told for message in gemini.messages_of(line) for told in _gemini_message(message, place)]
    missing = gemini.find_missing_texts(line)
    if not found and missing is not None:
        place.problem = lacks(missing) or (None if place.session_id else NO_SESSION)
    return found


def _gemini_message(message: gemini.Message, place: Place) -> Sequence[Told]:
    try:
        turn = gemini.entry_line(message, place.session_id, place.shown)
    except EntryRefused as refused:
        return (_error(refused, place),)
    return () if turn is None else ((turn, None),)


def _error(refused: EntryRefused, place: Place) -> Told:
    return None, LineError(place.lines, str(refused), place.shown)


_READERS: Mapping[str, Callable[[bytes, Place], Sequence[Told]]] = {
    "claude-code-turns": _claude,
    "codex-turns": _codex,
    "gemini-turns": _gemini,
}
