"""The API calls in opencode's database, a message each. Pure.

A fork copies its parent's answers under new ids, counts and instants unchanged, so a call is known by these.
`input` is without what the cache served; thoughts are apart from `output` where the total says so or none is told.
Source: opencode 1.18.33.
"""

from __future__ import annotations

import json

from oulipoly_engine.core.ledger.calls import Entry, Place, sane
from oulipoly_engine.core.text.json_values import count_of, text_of
from oulipoly_engine.records import Record

CLI = "opencode"


class Message(Record):
    """A message as the database has it."""

    session: str
    folder: str
    is_sidechain: bool
    data: str  # JSON


def call_of(account: str, message: Message) -> tuple[str, Entry] | None:
    """Return a call's key and what it took; None for what is not an answer, has not ended, or took nothing.

    Raises ValueError for what is not a JSON object.
    """
    data = json.loads(message.data)
    if not isinstance(data, dict):
        raise ValueError(message.data[:80])  # noqa: TRY004 - as json does for what is not JSON
    tokens, times = data.get("tokens"), data.get("time")
    if data.get("role") != "assistant" or not isinstance(tokens, dict) or not isinstance(times, dict):
        return None
    created, completed = count_of(times.get("created")), count_of(times.get("completed"))
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    fresh, output, thoughts = (count_of(tokens.get(name)) for name in ("input", "output", "reasoning"))
    read, written, total = count_of(cache.get("read")), count_of(cache.get("write")), count_of(tokens.get("total"))
    is_inside = thoughts <= output and total == fresh + output + read + written
    said = output if is_inside else output + thoughts
    if not completed or not (fresh or said or read or written):
        return None
    model = text_of(data.get("modelID"))
    counts = sane((fresh, said, read, written, 0, thoughts))
    key = f"\0opencode\0{created}\0{completed}\0{model}\0{','.join(map(str, counts))}"
    place = Place(account, CLI, message.session, message.folder, model, message.is_sidechain)
    return key, (created, place, counts, None)
