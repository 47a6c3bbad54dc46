"""What a session has changed: look, stage, commit, merge, push (contract B7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query

from oulipoly_engine.core.worktrees.prompts import Comment
from oulipoly_engine.core.worktrees.refusals import SwitchedOff
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.worktrees.changes import Changes
from oulipoly_engine.web.access.viewer import check_command
from oulipoly_engine.web.api.engine import Anyone, TheEngine, find_to_drive, find_work, serves, work_of
from oulipoly_engine.web.api.listing import milliseconds
from oulipoly_engine.web.api.machine import find_repository
from oulipoly_engine.web.base import answer_bodies, bodies
from oulipoly_engine.web.base.answers import Json
from oulipoly_engine.web.base.bodies import GitOrder, SessionId

router = APIRouter(tags=["changes"])

FileName = Annotated[str, Query(min_length=1, max_length=4096, description="A file below the worktree.")]
_MOST = 200  # files of a kind; contract B7
# What git is asked -> the command that it is. A commit runs the repository's hooks, and the others that take a
# confirmation move a branch that other programs are built from.
ORDERS: Mapping[str, str] = {
    **dict.fromkeys(("stage", "unstage", "discardWorktree", "discardIndex", "undoDiscard"), "changes stage"),
    "commit": "commit",
    "previewMerge": "changes stage",
    **dict.fromkeys(("merge", "rebase", "undoMove"), "merge"),
    "apply": "apply",
}


class SetupChanged(RequestRefused, slug="setup-changed"):
    """A digest does not stand for the commands that a repository wants to run."""


@router.get(
    "/sessions/{session_id}/changes",
    **serves("changes"),
    response_model=answer_bodies.ChangeSet,
    responses=bodies.refusals(504),
)
def show(session_id: SessionId, engine: TheEngine, _viewer: Anyone) -> Json:
    """List the files that differ, and those that the branch has committed, 200 each. Git is asked now."""
    identity = _find(engine, session_id)
    found = engine.changes.status(identity)
    told: dict[str, Any] = msgspec.to_builtins(found)
    committed = engine.changes.committed(identity) if found.ahead else ()
    told |= {"committed": msgspec.to_builtins(committed[:_MOST]), "is_cut": found.is_cut or len(committed) > _MOST}
    return Json({"gitAvailable": told.pop("git_available"), **told})


@router.get(
    "/sessions/{session_id}/diff",
    **serves("diff"),
    response_model=answer_bodies.Diff,
    responses=bodies.refusals(413, 504),
)
def diff(
    session_id: SessionId,
    path: FileName,
    engine: TheEngine,
    viewer: Anyone,
    side: Annotated[
        Literal["worktree", "index", "branch"],
        Query(description="`branch`: what is committed since the session began."),
    ] = "worktree",
    context: Annotated[int, Query(ge=0, le=20)] = 3,
) -> Json:
    """Show how a file differs; 413 where that is too much, 504 where git takes too long."""
    found = engine.changes.diff(_find(engine, session_id), path, side, context, shows_ignored=viewer.may_change)
    if found.is_binary:
        return Json({"isBinary": True, "path": found.path, "size": found.size, "sha": found.sha})
    hunks = msgspec.to_builtins(found.hunks)
    return Json({"isBinary": False, "path": found.path, "diff": found.diff, "hunks": hunks})


@router.get(
    "/sessions/{session_id}/file",
    **serves("file show"),
    response_model=answer_bodies.FileText,
    responses=bodies.refusals(413, 504),
)
def read_file(
    session_id: SessionId,
    path: FileName,
    engine: TheEngine,
    viewer: Anyone,
    rev: Literal["head", "index", "worktree"] = "worktree",
) -> Json:
    """Show a file; a read-only link sees none that git ignores."""
    identity = _find(engine, session_id)
    found = engine.changes.read_file(identity, path, rev, shows_ignored=viewer.may_change)
    return Json(msgspec.to_builtins(found))


@router.put("/sessions/{session_id}/file", **serves("file write"), response_model=answer_bodies.FileWritten)
def write_file(session_id: SessionId, body: bodies.FileToWrite, engine: TheEngine, _viewer: Anyone) -> Json:
    """Write a file; 409 where it is no longer what the etag stands for.

    A CLI runs what some files say, its own settings for example, so it takes a fresh confirmation.
    """
    identity = _find(engine, session_id)
    written = engine.changes.write_file(
        identity, body.path, body.content, stage=body.stage, expected_etag=body.expected_etag
    )
    return Json({"ok": True, **msgspec.to_builtins(written)})


@router.post(
    "/sessions/{session_id}/git",
    **serves("changes stage", "commit", "merge", "apply"),
    response_model=answer_bodies.GitDone,
    responses=bodies.refusals(504),
)
def order(session_id: SessionId, body: GitOrder, engine: TheEngine, viewer: Anyone) -> Json:
    """Stage, unstage, discard, commit, merge, rebase or apply."""
    identity = _find(engine, session_id)
    if body.op == "commit":
        check_commit(engine)
    check_command(viewer, ORDERS[body.op])
    if body.hunks and len(body.paths) != 1:
        raise UsageInvalid("hunks belong to one file: name it in `paths`")
    result = (_HUNK_ORDERS if body.hunks else _ORDERS)[body.op](engine.changes, identity, body)
    told = {} if result is None else {"result": msgspec.to_builtins(result)}
    return Json({"ok": True, **told})


@router.get(
    "/sessions/{session_id}/promote/preflight", **serves("promote preflight"), response_model=answer_bodies.Preflight
)
def preflight(session_id: SessionId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Tell what a push would do."""
    identity = _find(engine, session_id)
    check_promote(engine)
    return Json(msgspec.to_builtins(engine.changes.preflight(identity)))


