"""What this program can know of a wire: the protocol by which a CLI is driven. Pure.

A field with its default is something that the wire does not have: whoever needs it goes on without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from oulipoly_engine.records import Record, field

Profile = Literal["supervised", "auto_accept_edits", "full_access"]
# stricter_fallback: the CLI has no such policy, the next stricter one is taken. legacy_narrowed: one that was written
# down earlier is stricter, and is kept.
Quality = Literal["exact", "stricter_fallback", "legacy_narrowed"]


class Policies(Record):
    """One CLI's policies."""

    by_profile: Mapping[Profile, tuple[str, Quality]]
    ranks: Mapping[str, int]  # the higher, the stricter
    sandboxes: Mapping[Profile, str] = field(default_factory=dict)


class Syntax(Record):
    """What is known of a CLI's options."""

    reserved: frozenset[str]
    valued: frozenset[str] = frozenset()  # that take the next word; of an option nobody knows, it may belong to that
    listed: frozenset[str] = frozenset()  # that take all words up to the next option
    prefixes: tuple[str, ...] = ()  # of long options that are reserved
    config: frozenset[str] = frozenset()  # options that set a key: `-c key=value`
    config_told: Mapping[str, str] = field(default_factory=dict)  # such keys that say "model" or "effort"
    config_reserved: frozenset[str] = frozenset()  # such keys, with all below them
    words: frozenset[str] = frozenset()  # subcommands, which may be named
    forbids_words: bool = False  # none may stand outside of an option


def option_set(*words: str) -> frozenset[str]:
    """Return options as a set."""
    return frozenset(words)


class HomeParts(Record):
    """What a CLI has in its home, for a second one with a login of its own."""

    own: frozenset[str]  # of one login: real files, never links
    shared: tuple[str, ...]  # folders that have to be there before the CLI makes them in the wrong home


class OwnLog(Record):
    """Where a CLI keeps what it writes itself about a session."""

    home: str  # its folder, where nobody says otherwise
    pattern: str  # below it; `{id}` stands for the CLI's own id


class Wire(Record):
    """One wire."""

    kind: str  # as config.toml, REST and `--json` call it
    note: str  # what is driven by it, in a sentence
    driver: str  # its module below `drivers`, and the class there: `claude:ClaudeDriver`
    syntax: Syntax = field(default_factory=lambda: Syntax(frozenset()))  # of the user's own arguments
    cli: str = ""  # whose own wire it is: that program is started, and led to its home, where nothing names another
    former_name: str = ""  # of its runtime in `[cli_agent_runtime]`, the older form; "": that had none
    stands: int = 9  # among the runtimes: the lowest first (contract, B.2)
    policies: Policies | None = None  # what a profile is in its words; None: it has none, its own settings decide
    modes: Mapping[Profile, tuple[str, ...]] = field(default_factory=dict)  # or: modes that an agent may have for it
    shadow: HomeParts | None = None  # None: it works in no shadow home
    switches: Mapping[str, str] = field(
        default_factory=dict
    )  # of the REST contract: keys of its configuration for them
    own_log: OwnLog | None = None
    unlisted_models: str = ""  # an expression for names of models that its CLI takes though it does not list them
    prints_schema: bool = False  # its program says which methods it has
    refuses_strangers: bool = False  # it opens no session for somebody who is not logged in
