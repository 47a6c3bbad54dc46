"""Keep what is in a worktree: one commit, made without changing anything in the worktree.

It has the form of a stash, so that `git stash apply REF` works without this program: its tree is that of the tracked
files as they are, its parents are HEAD, the index and the untracked files. A fourth one holds git's own state of the
worktree: index and HEAD as files, an unfinished merge, rebase or bisection, the reflog, and every commit they name.
Files that differ are stored as they are, byte by byte: no filter and no line ending is applied. What git ignores is not
kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from oulipoly_engine.core.worktrees.worktree_refusals import SalvageFailed
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.records import Record, asdict, replace
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed, join_names
from oulipoly_engine.service.worktrees.base.looking import for_looking, list_ignored, offline
from oulipoly_engine.service.worktrees.base.repository import commit_of, find_admin_folder
from oulipoly_engine.service.worktrees.snapshot.objects import GITLINK, RESTORING, Entry, Objects, open_objects
from oulipoly_engine.service.worktrees.snapshot.references import (
    SALVAGE,
    TURN_INDEX,
    message_of,
    read_message,
    refer,
    reference_time,
)

# What git writes anew for a worktree that is added, and what can be made again.
_NOT_KEPT = frozenset(("gitdir", "commondir", "locked", "modules", "AUTO_MERGE", "index.lock", TURN_INDEX, RESTORING))
_LARGEST_STATE = 64 << 20  # bytes of one file of git's state; an index of a million files is about that large
_COMMIT = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_MOST_COMMITS = 1000  # of the reflog, the last ones
_TRIES = 3
_NAMED = 10  # ignored files and folders, in the subject of a salvage


class Salvage(Record):
    """What a salvage commit holds; its message has this as JSON."""

    session_id: str
    path: str
    branch: str
    tip: str  # of the branch; empty: it was gone
    head: str  # the commit of HEAD; empty: it had none
    index: str  # commit of the index's files
    untracked: str
    state: str  # commit of git's own state
    ref: str = ""
    commit: str = ""


def take_salvage(worktree: Worktree, now: datetime) -> Salvage:
    """Keep all that a worktree holds, and return where. Nothing in it changes. Raises SalvageFailed.

    A worktree whose folder was deleted has its index and its branch kept.
    """
    path, git_folder = Path(worktree.path), Path(worktree.git_folder)
    for attempt in range(1, _TRIES + 1):
        try:
            return _take(worktree, path, find_admin_folder(git_folder, path), now)
        except (GitFailed, OSError) as error:  # a file may have come or gone meanwhile
            if attempt == _TRIES:
                why = getattr(error, "message", "") or str(error)
                raise SalvageFailed(f"what is in {path} cannot be kept, so it is not removed: {why}") from error
    raise AssertionError


def _take(worktree: Worktree, path: Path, admin: Path | None, now: datetime) -> Salvage:
    git_folder = Path(worktree.git_folder)
    shared = offline(Git(git_folder, {"GIT_DIR": str(git_folder)}))
    env = {"GIT_DIR": str(admin or git_folder)}
    is_there = path.is_dir() and not path.is_symlink()
    if is_there:
        env["GIT_WORK_TREE"] = str(path)
    git = for_looking(offline(Git(path if is_there else git_folder, env)))
    tip = commit_of(shared, f"refs/heads/{worktree.branch}") or ""
    head = (commit_of(git, "HEAD") if admin is not None else "") or tip
    with open_objects(git) as work:
        index, conflicts = (work.path(), {}) if admin is None else work.copy_index()
        if head and not index.is_file():
            work.run("read-tree", head, index=index)
        index_tree = work.text("write-tree", index=index)
        compared = work.path()
        shutil.copy2(index, compared)
        seen = _look(work, path, compared) if is_there else _Seen({}, {}, {})
        tracked, missing = work.store_paths(path, sorted({*seen.changed, *conflicts} if is_there else ()))
        tracked += [Entry(GITLINK, commit, name) for name, commit in seen.links.items()]
        others, _ = work.store_paths(path, [name for name in seen.others if name not in conflicts])
        gone = [name for name in missing if name not in conflicts]
        tracked_tree = index_tree
        if tracked or gone:
            tracked_tree = work.write_tree(tracked, index, gone)
        stages = [entry for entries in conflicts.values() for entry in entries if entry.mode != GITLINK]
        state_tree = work.write_tree([*_state_files(work, admin), *stages])
        named = [] if admin is None else _named_commits(work, admin)
        salvage = Salvage(
            session_id=worktree.session_id,
            path=worktree.path,
            branch=worktree.branch,
            tip=tip,
            head=head,
            index=work.commit(index_tree, "index", head),
            untracked=work.commit(work.write_tree(others), "untracked files"),
            state=work.commit(state_tree, "state of git", tip, *named),
        )
        left_out = _name_ignored(list_ignored(git)) if is_there and admin is not None else ""
        message = message_of(f"Salvage of the worktree of session {worktree.session_id}{left_out}", asdict(salvage))
        commit = work.commit(tracked_tree, message, head, salvage.index, salvage.untracked, salvage.state)
        if is_there and seen != _look(work, path, compared):
            raise GitFailed(f"something still writes files in {path}: end it, then try again")
    ref = refer(shared, f"{SALVAGE}/{worktree.session_id}/{reference_time(now)}", commit)
    return replace(salvage, ref=ref, commit=commit)


def _name_ignored(names: Sequence[str]) -> str:
    """Return what the subject of a salvage says of the files that are not in it: on one line, and not all of many."""
    if not names:
        return ""
    shown = ", ".join(json.dumps(name) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f", without what git ignores: {shown}{more}"


def read_salvage(git: Git, ref: str) -> Salvage:
    """Return what a reference holds. Raises SalvageFailed where it is gone or not one of ours."""
    commit = commit_of(git, ref)
    if commit is None:
        raise SalvageFailed(f"the reference {ref} is gone, and what it held with it")
    try:
        known = read_message(git.text("log", "-1", "--format=%B", commit))
        salvage = Salvage(**{**{key: str(known[key]) for key in known}, "ref": ref, "commit": commit})
    except (ValueError, TypeError) as error:
        raise SalvageFailed(f"{ref} was not made by this program: `git show {ref}` shows it") from error
    # An agent can move the reference: what is not the name of a commit could be an option of git.
    always, sometimes = (salvage.index, salvage.untracked, salvage.state), (salvage.tip, salvage.head)
    if not all(_COMMIT.fullmatch(name.encode()) for name in (*always, *filter(None, sometimes))):
        raise SalvageFailed(f"{ref} was not made by this program: `git show {ref}` shows it")
    return salvage


class _Seen(Record):
    """What differs from the index at a moment; two of them are equal when nothing has changed between them."""

    changed: Mapping[str, tuple[int, ...]]  # tracked files by name, with how they were
    links: Mapping[str, str]  # submodules, with their commits
    others: Mapping[str, tuple[int, ...]]  # untracked files


def _look(work: Objects, path: Path, index: Path) -> _Seen:
    """Return what differs from the index now, and what is untracked. Raises SalvageFailed for what cannot be kept."""
    files = work.names("ls-files", "-s", "-t", "-z", index=index)
    _look_at_all_files(work, files, index)
    work.git.run("update-index", "-q", "--really-refresh", env={"GIT_INDEX_FILE": str(index)})
    words = work.names("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=dirty", index=index)
    changed, links = [], {}
    for told, name in zip(words[::2], words[1::2], strict=True):
        if told.startswith(f":{GITLINK}") and (path / name / ".git").exists():
            links[name] = Git(path / name).text("rev-parse", "HEAD")
        else:
            changed.append(name)
    others = work.names("ls-files", "--others", "--exclude-standard", "-z", index=index)
    nested = [name for name in others if name.endswith("/")] or _find_repositories(path, files)
    if nested:
        raise SalvageFailed(
            f"{path / nested[0]} is a git repository of its own, which cannot be kept with the worktree: "
            "move it away, then remove the worktree"
        )
    return _Seen(
        {name: _describe(path / name) for name in changed}, links, {name: _describe(path / name) for name in others}
    )


def _look_at_all_files(work: Objects, files: Sequence[str], index: Path) -> None:
    """Have git compare those files too that it was told to take for unchanged, unless they are left out on purpose.

    With a sparse checkout git looks by itself at those that are there. files: as `ls-files -s -t` names them.
    """
    names = [line.partition("\t")[2] for line in files if line.startswith("S ")]
    if names and not is_sparse(work.git):
        work.run("update-index", "--no-skip-worktree", "-z", "--stdin", index=index, stdin=join_names(names))


def is_sparse(git: Git) -> bool:
    """Tell whether a worktree has only some of its files on purpose."""
    return git.run("config", "--type=bool", "--get", "core.sparseCheckout").stdout.strip() == b"true"


def _find_repositories(path: Path, files: Sequence[str]) -> list[str]:
    """Return repositories in folders with tracked files and at the top, as their `.git`: git does not list those.

    files: as `ls-files -s -t` names them.
    """
    folders = {""}
    for words, _, name in (line.partition("\t") for line in files):
        names = name.split("/")
        folders |= {"/".join(names[:depth]) for depth in range(1, len(names))}
        if words.split()[1] == GITLINK:
            folders.add(name)
    found = (f"{name}/.git".lstrip("/") for name in sorted(folders))
    return [name for name in found if _is_folder(path / name)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _describe(path: Path) -> tuple[int, ...]:
    """Return what changes when somebody writes a file; nothing for one that is not there."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino


