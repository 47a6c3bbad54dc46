"""The kinds of values about sessions that faces get and pass around; they say them in their annotations."""

from __future__ import annotations

from oulipoly_engine.core.sessions.spawned import Spawned
from oulipoly_engine.service.following.session_follower import TranscriptFollower, TranscriptGrew
from oulipoly_engine.service.reading.drafts import Draft
from oulipoly_engine.service.reading.pages import Damage, PlacedEntry, Provenance
from oulipoly_engine.service.rewrite.replace import Plan
from oulipoly_engine.service.search import Found, Hit
from oulipoly_engine.service.sessions.board import Board, Inside
from oulipoly_engine.service.sessions.catalogue import ListedSession
from oulipoly_engine.store.transcripts.entry_pages import Entry, EntryPages

__all__ = [
    "Board",
    "Damage",
    "Draft",
    "Entry",
    "EntryPages",
    "Found",
    "Hit",
    "Inside",
    "ListedSession",
    "PlacedEntry",
    "Plan",
    "Provenance",
    "Spawned",
    "TranscriptFollower",
    "TranscriptGrew",
]
