"""Prompt files: `NAME.md` in a folder `prompts`, a message with places for arguments; frontmatter is optional.

The user's own, those that the setting `prompts` adds, those of a project that a person trusts as they are: of one name
the first counts, in this order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path

from oulipoly_engine.config import agent_files, small_files
from oulipoly_engine.config.base import text_file
from oulipoly_engine.config.base.layers import NOT_TRUSTED, Ignored
from oulipoly_engine.core.accounts.resource_lists import is_path, is_switched_off
from oulipoly_engine.core.commands.slash.lines import Prompt
from oulipoly_engine.paths import Paths, find_project
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import read_regular

_MOST = 500
_MOST_OF_PROJECT = 100
_LIMIT_OF_PROJECT = 64 << 10  # bytes of a file
_FOLDER = "prompts"
_NAME = re.compile(r"[^\W\d_]\S*")  # what can be written behind a slash


class ProjectPrompts(Record):
    """The prompt files of a project."""

    folder: Path
    texts: Mapping[str, str] = {}  # by name
    digest: str = ""  # SHA-256 of where they lie and what they say, which a person trusts


def read_prompts(paths: Paths, workspace: Path | None = None) -> tuple[Prompt, ...]:
    """Return the prompts that are on, by name; a file that cannot be read is left out.

    workspace: of the session that they are for; None: the folder that this process has begun in.
    """
    project = paths.above.project if workspace is None else find_project(workspace)
    paths = replace(paths, above=replace(paths.above, project=project))
    entries = small_files.read_settings(paths).value.prompts
    prompts: dict[str, Prompt] = {}
    for prompt in (*_read_own(paths, entries), *_read_trusted(paths)):
        prompts.setdefault(prompt.name, prompt)
    return tuple(prompts[name] for name in sorted(prompts) if not is_switched_off(entries, name))


def read_of_project(project: Path | None) -> ProjectPrompts:
    """Return the prompt files of a project's folder, trusted or not. Links are none: they would lead out of it."""
    if project is None:
        return ProjectPrompts(Path())
    folder = project / _FOLDER
    texts: dict[str, str] = {}
    digest = sha256(os.fsencode(folder))
    for name in agent_files.names(folder)[:_MOST_OF_PROJECT] if folder.is_dir() else ():
        with suppress(OSError, UnicodeDecodeError):
            raw = read_regular(folder / f"{name}.md", _LIMIT_OF_PROJECT, follows_links=False)
            texts[name] = raw.decode("utf-8-sig")
            digest.update(b"\0%s\0%d\0%s" % (os.fsencode(name), len(raw), raw))
    return ProjectPrompts(folder, texts, digest.hexdigest())


def list_ignored(paths: Paths) -> tuple[Ignored, ...]:
    """Return the prompt files of a project that nobody trusts."""
    files = read_of_project(paths.above.project)
    if not files.texts or _is_trusted(paths, files):
        return ()
    return tuple(Ignored(f"{_FOLDER}/{name}.md", str(files.folder / f"{name}.md"), NOT_TRUSTED) for name in files.texts)


def _is_trusted(paths: Paths, files: ProjectPrompts) -> bool:
    return paths.above.is_trusted(files.folder.parent, files.digest)


def _read_trusted(paths: Paths) -> Iterator[Prompt]:
    files = read_of_project(paths.above.project)
    if files.texts and _is_trusted(paths, files):
        for name, text in files.texts.items():
            yield from _make(name, files.folder / f"{name}.md", text)


def _read_own(paths: Paths, entries: tuple[str, ...]) -> Iterator[Prompt]:
    yield from islice(_read_folder(paths.prompts), _MOST)
    for path in (Path(entry).expanduser() for entry in entries if is_path(entry)):
        if path.is_dir():
            yield from islice(_read_folder(path), _MOST)
        elif isinstance(text := text_file.read_text(path), str):
            yield from _make(path.stem, path, text)


def _read_folder(folder: Path) -> Iterator[Prompt]:
    for name in agent_files.names(folder):
        path = folder / f"{name}.md"
        if isinstance(text := text_file.read_text(path), str):
            yield from _make(name, path, text)


def _make(name: str, path: Path, text: str) -> Iterator[Prompt]:
    if _NAME.fullmatch(name):
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
