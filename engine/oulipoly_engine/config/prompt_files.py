"""Prompt files: `NAME.md` in the folder `prompts`, a message with places for arguments; frontmatter is optional."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from oulipoly_engine.config import agent_files
from oulipoly_engine.config.base import text_file
from oulipoly_engine.core.accounts.resource_lists import is_path, is_switched_off
from oulipoly_engine.core.commands.slash.lines import Prompt
from oulipoly_engine.paths import Paths, expand_user

_MOST = 500
_NAME = re.compile(r"[^\W\d_]\S*")  # what can be written behind a slash


def read_prompts(paths: Paths, entries: Sequence[str] = ()) -> tuple[Prompt, ...]:
    """Return the user's prompts by name; a file that cannot be read is left out.

    entries: of the setting `prompts`, which adds files by their paths and switches prompts off.
    """
    files = [(name, paths.prompts / f"{name}.md") for name in agent_files.names(paths.prompts)]
    files += [(Path(entry).stem, expand_user(entry)) for entry in entries if is_path(entry)]
    prompts = (read_prompt(name, path) for name, path in files if not is_switched_off(entries, name))
    return tuple(islice((prompt for prompt in prompts if prompt is not None), _MOST))


def read_prompt(name: str, path: Path, prefix: str = "prompt") -> Prompt | None:
    """Return the prompt of a file; None: it cannot be read, or its name cannot be written behind a slash."""
    text = text_file.read_text(path) if _NAME.fullmatch(name) else None
    if not isinstance(text, str):
        return None
    description, body = _split(path, text)
    return Prompt(name, body.strip(), description, prefix)


def _split(path: Path, text: str) -> tuple[str, str]:
    """Return the description and the body; keys that cannot be read are part of the body."""
    if not text.startswith("---"):
        return "", text
    from oulipoly_engine.config.parse.agents import split_frontmatter  # noqa: PLC0415 - 100 ms, only keys need it

    keys, body = split_frontmatter(path, text)
    description = keys.get("description") if isinstance(keys, dict) else None
    return " ".join(str(description or "").split()), body
