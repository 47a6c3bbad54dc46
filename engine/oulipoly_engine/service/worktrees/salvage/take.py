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
from datetime import UTC, datetime
from pathlib import Path

from oulipoly_engine.core.worktrees.worktree_refusals import SalvageFailed
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.records import Record, asdict
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.looking import for_looking, list_ignored, offline
from oulipoly_engine.service.worktrees.base.repository import check, commit_of, find_admin_folder
from oulipoly_engine.service.worktrees.salvage.scratch import Entry, Scratch, scratch

PREFIX = "refs/agent-runner/salvage"
_GITLINK = "160000"
# What git writes anew for a worktree that is added, and what can be made again.
_NOT_KEPT = frozenset(("gitdir", "commondir", "locked", "modules", "AUTO_MERGE", "index.lock"))
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
    with scratch(git) as work:
        index, conflicts = _copy_index(work, admin, head)
        index_tree = work.text("write-tree", index=index)
        compared = work.path()
        shutil.copy2(index, compared)
        seen = _look(work, path, compared) if is_there else _Seen({}, {}, {})
        in_conflict = {one.path.split("/", 2)[2] for one in conflicts}
        tracked, missing = work.store_paths(path, sorted({*seen.changed, *in_conflict} if is_there else ()))
        tracked += [Entry(_GITLINK, commit, name) for name, commit in seen.links.items()]
        others, _ = work.store_paths(path, [name for name in seen.others if name not in in_conflict])
        tracked_tree = work.write_tree(tracked, index, [name for name in missing if name not in in_conflict])
        untracked_tree = work.write_tree(others)
        state_tree = work.write_tree([*_state_files(work, admin), *conflicts])
        parent = ("-p", head) if head else ()
        named = [] if admin is None else _named_commits(work, admin)
        salvage = Salvage(
            session_id=worktree.session_id,
            path=worktree.path,
            branch=worktree.branch,
            tip=tip,
            head=head,
            index=_commit(work, index_tree, "index", *parent),
            untracked=_commit(work, untracked_tree, "untracked files"),
            state=_commit(work, state_tree, "state of git", *_parents([tip, *named])),
        )
        left_out = _name_ignored(list_ignored(git)) if is_there and admin is not None else ""
        subject = f"Salvage of the worktree of session {worktree.session_id}{left_out}"
        message = f"{subject}\n\n{json.dumps(asdict(salvage))}"
        parents = _parents([head, salvage.index, salvage.untracked, salvage.state])
        commit = _commit(work, tracked_tree, message, *parents)
        if is_there and seen != _look(work, path, compared):
            raise GitFailed(f"something still writes files in {path}: end it, then try again")
    return _refer(shared, worktree.session_id, salvage, commit, now)


