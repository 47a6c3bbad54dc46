"""How well texts that hold all words of a query answer it. Pure.

The index's own ranking counts every match of every word first, 100 ms and more for a common one among a million
entries. All candidates hold all words, so how rare a word is does not tell them apart: what is left of the usual
formula (BM25) is how often they are said, in how long a text.
"""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.core.search.query import Term
from oulipoly_engine.core.search.snippet import places

RANKED_AMONG = 500  # of the newest matches: the others are not looked at
_LOOKED_AT = 20_000  # characters of a text
_SATURATION, _LENGTH = 1.2, 0.75  # the formula's usual constants


def scores(texts: Sequence[str], terms: Sequence[Term]) -> tuple[float, ...]:
    """Return a score for each text; greater is better, 0 where no word was found in what was looked at."""
    positive = [(term,) for term in terms if not term.is_negated]
    heads = [text[:_LOOKED_AT] for text in texts]
    average = sum(map(len, heads)) / len(heads) if heads else 0.0
    return tuple(_score(head, positive, len(head) / average if average else 1.0) for head in heads)


def _score(text: str, terms: Sequence[tuple[Term]], length: float) -> float:
    weight = _SATURATION * (1 - _LENGTH + _LENGTH * length)
    counts = (len(places(text, term)) for term in terms)
    return sum(count * (_SATURATION + 1) / (count + weight) for count in counts)
