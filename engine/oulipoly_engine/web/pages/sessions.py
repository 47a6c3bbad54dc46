"""The list of sessions, and the form of a new one with its choice of a folder."""

from __future__ import annotations

from datetime import datetime

from pydantic import ValidationError
from starlette.responses import Response
from starlette.routing import BaseRoute

from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS, PROFILES
from oulipoly_engine.core.worktrees.worktree_refusals import SetupNotAllowed
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade.live.standing import LiveStatus
from oulipoly_engine.records import replace
from oulipoly_engine.web.api.engine import work_of
from oulipoly_engine.web.api.listing import SessionOfList, read_list
from oulipoly_engine.web.api.machine import list_folders
from oulipoly_engine.web.api.sessions import read_wish
from oulipoly_engine.web.base import bodies
from oulipoly_engine.web.base.errors import status_of
from oulipoly_engine.web.pages import setup
from oulipoly_engine.web.pages.page import Page, get, post
from oulipoly_engine.web.pages.words import ORDER, Standing, standing_of, standing_of_listed

_PAGE = 40
_GLANCE_EVERY_S = 30.0  # at transcripts, for a page that stays open
_MOST = 100
_MOST_FOLDERS = 120
_TEXTS = (
    *("agent_id", "branch", "lifecycle", "isolation", "profile", "title", "initial_message", "prompt", "model"),
    "effort",
)
_PROFILE_TEXTS = {
    "supervised": "asks first",
    "auto_accept_edits": "asks for commands",
    "full_access": "asks nothing",
}


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [
        get("/sessions", _list),
        get("/sessions/new", _show_form, "session new"),
        get("/browse", _browse, "session new"),
        post("/sessions", _begin, "session new"),
        post("/setup", _decide_setup, "session new"),
    ]


def sort_for_person(works: tuple[LiveStatus, ...]) -> list[LiveStatus]:
    """Return sessions, those first that need a person."""
    return sorted(works, key=lambda work: ORDER.index(standing_of(work).word))


def _list(page: Page) -> Response:
    query, after, wrong = page.query.get("q", ""), page.query.get("after", ""), ""
    sessions: list[SessionOfList] = []
    try:
        rest_s = _GLANCE_EVERY_S if page.is_part else 0.0
        sessions = read_list(page.engine, page.viewer, query, limit=_PAGE + 1, after=after, rest_s=rest_s)
    except UsageInvalid as error:
        wrong = error.message
    now = page.engine.surroundings.clock.now()
    rows = [(session, _standing(session, now)) for session in sessions[:_PAGE]]
    more = sessions[_PAGE - 1].listed.session.chain_id if len(sessions) > _PAGE else ""
    return page.show("sessions.html", rows=rows, more=more, q=query, wrong=wrong)


def _standing(session: SessionOfList, now: datetime) -> Standing:
    return standing_of_listed(session.listed, now) if session.live is None else standing_of(session.live)


def _show_form(page: Page) -> Response:
    return _form(page, {name: page.query.get(name, "") for name in ("repo_path", "agent_id", "branch", "prompt")})


def _form(page: Page, values: dict[str, str], message: str = "", status: int = 200) -> Response:
    agents = page.engine.work.agents()
    used = [
        one.session.workspace if one.worktree is None else one.worktree.repository
        for one in page.engine.work.list(_MOST)
    ]
    asked, problem = None, ""
    if not message and values.get("repo_path"):
        asked, problem = setup.look(page, values["repo_path"], values.get("branch", ""))
    defaults = {"lifecycle": "persistent", "profile": OF_NEW_SESSIONS, "use_worktree": "on"}
    defaults |= {"reuse_branch": "", "isolation": ""}
    return page.show(
        "new_session.html",
        status,
        values={**dict.fromkeys(("repo_path", "agent_id", "branch", "prompt"), ""), **defaults, **values},
        pools=[one for one in agents if one.kind == "pool"],
        runtimes=[one for one in agents if one.kind != "pool"],
        repositories=list(dict.fromkeys(used))[:8],
        profiles=[(name, _PROFILE_TEXTS.get(name, "")) for name in PROFILES],
        isolation=page.engine.work.usual_isolation,
        isolations=[(level.level.value, level.obstacle) for level in page.engine.work.levels()],
        asked=asked,
        message=message or problem,
    )


def _begin(page: Page) -> Response:
    """Begin a session. Names of fields are those of the REST body."""
    return _begin_as(page, {name: page.field(name) for name in page.fields})


def _begin_as(page: Page, given: dict[str, str], *, runs_setup: bool = True) -> Response:
    uses_worktree = "uses" not in given or given.get("use_worktree", "") in ("1", "true", "yes", "on")
    wish: dict[str, object] = {name: given[name] for name in _TEXTS if given.get(name, "").strip()}
    try:
        body = bodies.NewSession.model_validate(
            {
                "repo_path": given.get("repo_path", ""),
                "use_worktree": uses_worktree,
                "reuse_branch": given.get("reuse_branch", "") in ("1", "true", "yes", "on"),
                **wish,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][0]) if first["loc"] else "the form"
        message = "name the repository" if where == "repo_path" else f"{where}: {first['msg']}"
        return _form(page, given | {"use_worktree": "on" if uses_worktree else ""}, message, 400)
    try:
        begun = work_of(page.engine, page.viewer).begin(
            replace(read_wish(page.engine, page.viewer, body), runs_setup=runs_setup)
        )
    except SetupNotAllowed:
        return setup.ask(page, given)
    except RunnerError as error:
        return _form(page, given | {"use_worktree": "on" if uses_worktree else ""}, error.message, status_of(error))
    return page.go(f"/sessions/{begun.session.session_id}")


def _decide_setup(page: Page) -> Response:
    """Go on with a session that its repository's commands have stopped, as a person says."""
    wish, decision = setup.read_wish_back(page), page.field("decision")
    if decision in ("deny", "without"):
        setup.refuse(page, wish)
    if decision == "deny":
        return _form(page, {"use_worktree": "", **wish} if "uses" in wish else wish)
    if decision == "without":
        return _begin_as(page, wish, runs_setup=False)
    if decision != "allow":
        raise UsageInvalid(f"commands are allowed, denied, or left out: not {decision[:40]!r}")
    try:
        setup.allow(page, wish)
    except RunnerError as error:
        return setup.ask(page, wish, error.message, status_of(error))
    return _begin_as(page, wish)


def _browse(page: Page) -> Response:
    folders = list_folders(page.engine, page.query.get("path") or None)
    begin = page.number("from", 0) or 0
    rows = folders["folders"]
    if not isinstance(rows, list):
        raise UsageInvalid("the folders cannot be listed")
    more = begin + _MOST_FOLDERS if len(rows) > begin + _MOST_FOLDERS else None
    return page.show(
        "browse.html",
        path=folders["path"],
        parent=folders["parent"],
        rows=rows[begin : begin + _MOST_FOLDERS],
        more=more,
    )
