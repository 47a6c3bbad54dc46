"""What an agent is called where its user does not say: an adjective and an animal. Pure."""

from __future__ import annotations

import re

from oulipoly_engine.core.images.names import LONGEST_NAME
from oulipoly_engine.errors import UsageInvalid

_ADJECTIVES = (
    *("amber", "bold", "brave", "brisk", "calm", "clear", "clever", "cool", "crisp", "eager", "early", "fair"),
    *("fast", "fine", "firm", "fond", "free", "fresh", "gentle", "glad", "grand", "green", "happy", "keen"),
    *("kind", "late", "light", "lively", "lucky", "mild", "neat", "noble", "polite", "proud", "quick", "quiet"),
    *("ready", "sharp", "shy", "silver", "small", "smart", "solid", "steady", "still", "swift", "warm", "wise"),
)
_ANIMALS = (
    *("ant", "badger", "bear", "beaver", "bee", "bison", "cat", "crane", "crow", "deer", "dove", "duck"),
    *("eagle", "elk", "falcon", "finch", "fox", "frog", "goat", "goose", "hare", "hawk", "heron", "horse"),
    *("ibis", "jay", "kite", "lark", "lion", "lynx", "mole", "moose", "moth", "newt", "otter", "owl"),
    *("panda", "perch", "raven", "robin", "seal", "shrew", "snail", "stork", "swan", "tern", "toad", "wren"),
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def choose_name(number: int) -> str:
    """Return the name of a number, which is random and not negative."""
    rest, adjective = divmod(number, len(_ADJECTIVES))
    return f"{_ADJECTIVES[adjective]}-{_ANIMALS[rest % len(_ANIMALS)]}"


def check_name(name: str) -> str:
    """Return a name that an agent can have. Raises UsageInvalid."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise UsageInvalid(
            f"an agent cannot be called {name[:80]!r}: begin with a letter or a digit, then letters, digits, `.`, `_`, "
            f"`-`, at most {LONGEST_NAME}"
        )
    return name