def _name_ignored(names: Sequence[str]) -> str:
    """Return what the subject of a salvage says of the files that are not in it: on one line, and not all of many."""
    if not names:
        return ""
    shown = ", ".join(json.dumps(name) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f", without what git ignores: {shown}{more}"


def _refer(shared: Git, session_id: str, salvage: Salvage, commit: str, now: datetime) -> Salvage:
    """Give a salvage its reference: only from then on it stands."""
    stem = f"{PREFIX}/{session_id}/{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"
    for ref in (stem, *(f"{stem}-{number}" for number in range(2, 100))):
        if commit_of(shared, ref) is None:
            check(shared, "update-ref", ref, commit, "0" * len(commit))
            return Salvage(**{**asdict(salvage), "ref": ref, "commit": commit})
    raise GitFailed(f"there are too many references like {stem}")


def read_salvage(git: Git, ref: str) -> Salvage:
    """Return what a reference holds. Raises SalvageFailed where it is gone or not one of ours."""
    commit = commit_of(git, ref)
    if commit is None:
        raise SalvageFailed(f"the reference {ref} is gone, and what it held with it")
    text = os.fsdecode(git.check("log", "-1", "--format=%B", commit)).partition("\n\n")[2]
    try:
        known = json.loads(text)
        salvage = Salvage(**{**{key: str(known[key]) for key in known}, "ref": ref, "commit": commit})
    except (ValueError, TypeError, AttributeError) as error:
        raise SalvageFailed(f"{ref} was not made by this program: `git show {ref}` shows it") from error
    # An agent can move the reference: what is not the name of a commit could be an option of git.
    always, sometimes = (salvage.index, salvage.untracked, salvage.state), (salvage.tip, salvage.head)
    if not all(_COMMIT.fullmatch(name.encode()) for name in (*always, *filter(None, sometimes))):
        raise SalvageFailed(f"{ref} was not made by this program: `git show {ref}` shows it")
    return salvage


def _copy_index(work: Scratch, admin: Path | None, head: str) -> tuple[Path, list[Entry]]:
    """Return a copy of the index, without its conflicts, and those: their files as entries below `stages/`."""
    index = work.path()
    if admin is not None and (admin / "index").is_file():
        shutil.copy2(admin / "index", index)
    elif head:
        work.run("read-tree", head, index=index)
    lines = [line for line in os.fsdecode(work.run("ls-files", "-u", "-z", index=index)).split("\0") if line]
    conflicts, names = [], set()
    for line in lines:
        words, _, name = line.partition("\t")
        mode, blob, stage = words.split(" ")
        names.add(name)
        if mode != _GITLINK:
            conflicts.append(Entry(mode, blob, f"stages/{stage}/{name}"))
    if names:
        work.write_tree((), index, names)
    return index, conflicts


class _Seen(Record):
    """What differs from the index at a moment; two of them are equal when nothing has changed between them."""

    changed: Mapping[str, tuple[int, ...]]  # tracked files by name, with how they were
    links: Mapping[str, str]  # submodules, with their commits
    others: Mapping[str, tuple[int, ...]]  # untracked files


def _look(work: Scratch, path: Path, index: Path) -> _Seen:
    """Return what differs from the index now, and what is untracked. Raises SalvageFailed for what cannot be kept."""
    _look_at_all_files(work, path, index)
    work.git.run("update-index", "-q", "--really-refresh", env={"GIT_INDEX_FILE": str(index)})
    raw = work.run("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=dirty", index=index)
    words = os.fsdecode(raw).split("\0")[:-1]
    changed, links = [], {}
    for told, name in zip(words[::2], words[1::2], strict=True):
        if told.startswith(f":{_GITLINK}") and (path / name / ".git").exists():
            links[name] = Git(path / name).text("rev-parse", "HEAD")
        else:
            changed.append(name)
    others = os.fsdecode(work.run("ls-files", "--others", "--exclude-standard", "-z", index=index)).split("\0")[:-1]
    nested = [name for name in others if name.endswith("/")] or _find_repositories(work, path, index)
    if nested:
        raise SalvageFailed(
            f"{path / nested[0]} is a git repository of its own, which cannot be kept with the worktree: "
            "move it away, then remove the worktree"
        )
    return _Seen(
        {name: _describe(path / name) for name in changed}, links, {name: _describe(path / name) for name in others}
    )


def _look_at_all_files(work: Scratch, path: Path, index: Path) -> None:
    """Have git compare those files too that it was told to take for unchanged, unless they are left out on purpose.

    With a sparse checkout git looks by itself at those that are there.
    """
    if is_sparse(work.git):
        return
    listed = os.fsdecode(work.run("ls-files", "-t", "-z", index=index)).split("\0")
    names = [line[2:] for line in listed if line.startswith("S ")]
    if names:
        fed = b"".join(os.fsencode(name) + b"\0" for name in names)
        work.run("update-index", "--no-skip-worktree", "-z", "--stdin", index=index, stdin=fed)


def is_sparse(git: Git) -> bool:
    """Tell whether a worktree has only some of its files on purpose."""
    return git.run("config", "--type=bool", "--get", "core.sparseCheckout").stdout.strip() == b"true"


def _find_repositories(work: Scratch, path: Path, index: Path) -> list[str]:
    """Return repositories in folders with tracked files and at the top, as their `.git`: git does not list those."""
    listed = os.fsdecode(work.run("ls-files", "-s", "-z", index=index)).split("\0")[:-1]
    folders = {""}
    for words, _, name in (line.partition("\t") for line in listed):
        names = name.split("/")
        folders |= {"/".join(names[:depth]) for depth in range(1, len(names))}
        if words.startswith(_GITLINK):
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


def _state_files(work: Scratch, admin: Path | None) -> list[Entry]:
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


def _named_commits(work: Scratch, admin: Path) -> list[str]:
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


def _commit(work: Scratch, tree: str, message: str, *parents: str) -> str:
    return work.text("commit-tree", tree, *parents, "-m", message)


def _parents(commits: list[str]) -> list[str]:
    return [word for commit in dict.fromkeys(commits) if commit for word in ("-p", commit)]