@router.post(
    "/sessions/{session_id}/promote",
    **serves("promote", confirms_later=True),
    response_model=answer_bodies.Promoted,
    responses=bodies.refusals(502),
)
def promote(session_id: SessionId, body: bodies.Promotion, engine: TheEngine, viewer: Anyone) -> Json:
    """Commit everything, push it, and tell where a pull request is made."""
    identity = _find(engine, session_id)
    check_promote(engine)
    check_command(viewer, "promote")
    done = engine.changes.promote(identity, body.message, body.branch or "", opens_pull_request=body.pull_request)
    return Json({"ok": True, **msgspec.to_builtins(done)})


@router.post(
    "/sessions/{session_id}/comments",
    **serves("changes comment"),
    response_model=answer_bodies.PromptSent,
    responses=bodies.refusals(500),
)
def comment(session_id: SessionId, body: bodies.Comments, engine: TheEngine, viewer: Anyone) -> Json:
    """Send comments on lines to the session, as one message."""
    identity = find_to_drive(engine, viewer, session_id).session.session_id
    told = [Comment(one.path, one.line, one.text) for one in body.comments]
    sent = work_of(engine, viewer).send(identity, engine.changes.comments_prompt(identity, told))
    return Json({"message_id": sent.user_message_id, "turn_id": sent.turn_id})


@router.post(
    "/sessions/{session_id}/conflict",
    **serves("conflict"),
    response_model=answer_bodies.PromptSent,
    responses=bodies.refusals(500),
)
def hand_conflict_over(session_id: SessionId, body: bodies.Conflict, engine: TheEngine, viewer: Anyone) -> Json:
    """Have the session's agent resolve what stands against a merge."""
    identity = find_to_drive(engine, viewer, session_id).session.session_id
    sent = work_of(engine, viewer).send(identity, engine.changes.hand_conflict_over(identity, body.into))
    return Json({"message_id": sent.user_message_id, "turn_id": sent.turn_id})


