"""The tree of a session in a browser: all its branches, where it goes on, and what a person calls a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.sessions.branches import compare_lines
from oulipoly_engine.facade.worktrees.turn_files import plan_lines
from oulipoly_engine.web.api import branches
from oulipoly_engine.web.base import bodies
from oulipoly_engine.web.pages.page import Page, get, post
from oulipoly_engine.web.pages.weights import cut_beginning

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import BaseRoute

_ROWS = 50
_LONGEST = 20_000  # bytes of a comparison, or of the files that would change
_FILTERS = {"default": "Messages", "user": "What you said", "labelled": "Labelled", "all": "All"}


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [
        get("/sessions/{session_id}/tree", _show, "session tree"),
        post("/sessions/{session_id}/tree", _change, "session branch"),
    ]


def _show(page: Page) -> Response:
    kept = page.query.get("filter") or "default"
    key = branches.find_said(page.engine, page.viewer, page.path["session_id"])
    tree = page.engine.sessions.branches.tree(key, kept)
    ids = tree.entry_ids
    leaf = ids.index(tree.leaf) if tree.leaf in ids else len(ids)
    begin = min(page.number("from", max(0, leaf - _ROWS // 2)) or 0, len(ids))
    return page.show(
        "tree.html",
        key=tree.chain_id,
        leaf=tree.leaf,
        rows=tree.entries[begin : begin + _ROWS],
        earlier=max(0, begin - _ROWS) if begin else None,
        later=begin + _ROWS if begin + _ROWS < len(ids) else None,
        filters=_FILTERS,
        kept=kept,
        sums_up=not page.engine.live.explain_no_summary(tree.chain_id),
    )


def _change(page: Page) -> Response:
    """Do what a form orders with the message that was chosen."""
    place = {"session_id": page.path["session_id"]}
    entry_id = page.field("entry_id")
    act = page.field("act")
    if not entry_id:
        raise UsageInvalid(Need.ENTRY)
    if act in ("branch", "branch_with_summary"):
        summary = "" if act == "branch_with_summary" else None
        body = bodies.NewBranch.model_construct(entry_id=entry_id, summary=summary)
        page.ask(branches.branch, body=body, **place)
        return page.go(f"/sessions/{place['session_id']}#end")
    if act == "files":
        key = branches.find_said(page.engine, page.viewer, place["session_id"])
        plan = page.engine.turn_files.preview(key, entry_id)
        lines = cut_beginning("\n".join(plan_lines(plan)), _LONGEST)
        return page.show("restore.html", key=key, plan=plan, lines=lines, done=None)
    if act.startswith("restore "):
        return _restore(page, entry_id, act.removeprefix("restore "))
    if act == "label":
        page.ask(branches.label, body=bodies.NewLabel(entry_id=entry_id, label=page.field("label")[:60]), **place)
        return page.go(f"/sessions/{place['session_id']}/tree")
    if act != "compare":
        raise UsageInvalid(f"a session goes back to a message, or it is labelled or compared: not {act[:40]!r}")
    key = branches.find_said(page.engine, page.viewer, place["session_id"])
    compared = page.engine.sessions.branches.compare(key, entry_id, "")
    text = cut_beginning("\n".join(compare_lines(*compared)), _LONGEST)
    return page.show("told.html", heading="Two branches", text=text, onward=f"/sessions/{key}/tree")


def _restore(page: Page, entry_id: str, parts: str) -> Response:
    """Bring files back as they were shown before: what has changed since and is in no snapshot is asked about anew."""
    key = page.path["session_id"]
    if parts not in ("files", "both"):
        raise UsageInvalid(f"files go back, or both: not {parts[:40]!r}")
    body = bodies.NewBranch.model_construct(
        entry_id=entry_id,
        restore=parts,
        files_from=page.field("files_from"),
        overwrite=page.field("overwrite") == "on",
    )
    done = page.ask(branches.branch, body=body, session_id=key)
    return page.show("restore.html", key=key, plan=None, lines="", done=done)
