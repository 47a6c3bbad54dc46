"""Older ways of saying things: command lines in one text, storage kinds without scripts, accounts in models. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from oulipoly_engine.config.base.problem import Fault
from oulipoly_engine.core.accounts.accounts import StorageSpec, StorageType
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS

# What an account's entry holds today and a model's file held in older configurations.
OLD_ENTRY_KEYS = ("command", "resume", "session_capture", "session_storage", "resume_acceptance", "prompt_mode")
OLD_TOP_KEYS = (*OLD_ENTRY_KEYS, "args", "interactive_args")
_WORD = re.compile(r'(?:"[^"]*"|[^\s"])+')
_BARE = re.compile(r"[A-Za-z0-9/._~-]+")
_ASSIGNMENT = re.compile(r"[A-Z][A-Za-z0-9_]*=")
_TAKES_VALUE = ("-u", "-e", "-S")
_FAMILIES = {known.adapter: known for known in ADAPTERS.values() if known.storage_type}
FOLDER_KINDS = {family.replace("-", "_"): family for family in _FAMILIES}  # of storage that named a folder


def split_command(line: str) -> tuple[str, ...]:
    """Split an old command line at whitespace; double quotes group, and nothing else is special."""
    return tuple(match.group().replace('"', "") for match in _WORD.finditer(line))


def wrapper_length(words: Sequence[str]) -> int:
    """Return how many words stand before the real executable: `env`, its flags and its assignments."""
    position = 0
    while position < len(words):
        word = words[position]
        if word in _TAKES_VALUE:
            position += 2
        elif PurePath(word).name == "env" or word.startswith("-") or _ASSIGNMENT.match(word):
            position += 1
        else:
            return position
    return len(words)


def derive_provider_name(command_line: str) -> str:
    """Return the account an old command line stands for: the real executable's name, without its folder.

    The folder goes because an account's name is also a folder of ours. No executable gives the last word; an empty
    line gives an empty name.
    """
    words = split_command(command_line)
    if not words:
        return ""
    position = wrapper_length(words)
    return PurePath(words[position] if position < len(words) else words[-1]).name


def shell_word(text: str) -> str:
    """Quote a word for a shell line: bare if it has only `A-Za-z0-9/._-~`, else in single quotes."""
    return text if _BARE.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def folder_word(folder: str, home: Path) -> str:
    """Quote a folder for a shell line; `~` is replaced where quotes would keep the shell from doing so."""
    return folder if _BARE.fullmatch(folder) else shell_word(str(expand(folder, home)))


def expand(text: str, home: Path) -> Path:
    """Return a path with a leading `~` replaced by the home folder."""
    if text == "~":
        return home
    return home / text[2:] if text.startswith("~/") else Path(text)


def script_storage(family: str, root_word: str) -> dict[str, str]:
    """Return the storage block of a CLI family, "claude-code" or "codex", whose sessions lie under a folder.

    root_word: the folder, quoted for the shell.
    """
    return {
        "kind": "script",
        "cwd_script": f"{family}-cwd {root_word}",
        "transcript_script": f"{family}-locate-transcript {root_word}",
        "storage_type": _FAMILIES[family].storage_type,
    }


def storage_from_folder(kind: str, folder: str, home: Path) -> StorageSpec:
    """Return the storage that a legacy kind, "claude_code" or "codex", stands for."""
    block = script_storage(FOLDER_KINDS[kind], folder_word(folder, home))
    return StorageSpec(
        block["cwd_script"], block["transcript_script"], StorageType(block["storage_type"]), expand(folder, home)
    )


def folder_key(kind: str) -> str:
    """Return the key that holds a legacy storage kind's folder."""
    return f"{_FAMILIES[FOLDER_KINDS[kind]].below}_dir"


def adapter_root(script: str) -> tuple[str, str] | None:
    """Read a bundled adapter's command line: its family and the rest of the line, quoted as it was.

    `claude-code-turns ~/.claude/projects` gives ("claude-code", "~/.claude/projects"). None for any other script.
    """
    adapter, _, root = script.strip().partition(" ")
    for family in _FAMILIES:
        if PurePath(adapter).name in (f"{family}-turns", f"{family}-cwd", f"{family}-locate-transcript"):
            return (family, root.strip()) if root.strip() else None
    return None


def old_keys(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Find old per-provider configuration: one fault for the file, at its first old key."""
    found: list[tuple[tuple[str | int, ...], str]] = [((key,), key) for key in OLD_TOP_KEYS if key in data]
    members = data.get("providers")
    for place, entry in enumerate(members if isinstance(members, list) else ()):
        if isinstance(entry, dict):
            found += [(("providers", place, key), key) for key in OLD_ENTRY_KEYS if key in entry]
    if found:
        keys = ", ".join(f"`{key}`" for key in dict.fromkeys(key for _, key in found))
        message = f"this is old per-provider config: {keys} now belong to the accounts in providers.toml"
        yield Fault(found[0][0], message, "run `agents migrate-config`")
