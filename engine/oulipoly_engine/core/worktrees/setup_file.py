"""The file `.agent-runner.toml` of a repository: how a worktree of it is set up. Pure.

[worktree]
setup = ["npm ci"]            # shell lines, run in the new worktree; one line may be given alone
teardown = "docker compose down"
copy = [".env"]               # ignored files and folders of the main checkout that are copied into it
link = ["node_modules"]       # … or linked
ports = 10                    # how many ports it gets: PORT_FIRST to PORT_LAST
timeout_s = 600               # of each command
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from typing import Any

from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.worktrees.worktree_refusals import SetupInvalid
from oulipoly_engine.records import Record, asdict

NAME = ".agent-runner.toml"
_LISTS = ("setup", "teardown", "copy", "link")
_MOST_PORTS, _LONGEST_S = 100, 3600


class Setup(Record):
    """How a worktree is set up and taken down."""

    setup: tuple[str, ...] = ()
    teardown: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    ports: int = 10
    timeout_s: int = 600

    @property
    def commands(self) -> tuple[str, ...]:
        """Return every command that would run."""
        return self.setup + self.teardown

    @property
    def digest(self) -> str:
        """Return what stands for the commands, and for what they find, in exactly these words."""
        words = json.dumps([self.setup, self.teardown, self.copy, self.link], ensure_ascii=False)
        return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def read_setup(text: str) -> Setup:
    """Read the file. Raises SetupInvalid, which names the key."""
    try:
        table = tomllib.loads(text).get("worktree", {})
    except tomllib.TOMLDecodeError as error:
        raise SetupInvalid(f"{NAME} is not valid TOML: {error}") from error
    if not isinstance(table, dict):
        raise SetupInvalid(f"{NAME}: `worktree` is not a table: write [worktree]")
    for key in table:
        if key not in Setup.__struct_fields__:  # type: ignore[attr-defined]
            raise SetupInvalid(f"{NAME}: [worktree] has no key {key!r}: {', '.join(_LISTS)}, ports, timeout_s")
    lists = {key: _read_list(key, table[key]) for key in _LISTS if key in table}
    for key in ("copy", "link"):
        for path in lists.get(key, ()):
            _check_path(key, path)
    ports = _read_number("ports", table, 10, _MOST_PORTS, least=0)
    return Setup(**lists, ports=ports, timeout_s=_read_number("timeout_s", table, 600, _LONGEST_S, least=1))


def ask_for_commands(repository: str, setup: Setup) -> Prompt:
    """Return what a person is asked before the commands of a repository run: all of them, and what they find."""
    parts = (("in each new worktree", setup.setup), ("before each removal", setup.teardown))
    lines = [line for when, commands in parts if commands for line in (f"# {when}", *commands)]
    files = (("copied from", setup.copy), ("linked to", setup.link))
    reasons = (
        f"{NAME} has a shell run these, as you, for every worktree of it, as long as they stay as they are.",
        *(f"Files {how} your checkout: {', '.join(paths)}." for how, paths in files if paths),
    )
    title = f"Allow the set-up commands of {repository}?"
    return Prompt(title, "\n".join(lines), cwd=repository, reason="\n".join(reasons))


def setup_from(kept: Mapping[str, Any]) -> Setup:
    """Return the settings that were kept with a worktree."""
    lists = {key: tuple(kept.get(key, ())) for key in _LISTS}
    return Setup(**lists, ports=int(kept.get("ports", 10)), timeout_s=int(kept.get("timeout_s", 600)))


def setup_to_keep(setup: Setup) -> dict[str, Any]:
    """Return settings as they are kept with a worktree."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(setup).items()}


def _read_list(key: str, value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) and each.strip() for each in values):
        raise SetupInvalid(f"{NAME}: `{key}` is not a text or a list of texts")
    if any("\0" in each for each in values):
        raise SetupInvalid(f"{NAME}: `{key}` has a NUL character")
    return tuple(values)


def _read_number(key: str, table: Mapping[str, Any], default: int, most: int, *, least: int) -> int:
    value = table.get(key, default)
    if type(value) is not int or not least <= value <= most:
        raise SetupInvalid(f"{NAME}: `{key}` is {value!r}: give a whole number from {least} to {most}")
    return value


def _check_path(key: str, path: str) -> None:
    parts = path.rstrip("/").split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise SetupInvalid(f"{NAME}: `{key}` names {path!r}: give a path below the repository's folder, without `..`")
