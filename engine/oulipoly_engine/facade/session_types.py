"""The kinds of values about sessions that faces get and pass around; they say them in their annotations."""

from __future__ import annotations

from oulipoly_engine.service.rewrite.replace import Plan
from oulipoly_engine.service.search import Found, Hit
from oulipoly_engine.service.sessions.catalogue import Listed
from oulipoly_engine.store.runs.spawned import Spawned

__all__ = ["Found", "Hit", "Listed", "Plan", "Spawned"]