def _state_files(work: Objects, admin: Path | None) -> list[Entry]:
    """Store git's own files of a worktree and return them below `state/`."""
    if admin is None:
        return []
    names = [file.relative_to(admin).as_posix() for file in _files(admin)]
    entries, _ = work.store_paths(admin, names)
    return [Entry(one.mode, one.blob, f"state/{one.path}") for one in entries]


def _files(admin: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(admin):
        if Path(folder) == admin:
            folders[:] = [name for name in folders if name not in _NOT_KEPT]
            names = [name for name in names if name not in _NOT_KEPT]
        for name in sorted(names):
            file = Path(folder, name)
            status = file.lstat()  # a FIFO would be waited at
            if not name.endswith(".lock") and stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST_STATE:
                yield file


def _named_commits(work: Objects, admin: Path) -> list[str]:
    """Return the commits that git's files of a worktree name, the reflog's last ones among them."""
    found: dict[str, None] = {}
    for file in _files(admin):
        if file.name != "index" and not file.name.startswith("sharedindex."):
            found |= dict.fromkeys(match.decode() for match in reversed(_COMMIT.findall(file.read_bytes())))
    names = [name for name in found if set(name) != {"0"}][:_MOST_COMMITS]
    if not names:
        return []
    told = work.text("cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in names).encode())
    return [words[0] for words in (line.split() for line in told.splitlines()) if words[1:2] == ["commit"]]
