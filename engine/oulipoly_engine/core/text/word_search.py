"""Which of many words are in a text, in one look. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property


class WordSearch:
    """Looks for all of some words at once.

    A hundred words cost as much as ten by `in`: their common beginnings are tried once. The pattern is made when it is
    first used.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(dict.fromkeys(words))

    def find(self, text: str) -> set[str]:
        """Return those words that are in a text, also where one overlaps another."""
        found = set(self._pattern.findall(text))
        return found.union(*(self._within[word] for word in found))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(f"(?=({_pattern_of(_tree_of(self._words))}))")

    @cached_property
    def _within(self) -> Mapping[str, frozenset[str]]:
        """The words that each one begins with: of those that begin at one place, the pattern gives the longest."""
        return {word: frozenset(filter(word.startswith, self._words)) for word in self._words}


class _Tree(dict[str, "_Tree"]):
    """What follows each first letter; the empty letter is the end of a word."""


def _tree_of(words: Iterable[str]) -> _Tree:
    tree = _Tree()
    for word in words:
        node = tree
        for letter in (*word, ""):
            node = node.setdefault(letter, _Tree())
    return tree


def _pattern_of(tree: _Tree) -> str:
    ways = [re.escape(letter) + _pattern_of(rest) for letter, rest in tree.items() if letter]
    if not ways:
        return ""
    pattern = ways[0] if len(ways) == 1 and "" not in tree else f"(?:{'|'.join(ways)})"
    return f"{pattern}?" if "" in tree else pattern