# Set-up of worktrees -------------------------------------------------------------------------------------------------
@router.get("/setup", **serves("worktree setup"), response_model=answer_bodies.SetupState)
def show_setup(
    engine: TheEngine,
    viewer: Anyone,
    repo_path: Annotated[str, Query(min_length=1, max_length=4096, json_schema_extra=bodies.ABSOLUTE)],
    branch: Annotated[str, Query(max_length=200)] = "",
) -> Json:
    """Show the commands that a repository wants to run in new worktrees."""
    found = engine.worktrees.setup_of(find_repository(engine, viewer, repo_path), branch)
    told = {"repository": found.repository, "setup": msgspec.to_builtins(found.setup), "digest": found.setup.digest}
    at = None if found.allowed_at is None else milliseconds(found.allowed_at)
    return Json({**told, "is_allowed": found.is_allowed, "allowed_at": at})


@router.post("/setup", **serves("worktree allow"), response_model=answer_bodies.Done)
def allow_setup(body: bodies.SetupPermission, engine: TheEngine, viewer: Anyone) -> Json:
    """Allow them, in the words that the digest stands for; 409 where they are others."""
    folder = find_repository(engine, viewer, body.repo_path)
    if body.digest != engine.worktrees.setup_of(folder, body.branch).setup.digest:
        raise SetupChanged("the repository's commands are not those of this digest: read them again")
    engine.worktrees.allow_setup(folder, body.digest)
    return Json({"ok": True})


# Switches ------------------------------------------------------------------------------------------------------------
def check_commit(engine: Engine) -> None:
    """Raise SwitchedOff where devices may not commit."""
    if not engine.web.settings().commits:
        raise SwitchedOff("devices may not commit here: `agents config set serve_commit true` lets them")


def check_promote(engine: Engine) -> None:
    """Raise SwitchedOff where devices may not push."""
    if not engine.web.settings().promotes:
        raise SwitchedOff("devices may not push here: `agents config set serve_promote true` lets them")


def _find(engine: Engine, identity: str) -> str:
    return find_work(engine, identity).session.session_id


def _one_by_one(name: str) -> Callable[[Changes, str, GitOrder], object]:
    def serve(changes: Changes, identity: str, body: GitOrder) -> object:
        done = None
        for digest in body.hunks:
            done = getattr(changes, name)(identity, body.paths[0], digest)
        return done

    return serve


def _paths(body: GitOrder) -> list[str]:
    if not body.paths:
        raise UsageInvalid("`paths` is empty: name files")
    return body.paths


def _no_hunks(_changes: Changes, _identity: str, body: GitOrder) -> object:
    raise UsageInvalid(f"{body.op} takes no hunks")


_ORDERS: Mapping[str, Callable[[Changes, str, GitOrder], object]] = {
    "stage": lambda changes, key, body: changes.stage(key, _paths(body)),
    "unstage": lambda changes, key, body: changes.unstage(key, _paths(body)),
    "discardWorktree": lambda changes, key, body: changes.discard(key, _paths(body), "worktree"),
    "discardIndex": lambda changes, key, body: changes.discard(key, _paths(body), "index"),
    "undoDiscard": lambda changes, key, _body: changes.undo_discard(key),
    "commit": lambda changes, key, body: changes.commit(key, body.message, stages_all=body.stage_all),
    "previewMerge": lambda changes, key, body: changes.preview_merge(key, body.into),
    "merge": lambda changes, key, body: changes.merge(key, body.into, body.message, committed_only=body.committed_only),
    "rebase": lambda changes, key, body: changes.rebase(key, body.into),
    "apply": lambda changes, key, body: changes.apply(key, committed_only=body.committed_only),
    "undoMove": lambda changes, key, _body: changes.undo_move(key),
}
_HUNK_ORDERS: Mapping[str, Callable[[Changes, str, GitOrder], object]] = {
    **dict.fromkeys(_ORDERS, _no_hunks),
    "stage": _one_by_one("stage_hunk"),
    "unstage": _one_by_one("unstage_hunk"),
    "discardWorktree": _one_by_one("discard_hunk"),
}
