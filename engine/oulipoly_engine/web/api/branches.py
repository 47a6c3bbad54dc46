"""The tree of a session: all branches, where it goes on, labels, and two branches beside each other."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.sessions.branches import branch_json, comparison_json, refuse_summary_of_files, to_json
from oulipoly_engine.facade.worktrees.turn_files import plan_json, restored_json
from oulipoly_engine.web.access.viewer import Viewer, check_confirmed
from oulipoly_engine.web.api.engine import Anyone, NotFound, TheEngine, find_to_drive, find_work, live_of, serves
from oulipoly_engine.web.api.listing import find_recorded
from oulipoly_engine.web.base import answer_bodies, bodies
from oulipoly_engine.web.base.answers import Json
from oulipoly_engine.web.base.bodies import SessionId

router = APIRouter(tags=["sessions"])

_Message = Annotated[str, Query(max_length=500, description="A message's id, or its beginning.")]


@router.get("/sessions/{session_id}/tree", **serves("session tree"), response_model=answer_bodies.SessionTree)
def tree(
    session_id: SessionId,
    engine: TheEngine,
    viewer: Anyone,
    kept: Annotated[
        Literal["default", "no-tools", "user", "labelled", "all"], Query(alias="filter", description="Which messages.")
    ] = "default",
) -> Json:
    """Show all branches of a session."""
    return Json(to_json(engine.sessions.branches.tree(find_said(engine, viewer, session_id), kept, with_forks=True)))


@router.get("/sessions/{session_id}/compare", **serves("session compare"), response_model=answer_bodies.Comparison)
def compare(session_id: SessionId, engine: TheEngine, viewer: Anyone, left: _Message, right: _Message = "") -> Json:
    """Compare the branches that two messages lie on; without `right` with the one that the session goes on in."""
    return Json(comparison_json(*engine.sessions.branches.compare(find_said(engine, viewer, session_id), left, right)))


@router.get("/sessions/{session_id}/branch", **serves("diff"), response_model=answer_bodies.FilePreview)
def preview_branch(
    session_id: SessionId, engine: TheEngine, viewer: Anyone, entry_id: _Message = "", files_from: _Message = ""
) -> Json:
    """Show what restoring the files of a message, or those before all, would do. 404 where no snapshot has them."""
    plan = engine.turn_files.preview(find_said(engine, viewer, session_id), entry_id, files_from)
    return Json(plan_json(plan))


@router.post(
    "/sessions/{session_id}/branch",
    **serves("session branch"),
    response_model=answer_bodies.FilesRestored | answer_bodies.Branched,
)
def branch(session_id: SessionId, body: bodies.NewBranch, engine: TheEngine, viewer: Anyone) -> Json:
    """Have a session go on behind a message; all that was said stays. 409 while a turn runs.

    With `summary` a model sums up what is left, and the session goes on with that: a device needs what a message to it
    takes. With `restore` its files go back. A CLI runs what some files say: a device needs a fresh confirmation too.
    409 where `unsaved` ones would be written over without `overwrite`.
    """
    refuse_summary_of_files(body.summary, body.restore)
    if body.restore != "chat":
        check_confirmed(viewer)
        live = find_to_drive(engine, viewer, session_id).session.session_id
        with_chat = body.restore == "both"
        done = engine.turn_files.restore(
            live,
            body.entry_id,
            body.files_from,
            with_chat=with_chat,
            agree=lambda plan: body.overwrite or not plan.preview.unsaved,
        )
        return Json(restored_json(done, with_chat=with_chat))
    said = find_said(engine, viewer, session_id)
    if body.summary is not None:
        with suppress(NotFound):  # one that CLIs alone have written drives nothing
            find_to_drive(engine, viewer, session_id)
        return Json(branch_json(*live_of(engine, viewer).branch(said, body.entry_id, body.summary)))
    return Json(branch_json(*engine.sessions.branches.branch(said, body.entry_id)))


@router.post("/sessions/{session_id}/label", **serves("session label"), response_model=answer_bodies.Labelled)
def label(session_id: SessionId, body: bodies.NewLabel, engine: TheEngine, viewer: Anyone) -> Json:
    """Give a message a label; an empty one takes it away."""
    entry_id = engine.sessions.branches.label(find_said(engine, viewer, session_id), body.entry_id, body.label)
    return Json({"entry_id": entry_id, "label": body.label.strip() or None})


def find_said(engine: Engine, viewer: Viewer, identity: str) -> str:
    """Return the whole id of a session of which something was said. Raises NotFound."""
    try:
        chain_id = find_work(engine, identity).session.session_id
    except NotFound:
        return find_recorded(engine, viewer, identity)
    try:
        return engine.sessions.catalogue.find(chain_id).chain_id
    except RunnerError as error:
        raise NotFound(error.message) from error
