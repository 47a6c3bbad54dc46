"""Prompt files: `NAME.md` in the folder `prompts`, a message with places for arguments; frontmatter is optional."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from oulipoly_engine.config import agent_files
from oulipoly_engine.config.base import text_file
from oulipoly_engine.core.commands.slash.lines import Prompt
from oulipoly_engine.paths import Paths

_MOST = 500
_NAME = re.compile(r"[^\W\d_]\S*")  # what can be written behind a slash


def read_prompts(paths: Paths) -> tuple[Prompt, ...]:
    """Return the user's prompts by name; a file that cannot be read is left out."""
    return tuple(islice(_read_folder(paths.prompts), _MOST))


def _read_folder(folder: Path) -> Iterator[Prompt]:
    for name in agent_files.names(folder):
        path = folder / f"{name}.md"
        text = text_file.read_text(path) if _NAME.fullmatch(name) else None
        if isinstance(text, str):
            description, body = _split(path, text)
            yield Prompt(name, body.strip(), description)


def _split(path: Path, text: str) -> tuple[str, str]:
    """Return the description and the body; keys that cannot be read are part of the body."""
    if not text.startswith("---"):
        return "", text
    from oulipoly_engine.config.parse.agents import split_frontmatter  # noqa: PLC0415 - 100 ms, only keys need it

    keys, body = split_frontmatter(path, text)
    description = keys.get("description") if isinstance(keys, dict) else None
    return " ".join(str(description or "").split()), body
