"""What a session asks of its CLI in words that are the same for all CLIs, and what it is in a CLI's own. Pure.

A CLI that cannot do it refuses it by name: nothing that was asked for is left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from oulipoly_engine.core.accounts.clis.cli import Cli, LiveProtocol
from oulipoly_engine.core.live.launch.words import LiveWords, read_words
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record

ThinkingLevel = Literal["none", "minimal", "standard", "thorough"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = get_args(ThinkingLevel)
_LONGEST_TEXT = 100_000  # bytes: Linux takes 128 KiB in one argument


class CliOptions(Record):
    """What is asked for; empty: as the CLI does by itself."""

    thinking: ThinkingLevel | None = None
    system_prompt: str = ""  # a text behind the CLI's own
    tools: tuple[str, ...] | None = None  # in the CLI's own names, and no others; None: all
    is_unkept: bool = False  # the CLI is to keep no session, where it can do that


_NOTHING = LiveProtocol("")


def parse_thinking(text: str) -> ThinkingLevel:
    """Return a level of thinking, whatever its case. Raises UsageInvalid, which lists them."""
    for level in THINKING_LEVELS:
        if level == text.strip().casefold():
            return level
    raise UsageInvalid(f"there is no thinking level {text[:80]!r}: choose from {', '.join(THINKING_LEVELS)}")


def check_system_prompt(text: str) -> str:
    """Return a text that an argument can carry, and that may be kept and shown. Raises UsageInvalid."""
    size = len(text.encode("utf-8", "replace"))
    if size > _LONGEST_TEXT:
        raise UsageInvalid(f"the system prompt has {size:,} bytes: {_LONGEST_TEXT:,} is the most")
    is_utf_8 = not any("\udc80" <= letter <= "\udcff" for letter in text)  # as bytes come in that are none
    if not text.strip() or "\0" in text or not is_utf_8:
        raise UsageInvalid("the system prompt is empty, or no text")
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 3 ms, who only looks sends no text

    if redact(text) != text:
        raise UsageInvalid("the system prompt holds what looks like a secret: any user of this machine could read it")
    return text


def choose_thinking(cli: Cli | None, wanted: str | None) -> ThinkingLevel | None:
    """Return the level that a setting wants of a CLI; None: it has none such, and a setting asks for nothing then."""
    protocol = None if cli is None else cli.live
    levels = () if protocol is None else protocol.thinking
    return next((level for level in THINKING_LEVELS if level == wanted and level in levels), None)


def find_refusal(runtime: Runtime, cli: Cli | None, options: CliOptions) -> str:
    """Say what a runtime cannot do of what is asked for; empty: it can do all."""
    name = runtime.id if cli is None else f"{cli.title} ({runtime.id})"
    protocol = (cli.live if cli is not None else None) or _NOTHING
    if options.thinking is not None and options.thinking not in protocol.thinking:
        known = ", ".join(protocol.thinking)
        return f"{name} has no thinking level {options.thinking!r}: " + (
            f"it has {known}" if known else "it takes none; leave out --thinking"
        )
    if options.system_prompt and protocol.system_prompt is None:
        return f"{name} takes no text for its system prompt from us: leave out --append-system-prompt"
    if options.tools is not None and protocol.tools is None:
        return f"{name} cannot be held to some tools from here: leave out --tools"
    return ""


def words_for(runtime: Runtime, cli: Cli | None, options: CliOptions) -> tuple[LiveWords, tuple[str, ...]]:
    """Return what is asked for as the user's own words, and as those of ours. Raises UsageInvalid as `find_refusal`."""
    if refusal := find_refusal(runtime, cli, options):
        raise UsageInvalid(refusal)
    protocol = (cli.live if cli is not None else None) or _NOTHING
    own: tuple[str, ...] = ()
    if options.tools is not None and protocol.tools is not None:
        own = protocol.tools(options.tools)
    unkept = protocol.unkept if options.is_unkept else ()
    return read_words(runtime.kind, tuple(_usual_words(protocol, options)), protocol), (*own, *unkept)


def _usual_words(protocol: LiveProtocol, options: CliOptions) -> Iterator[str]:
    if options.thinking is not None:
        yield from protocol.thinking[options.thinking]
    if options.system_prompt and protocol.system_prompt is not None:
        yield from protocol.system_prompt(options.system_prompt)
