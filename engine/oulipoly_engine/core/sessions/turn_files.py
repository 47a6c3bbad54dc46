"""Which snapshot has the files of a session's checkout as they were at one of its messages. Pure.

    message at a turn's end    the snapshot after that turn, else that before a turn that follows on it
    message inside a turn      the snapshot before that turn, else that at the message before it
    before all messages        the snapshot before a first turn

What a turn has done to files up to one of its messages nobody knows: what it had done in the end would be too much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

from oulipoly_engine.core.transcripts.turn_script import NO_PARENT


class Moment(StrEnum):
    """When a snapshot was taken."""

    BEFORE = "before"
    AFTER = "after"


def find_reference(
    entry_id: str,
    entry_ids: Iterable[str],
    parents: Mapping[str, str],
    turns: Mapping[str, str],
    references: Mapping[tuple[str, Moment], str],
) -> tuple[str | None, bool]:
    """Return the reference of the snapshot for a message, None where there is none; and whether it is inside a turn.

    entry_id: NO_PARENT stands before all. turns: by the messages that belong to one. references: by turn and moment.
    """
    children: dict[str, list[str]] = defaultdict(list)
    for child in entry_ids:
        children[parents.get(child, NO_PARENT)].append(child)
    turn = turns.get(entry_id)
    is_inside = turn is not None and any(turns.get(child) == turn for child in children[entry_id])
    if turn is not None and is_inside:
        if (turn, Moment.BEFORE) in references:
            return references[turn, Moment.BEFORE], True
        while turns.get(entry_id) == turn:
            entry_id = parents.get(entry_id, NO_PARENT)
        turn = turns.get(entry_id)
    if turn is not None and (turn, Moment.AFTER) in references:
        return references[turn, Moment.AFTER], is_inside
    following = (turns.get(child) for child in children[entry_id])
    before = (references.get((follower, Moment.BEFORE)) for follower in following if follower not in (None, turn))
    return next(filter(None, before), None), is_inside
