"""The computer: its health, its agents, pools and quota, its folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.web.devices import OFFERED
from oulipoly_engine.core.worktrees.work import LIFECYCLES, TURN_SILENCE_S
from oulipoly_engine.errors import ModelUnknown, RequestRefused, UsageInvalid
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.snapshot import AccountView
from oulipoly_engine.paths import expand_user
from oulipoly_engine.web.access.viewer import Viewer
from oulipoly_engine.web.api.engine import Anyone, NotFound, TheEngine, lies_below_roots, serves
from oulipoly_engine.web.base import answer_bodies, bodies
from oulipoly_engine.web.base.answers import Json

router = APIRouter(tags=["machine"])

_MOST_FOLDERS = 1000


class FolderRefused(RequestRefused, slug="folder-refused"):
    """A folder lies outside of those that may be looked at, or cannot be read."""


@router.get("/health", response_model=answer_bodies.Health)
def health(request: Request, engine: TheEngine) -> Json:
    """Say that the server answers, and to devices also how much there is to do."""
    viewer = getattr(request.state, "viewer", None)
    return Json({"ok": True} | ({} if viewer is None else engine.work.health()))


@router.get("/me", response_model=answer_bodies.Me)
def me(viewer: Anyone) -> Json:
    """Say which device asks, and what it may do."""
    told = {"name": viewer.name, "device_id": viewer.device_id, "scopes": [*viewer.scopes]}
    return Json(told | {"confirmed": viewer.is_confirmed})


@router.get("/config", **serves("server config"), response_model=answer_bodies.Config)
def config(engine: TheEngine, _viewer: Anyone) -> Json:
    """Return what new sessions are begun with, and what is switched on."""
    settings = engine.web.settings()
    agents = engine.work.agents()
    return Json(
        {
            "default_agent": agents[0].agent_id if agents else None,
            "lifecycles": [*LIFECYCLES],
            "scopes": [*OFFERED],
            "turn_timeout_s": TURN_SILENCE_S,
            "use_worktree": True,
            "isolation": engine.work.usual_isolation,
            "block_while_running": True,
            "enable_commit": settings.commits,
            "enable_promote": settings.promotes,
            "browse_roots": [str(root) for root in settings.roots],
        }
    )


@router.get("/agents", **serves("agent list"), response_model=list[answer_bodies.Agent])
def agents(engine: TheEngine, _viewer: Anyone) -> Json:
    """List what a session can be begun with."""
    found = engine.work.agents()
    return Json([{"id": one.agent_id, **msgspec.to_builtins(one)} for one in found])


@router.get("/pools", **serves("pool list"), response_model=list[answer_bodies.Pool])
def pools(engine: TheEngine, _viewer: Anyone) -> Json:
    """List the pools with the account that would serve next, and their accounts."""
    snapshot = engine.snapshot()
    told = [
        {
            "id": one.model.name,
            "next_account": one.next_account,
            "accounts": [member.account for member in one.model.members],
            "pin": one.pin,
            "reason": decision_to_json(one.decision).get("reason"),
        }
        for one in snapshot.pools
    ]
    return Json(told)


@router.get("/quota", **serves("quota list"), response_model=list[answer_bodies.AccountQuota])
def quota(engine: TheEngine, _viewer: Anyone) -> Json:
    """List the accounts with their windows, as they were last read."""
    return Json([account_row(one) for one in engine.snapshot().accounts])


@router.get("/why/{model}", **serves("why"), response_model=answer_bodies.Decision)
def why(model: Annotated[str, bodies.PathParameter(max_length=200)], engine: TheEngine, _viewer: Anyone) -> Json:
    """Explain which account the next session of a model would get."""
    try:
        found = engine.pools.next_decision(model, (), None)
    except ModelUnknown as error:
        raise NotFound(error.message) from error
    return Json({**decision_to_json(found.decision), "stale": [*found.stale]})


@router.get("/browse", **serves("folder list"), response_model=answer_bodies.Folders)
def browse(engine: TheEngine, _viewer: Anyone, path: Annotated[str | None, Query(max_length=4096)] = None) -> Json:
    """List the folders in a folder; without a path those that one may begin at."""
    return Json(list_folders(engine, path))


def list_folders(engine: Engine, path: str | None) -> dict[str, Any]:
    """Return the folders in a folder; without a path those that one may begin at. Raises FolderRefused."""
    roots = engine.web.settings().roots
    if not path:
        return {"path": None, "parent": None, "folders": [_folder_row(root, str(root)) for root in roots]}
    folder = resolve_folder(engine, path)
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if not each.name.startswith(".") and _is_offered(each))
    except OSError as error:
        raise FolderRefused(f"{path[:200]!r} cannot be read: {error.strerror or error}") from error
    parent = None if folder in roots else str(folder.parent)
    rows = [_folder_row(folder / name, name) for name in names[:_MOST_FOLDERS]]
    return {"path": str(folder), "parent": parent, "folders": rows, "is_cut": len(names) > _MOST_FOLDERS}


def find_repository(engine: Engine, viewer: Viewer, path: str) -> Path:
    """Return the folder that a viewer names. Raises UsageInvalid or FolderRefused.

    Devices name folders below the roots alone, whose repositories lie there too: worktrees are made in those. The
    user's own processes name any: they could run `agents` there.
    """
    if viewer.is_own_user:
        folder = expand_user(path)
        if "\0" not in path and folder.is_absolute() and folder.is_dir():
            return folder
        raise UsageInvalid(f"there is no folder {path[:200]!r}: name one that begins with `/` or `~`")
    if path == "~" or path.startswith("~/"):
        path = str(expand_user(path))
    if not path.startswith(("/", "~")):
        raise UsageInvalid(f"repo_path has to begin with `/` or `~`: {path[:200]!r}")
    folder = resolve_folder(engine, path)
    main = engine.worktrees.main_folder(folder)
    if main is not None and not lies_below_roots(engine, main):
        roots = ", ".join(map(str, engine.web.settings().roots))
        raise FolderRefused(f"{path[:200]!r} belongs to a repository that is not below {roots}")
    return folder


def resolve_folder(engine: Engine, path: str) -> Path:
    """Return a folder, links followed. Raises FolderRefused where it lies below none of the roots.

    What lies outside is told in the same words whether it is there or not, and so is the `~name` of another user.
    """
    if "\0" in path:
        raise UsageInvalid("a path holds no NUL")
    roots = engine.web.settings().roots
    # One answer for what is not there and what is not to be looked at: nobody learns which of them it is.
    refusal = FolderRefused(f"{path[:200]!r} is not a folder below {', '.join(map(str, roots))}")
    if not path.startswith("/"):
        raise refusal
    try:
        folder = Path(path).resolve()
    except (OSError, RuntimeError) as error:
        raise refusal from error
    if not folder.is_dir() or not lies_below_roots(engine, folder):
        raise refusal
    return folder


def account_row(view: AccountView) -> dict[str, Any]:
    """Return an account with its windows."""
    return {
        "account": view.name,
        "is_exhausted": view.is_exhausted,
        "is_stale": view.is_stale,
        "refreshed_at": None if view.quota.refreshed_at is None else to_text(view.quota.refreshed_at),
        "windows": [
            {"window": one.name, "used": one.used, "resets_at": to_text(one.resets_at)} for one in view.quota.windows
        ],
    }


def _folder_row(folder: Path, name: str) -> dict[str, Any]:
    return {"name": name, "path": str(folder), "is_repo": os.path.lexists(folder / ".git")}


def _is_offered(entry: os.DirEntry[str]) -> bool:
    """Tell whether it is a folder that a session can begin in: a name that is not UTF-8 can be stored nowhere."""
    try:
        entry.name.encode()
        return entry.is_dir(follow_symlinks=False)
    except (OSError, UnicodeEncodeError):
        return False
