"""References that hold what a removal, a move or a discard would have lost: written, found when old, and dropped."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.worktrees.retention import KeptReference
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import replace
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed, explain
from oulipoly_engine.service.worktrees.base.looking import offline
from oulipoly_engine.service.worktrees.base.repository import Resources, commit_of, hold_session, open_repository
from oulipoly_engine.service.worktrees.base.repository_lock import lock_repository
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import turn_files
from oulipoly_engine.store.worktrees import worktrees

SALVAGE, BACKUP, DISCARDED, TURN = (f"refs/agent-runner/{kind}" for kind in ("salvage", "backup", "discarded", "turn"))
TURN_INDEX = "agent-runner-index"  # what is known of the files at the last turn, in git's own folder of a worktree
_KINDS = {SALVAGE: "salvage", BACKUP: "backup", DISCARDED: "discarded"}
_FORMAT = "--format=%(refname)%00%(objectname)%00%(contents)%00"
_TIME = "%Y%m%dT%H%M%S.%fZ"


def reference_time(now: datetime) -> str:
    """Return a time as a part of a reference's name, which sorts as the times do."""
    return f"{now.astimezone(UTC):{_TIME}}"


def refer(git: Git, stem: str, commit: str) -> str:
    """Give a commit a reference, and return its name: only from then on it stands. Raises GitFailed.

    stem: its name, which gets a number behind it where there is such a reference already.
    """
    for name in (stem, *(f"{stem}-{number}" for number in range(2, 100))):
        result = git.run("update-ref", name, commit, "0" * len(commit))
        if result.succeeded:
            return name
        if commit_of(git, name) is None:
            raise explain(result, "update-ref")
    raise GitFailed(f"there are too many references like {stem}")


def message_of(subject: str, document: Mapping[str, Any]) -> str:
    """Return the message of a commit that holds what we have kept. document: what JSON can hold."""
    return f"{subject}\n\n{json.dumps(document)}"  # half characters are escaped in it


def read_message(message: str) -> dict[str, Any]:
    """Return the document in a commit's message. Raises ValueError where it has none: an agent may have written it."""
    try:
        document = json.loads(message.partition("\n\n")[2])
    except RecursionError as error:
        raise ValueError from error
    if not isinstance(document, dict):
        raise ValueError  # noqa: TRY004 - of what was read
    return document


def find_old(worktree: Worktree, before: datetime) -> tuple[KeptReference, ...]:
    """Return the references of a removed worktree's session that are older than a time, oldest first.

    The newest one of each kind is never among them, nor what `restore` brings back. None where git says nothing.
    """
    if worktree.state != "removed":
        return ()
    git_folder = Path(worktree.git_folder)
    references: list[KeptReference] = []
    for prefix, kind in _KINDS.items():
        own = [*_read(git_folder, f"{prefix}/{worktree.session_id}/", kind, worktree.session_id)]
        own.sort(key=lambda reference: (reference.made_at, reference.name))
        references += (older for older in own[:-1] if older.made_at < before and older.name != worktree.salvage)
    return tuple(sorted(references, key=lambda reference: reference.made_at))


def find_old_turns(store: Store, before: datetime, folder: Path | None) -> tuple[KeptReference, ...]:
    """Return the snapshots of turns that are older than a time, and that no later turn has, oldest first.

    The newest one of a session is never among them, unless a person has deleted the session. folder: the repository's.
    """
    uses: dict[str, dict[str, turn_files.Use]] = defaultdict(dict)
    for use in turn_files.list_uses(store):
        uses[use.session_id][use.reference] = use
    references: list[KeptReference] = []
    for session_id, known in uses.items():
        session = next(iter(known.values()))
        git_folder = _find_git_folder(store, session_id, Path(session.workspace))
        if git_folder is None or folder not in (None, git_folder):
            continue
        own = []
        for reference in _read(git_folder, f"{TURN}/{session_id}/", "turn", session_id):
            last_use = known.get(reference.name)
            made_at = reference.made_at if last_use is None else max(reference.made_at, from_text(last_use.last_at))
            own.append(replace(reference, made_at=made_at, git_folder=str(git_folder)))
        own.sort(key=lambda reference: (reference.made_at, reference.name))
        references += (older for older in (own if session.is_deleted else own[:-1]) if older.made_at < before)
    return tuple(sorted(references, key=lambda reference: reference.made_at))


def _find_git_folder(store: Store, session_id: str, workspace: Path) -> Path | None:
    worktree = worktrees.find(store, session_id)
    if worktree is not None:
        return Path(worktree.git_folder)
    try:
        return open_repository(workspace).git_folder
    except RequestRefused:  # it is gone, and its references with it
        return None


def drop(resources: Resources, references: Iterable[KeptReference]) -> tuple[KeptReference, ...]:
    """Delete references as they were found, unless their worktree is back or works, and return those that are gone."""
    gone = []
    for reference in references:
        with hold_session(resources, reference.session_id):
            worktree = worktrees.find(resources.store, reference.session_id)
            if reference.git_folder:
                git_folder = Path(reference.git_folder)
            elif worktree is None or worktree.state != "removed" or worktree.salvage == reference.name:
                continue
            else:
                git_folder = Path(worktree.git_folder)
            with lock_repository(resources.locks, git_folder):
                _git(git_folder).check("update-ref", "-d", reference.name, reference.commit)
        gone.append(reference)
    return tuple(gone)


def _git(git_folder: Path) -> Git:
    return offline(Git(git_folder, {"GIT_DIR": str(git_folder)}))


def _read(git_folder: Path, prefix: str, kind: str, session_id: str) -> Iterable[KeptReference]:
    if not git_folder.is_dir():
        return
    parts = os.fsdecode(_git(git_folder).run("for-each-ref", _FORMAT, prefix).stdout).split("\0")
    for name, commit, contents in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        try:  # an agent can write references too
            if kind == "turn":
                made_at = from_text(str(read_message(contents)["at"]))
            else:
                made_at = datetime.strptime(name.rpartition("/")[2].partition("Z")[0] + "Z", _TIME).replace(tzinfo=UTC)
        except (ValueError, KeyError):
            continue
        yield KeptReference(name.strip(), commit, session_id, kind, made_at, _describe(kind, commit, contents))


def _describe(kind: str, commit: str, contents: str) -> str:
    """Return what a reference holds, in words."""
    subject = contents.partition("\n\n")[0]
    if kind == "backup":
        return f"a branch at {commit[:8]}, {subject}"
    try:
        document = read_message(contents)
        if kind == "salvage":
            return f"all of the worktree on {document['branch']}"
        return ", ".join(map(str, document["paths"]))
    except (ValueError, TypeError, KeyError):
        return subject
