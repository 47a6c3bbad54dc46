"""Git for looks and for orders: what a repository's own configuration may start, and what git's refusals mean."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.core.worktrees.refusals import (
    ChangesTimedOut,
    FileMissing,
    FileTooLarge,
    GitUnavailable,
    IndexLocked,
)
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.process.script import ScriptResult
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed, describe_failure, explain, is_missing, verb_of
from oulipoly_engine.service.worktrees.base.looking import OFFLINE

LITERAL = "--literal-pathspecs"
_LOOKING = ("-c", "log.showSignature=false", "-c", "submodule.recurse=false", "-c", "core.bigFileThreshold=16m")
_USAGE = 129  # git's exit code
_LOCKED = re.compile(r"Unable to create '(.*index\.lock)'")


def git_in(folder: Path, *, above: Path | None = None) -> Git:
    """Return git in a folder for orders of a person: filters run, the network is not used, nothing is fetched.

    above: a folder at which the search for a repository ends; the worktree itself has to be one.
    """
    ceiling = {} if above is None else {"GIT_CEILING_DIRECTORIES": str(above)}
    return Git(folder, env=OFFLINE | ceiling)


def look(git: Git, *words: str, timeout_s: float = 10.0, output_limit: int = 16 << 20) -> ScriptResult:
    """Run git for a look and return how it ended. git: of `for_looking`. Raises ChangesTimedOut."""
    result = git.run(*_LOOKING, *words, timeout_s=timeout_s, output_limit=output_limit)
    if is_missing(result):
        raise GitUnavailable("git is not installed, or not on the PATH: install git 2.38 or newer")
    if result.problem is not None and result.problem.startswith("timed out"):
        raise ChangesTimedOut(f"git {verb_of(words)} took more than {timeout_s:g} s in {git.folder}: try it there")
    return result


def look_at(git: Git, *words: str, timeout_s: float = 10.0, output_limit: int = 16 << 20) -> bytes:
    """Run git for a look and return what it printed. Raises RequestRefused as `refusal` says."""
    result = look(git, *words, timeout_s=timeout_s, output_limit=output_limit)
    if not result.succeeded:
        raise refusal(git, words, result)
    return result.stdout


def line_of(git: Git, *words: str) -> str:
    """Return the line that git prints for a look. Raises as `look_at`."""
    return os.fsdecode(look_at(git, *words)).rstrip("\n")


def order(
    git: Git,
    *words: str,
    hooks: bool = False,
    timeout_s: float = 60.0,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> bytes:
    """Have git do something, and return what it printed. Raises RequestRefused as `refusal` says."""
    result = git.run("-c", "submodule.recurse=false", *words, hooks=hooks, timeout_s=timeout_s, env=env, stdin=stdin)
    if not result.succeeded:
        raise refusal(git, words, result)
    return result.stdout


def order_line(git: Git, *words: str, env: Mapping[str, str] | None = None) -> str:
    """Have git do something, and return the line that it printed. Raises as `order`."""
    return os.fsdecode(order(git, *words, env=env)).strip()


def refusal(git: Git, words: tuple[str, ...], result: ScriptResult) -> RequestRefused:
    """Return the error that says why git refused, and what to do."""
    said, name = result.stderr.decode("utf-8", "replace"), verb_of(words)
    if result.problem is not None:
        if result.problem.startswith("printed more"):
            return FileTooLarge(f"git {name} {result.problem} in {git.folder}: look at it there")
        return ChangesTimedOut(f"git {name} {result.problem} in {git.folder}: try it there")
    if result.exit_code == _USAGE:
        return GitFailed(f"this git does not know all of `git {name}` that is needed: install git 2.38 or newer")
    if (locked := _LOCKED.search(said)) is not None:
        return IndexLocked(
            f"another git is at work in {git.folder}: wait until it has ended; if none is, a killed one has left "
            f"{locked[1]}: delete that file"
        )
    if "not a git repository" in said or "must be run in a work tree" in said:
        return GitUnavailable(f"{git.folder} is not a git repository with files: open the session on one")
    if "did not match any file" in said:
        return FileMissing(f"git knows no such file in {git.folder}: {describe_failure(result)}")
    if "ident name" in said or "tell me who you are" in said or "auto-detect email" in said:
        return GitFailed(
            "git does not know who commits: `git config --global user.name NAME` and `user.email ADDRESS` tell it"
        )
    return explain(result, name)
