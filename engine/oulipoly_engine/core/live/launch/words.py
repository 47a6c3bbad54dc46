"""What a one-shot's arguments mean for a live session: its model, its effort, and what the CLI takes there too. Pure.

Those that a live session cannot use are named, without their values: nobody is to wonder where they went.
"""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.core.accounts.accounts import PoolMember
from oulipoly_engine.core.accounts.clis.cli import LiveProtocol
from oulipoly_engine.core.live.launch.arguments import drop_reserved, list_options
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.records import Record

_MODEL, _EFFORT = ("--model", "-m"), ("--effort", "--reasoning-effort")


class LiveWords(Record):
    """What is said to a live session."""

    model: str = ""  # empty: the CLI's own choice
    effort: str = ""
    args: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # options that have no place in it


def live_words(runtime: Runtime, member: PoolMember | None, protocol: LiveProtocol | None = None) -> LiveWords:
    """Return what a session on a runtime is started with for a pool's member.

    protocol: of its CLI, as far as that is known.
    """
    words = () if member is None else member.args if member.interactive_args is None else member.interactive_args
    own = read_words(runtime.kind, words, protocol)
    return LiveWords(
        own.model or runtime.model,
        own.effort or (runtime.effort if not own.model or own.model == runtime.model else ""),
        (*runtime.args, *own.args),
        own.left_out,
    )


def read_words(kind: str, words: Sequence[str], protocol: LiveProtocol | None = None) -> LiveWords:
    """Read the arguments of a one-shot or of an interactive start."""
    protocol = protocol or LiveProtocol(kind)
    found = {"model": "", "effort": ""}
    rest: list[str] = []
    for group in list_options(kind, words):
        what, value = _read(kind, group)
        if what:
            found[what] = value
        else:
            rest += group
    kept, dropped = drop_reserved(kind, rest, protocol.reserved)
    args: list[str] = []
    left_out = [*dropped]
    for group in list_options(kind, kept):
        name = name_of(group[0])
        if protocol.options is None or name in protocol.options:
            args += group
        else:
            left_out.append(name)
    return LiveWords(found["model"], found["effort"], tuple(args), tuple(dict.fromkeys(left_out)))


def name_of(word: str) -> str:
    """Return an option's name without the value that may hang on it; a bare word is not shown."""
    if word.startswith("--"):
        return word.partition("=")[0]
    return word[:2] if word.startswith("-") else "a word that belongs to no option"


def _read(kind: str, group: Sequence[str]) -> tuple[str, str]:
    """Return what an option with its values says, "model" or "effort", and the value; empty: something else."""
    name = name_of(group[0])
    value = _value(group, name)
    if name in _MODEL:
        return ("model", value) if value else ("", "")
    if name in _EFFORT:
        return ("effort", value) if value else ("", "")
    syntax = WIRES[kind].syntax
    if name in syntax.config:
        key, is_given, text = value.partition("=")
        return (syntax.config_told.get(key.strip(), ""), text.strip().strip("\"'")) if is_given else ("", "")
    return "", ""


def _value(group: Sequence[str], name: str) -> str:
    hanging = group[0][len(name) :].removeprefix("=")
    return hanging or (group[1] if len(group) > 1 else "")
