"""Which prompt is meant and how it reaches the CLI. Pure: the texts were read elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import PromptMode
from oulipoly_engine.errors import PromptMissing

# Contract, section 2.7: 100 KiB and not a byte more. Linux refuses a single argument of 128 KiB (MAX_ARG_STRLEN).
INLINE_LIMIT_BYTES = 102_400


class Transport(StrEnum):
    """How a prompt travels."""

    INLINE = "inline"  # the last argument
    FILE = "file"  # a file in the working directory, and an argument that names it
    STDIN = "stdin"


def transport(mode: PromptMode, size_bytes: int) -> Transport:
    """Choose how a prompt of that size travels."""
    if mode is PromptMode.STDIN:
        return Transport.STDIN
    return Transport.FILE if size_bytes > INLINE_LIMIT_BYTES else Transport.INLINE


def to_bytes(prompt: str) -> bytes:
    """Return the bytes the CLI gets: UTF-8, and undecodable bytes of the command line as they were."""
    return prompt.encode("utf-8", "surrogateescape")


def file_name(uuid: str) -> str:
    """Return the name of the prompt file of one invocation."""
    return f"_agent_prompt_{uuid}.md"


def file_instruction(path: Path) -> str:
    """Return the one line that takes the place of a prompt too long for an argument.

    A folder with a line break in its name is left out: the file lies in the CLI's working directory anyway.
    """
    shown = str(path) if str(path).isprintable() else path.name
    return f"Read the file {shown} and follow the instructions in it; it is your whole prompt."


def choose(file_text: str | None, words: Sequence[str], piped: str | None) -> str:
    """Return the prompt: the file's text, else the words joined by one space, else what was piped in.

    file_text, piped: None where no file was named or nothing is piped (a terminal).
    Raises PromptMissing when nothing was given or the one that counts is blank.
    """
    if file_text is not None:
        return _not_blank(file_text, "the prompt file is empty: write the prompt into it")
    if words:
        return _not_blank(" ".join(words), "the prompt is empty: give some text")
    if piped is not None:
        return _not_blank(piped, "the prompt on stdin is empty: pipe some text, or give it as an argument")
    raise PromptMissing("no prompt was given: add it as an argument, with --file FILE, or pipe it in")


def with_instructions(body: str, prompt: str) -> str:
    """Put an agent's instructions, if it has any, and two newlines before the prompt."""
    return f"{body}\n\n{prompt}" if body else prompt


def _not_blank(prompt: str, message: str) -> str:
    if not prompt.strip():
        raise PromptMissing(message)
    return prompt
