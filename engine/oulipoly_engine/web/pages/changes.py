"""What a session has changed: files, diffs with comments, commits, and what moves a branch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from starlette.responses import Response
from starlette.routing import BaseRoute

from oulipoly_engine.core.worktrees.changes import FileDiff, MergePreview
from oulipoly_engine.core.worktrees.porcelain import WORDS, ChangeEntry
from oulipoly_engine.core.worktrees.prompts import Comment
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.live.standing import LiveStatus
from oulipoly_engine.records import Record
from oulipoly_engine.web.api import changes, sessions
from oulipoly_engine.web.api.changes import check_promote
from oulipoly_engine.web.api.engine import find_to_drive, find_work
from oulipoly_engine.web.base import bodies
from oulipoly_engine.web.pages.page import Page, decode_path, encode_path, get, post
from oulipoly_engine.web.pages.weights import weight_of

_BUDGET = 20_000  # bytes of names on one page, and of a diff
_LINE_OVERHEAD = 26
_LONGEST_LINE = 2000
_MOST_LISTED = 40
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")
# What was done, in words, and whether the way back is offered; an address can name no others.
_DONE: Mapping[str, tuple[str, str]] = {
    "stage": ("Staged.", ""),
    "unstage": ("Taken out of the next commit.", ""),
    "discard": ("Thrown away.", "undo_discard"),
    "undo_discard": ("Put back.", ""),
    "commit": ("Committed.", ""),
    "merge": ("Merged.", "undo_move"),
    "rebase": ("Rebased.", "undo_move"),
    "apply": ("Applied to the main checkout, staged and not committed.", "undo_move"),
    "undo_move": ("Taken back.", ""),
    "promote": ("Pushed.", ""),
    "comments": ("The comments were sent.", ""),
    "conflict": ("The agent was asked to resolve the conflict.", ""),
}
_MOVES = ("merge", "rebase", "apply")
_OPS: Mapping[str, str] = {"undo_discard": "undoDiscard", "undo_move": "undoMove"}  # as REST has them
_OF_FILES = ("stage", "unstage", "discardWorktree", "discardIndex")


class FileRow(Record):
    """A file that differs."""

    name: str
    token: str  # the name as an address holds it
    word: str
    renamed_from: str


class DiffLine(Record):
    """A line of a diff."""

    text: str
    mark: str  # a, d, h; empty: as it was
    number: int | None  # of the file as it is now


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [
        get("/sessions/{session_id}/changes", _show),
        get("/sessions/{session_id}/diff", _show_diff),
        get("/sessions/{session_id}/move", _show_move, "merge"),
        get("/sessions/{session_id}/promote", _show_promote, "promote"),
        post("/sessions/{session_id}/git", _order, "changes stage"),
        post("/sessions/{session_id}/promote", _promote, "promote"),
        post("/sessions/{session_id}/comments", _comment, "changes comment"),
        post("/sessions/{session_id}/conflict", _hand_over, "conflict"),
    ]


# Looking -------------------------------------------------------------------------------------------------------------
def _show(page: Page) -> Response:
    work = find_work(page.engine, page.path["session_id"])
    found = page.engine.changes.status(work.session.session_id)
    budget = _BUDGET
    parts = []
    committed = page.engine.changes.committed(work.session.session_id) if found.ahead else ()
    for side, entries in (("worktree", found.unstaged), ("index", found.staged), ("branch", committed)):
        rows, budget = _fit(entries, budget)
        parts.append((side, rows, len(entries) - len(rows)))
    said, undo = _DONE.get(page.query.get("done", ""), ("", ""))
    return page.show(
        "changes.html",
        work=work,
        session=work.session,
        found=found,
        parts=parts,
        said=said,
        undo=undo,
        settings=page.engine.web.settings(),
    )


def _fit(entries: tuple[ChangeEntry, ...], budget: int) -> tuple[list[FileRow], int]:
    rows: list[FileRow] = []
    for entry in entries:
        token = encode_path(entry.path)
        budget -= 3 * len(token) + 2 * weight_of(entry.path[:300]) + 250
        if rows and budget < 0:
            break
        rows.append(FileRow(entry.path, token, WORDS.get(entry.status, entry.status), entry.renamed_from or ""))
    return rows, budget


def _show_diff(page: Page) -> Response:
    work = find_work(page.engine, page.path["session_id"])
    token, side = page.query.get("path", ""), page.query.get("side", "worktree")
    path = decode_path(token)
    context = page.number("context", 3) or 0
    shows_ignored = page.viewer.may_change
    found = page.engine.changes.diff(work.session.session_id, path, side, context, shows_ignored=shows_ignored)
    begin = page.number("from", 0) or 0
    lines, end, total = lines_of(found, begin)
    return page.show(
        "diff.html",
        work=work,
        session=work.session,
        found=found,
        path=path,
        token=encode_path(path),
        side=side,
        lines=lines,
        later=end if end < total else None,
        begin=begin,
    )


def lines_of(diff: FileDiff, begin: int) -> tuple[list[DiffLine], int, int]:
    """Return the lines of a diff that one page shows, where the next page begins, and how many there are."""
    rows = diff.diff.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    made: list[DiffLine] = []
    number: int | None = None
    budget = _BUDGET
    for place, row in enumerate(rows):
        mark = ""
        own: int | None = None
        if (hunk := _HUNK.match(row)) is not None:
            number, mark = int(hunk[1]), "h"
        elif number is None or row.startswith("\\"):
            mark = "h"
        elif row.startswith("-"):
            mark = "d"
        else:
            mark, own = ("a" if row.startswith("+") else ""), number
            number += 1
        if place < begin:
            continue
        budget -= weight_of(row[:_LONGEST_LINE]) + _LINE_OVERHEAD
        if made and budget < 0:
            return made, place, len(rows)
        cut = f"{row[:_LONGEST_LINE]} [{len(row) - _LONGEST_LINE:,} characters more]"
        made.append(DiffLine(row if len(row) <= _LONGEST_LINE else cut, mark, own))
    return made, len(rows), len(rows)


def _show_move(page: Page) -> Response:
    """Say what a merge, a rebase or an apply will do, before it is done."""
    work = _find(page)
    act = page.query.get("act", "merge")
    if act not in _MOVES:
        raise UsageInvalid(f"a branch is merged, rebased or applied: not {act[:40]!r}")
    preview = _preview(page.engine, work.session.session_id, act, page.query.get("into", ""))
    return page.show(
        "move.html",
        work=work,
        session=work.session,
        act=act,
        preview=preview,
        plan=_plan(act, preview),
        most=_MOST_LISTED,
    )


def _preview(engine: Engine, key: str, act: str, into: str) -> MergePreview:
    if act == "apply":
        return engine.changes.preview_apply(key)
    return engine.changes.preview_merge(key, into)


def _plan(act: str, preview: MergePreview) -> list[str]:
    """Return what will happen, a sentence each."""
    commits = _count(preview.commits, "commit", "commits")
    if act == "rebase":
        told = [f"The commits of {preview.branch} are put on top of {preview.into}. {preview.into} stays as it is."]
    elif act == "apply":
        told = [f"What {preview.branch} has changed is staged in {preview.checkout}. No commit is made there."]
    else:
        how = "moves forward to it" if preview.is_fast_forward else "gets a merge commit"
        told = [f"{preview.into} gets {commits} of {preview.branch}: it {how}."]
        if preview.checkout:
            files = _count(preview.files, "file changes", "files change")
            told.append(f"It is checked out in {preview.checkout}: {files} there.")
    told.append("A backup reference is made first, by which it can be undone.")
    return told


def _count(things: Sequence[object], one: str, many: str) -> str:
    return f"1 {one}" if len(things) == 1 else f"{len(things)} {many}"


def _show_promote(page: Page) -> Response:
    work = _find(page)
    check_promote(page.engine)
    found = page.engine.changes.preflight(work.session.session_id)
    return page.show("promote.html", work=work, session=work.session, found=found)


# Orders --------------------------------------------------------------------------------------------------------------
def _find(page: Page) -> LiveStatus:
    return find_work(page.engine, page.path["session_id"])


def _find_to_drive(page: Page) -> LiveStatus:
    return find_to_drive(page.engine, page.viewer, page.path["session_id"])


def _done(page: Page, work: LiveStatus, act: str) -> Response:
    return page.go(f"/sessions/{work.session.session_id}/changes?done={act}")


def _order(page: Page) -> Response:
    work, act = _find(page), page.field("op")
    op = _OPS.get(act, act)
    if op not in changes.ORDERS:
        raise UsageInvalid(f"there is no such order: {act[:40]!r}")
    if op in _OF_FILES and not page.fields.get("path"):
        raise UsageInvalid("no file is chosen: tick one or more")
    if op == "commit" and not page.field("message").strip():
        raise UsageInvalid("a commit needs a message: say what changes and why")
    body = bodies.GitOrder.model_construct(  # names of files may hold any bytes
        op=op,
        paths=[decode_path(token) for token in page.fields.get("path", ())],
        message="" if op == "merge" else page.field("message"),
        stage_all=page.field("all") == "on",
        into=page.field("into"),
        committed_only=page.field("committed_only") == "on",
    )
    page.ask(changes.order, session_id=work.session.session_id, body=body)
    return _done(page, work, act if act in _DONE else "discard")


def _promote(page: Page) -> Response:
    work = _find(page)
    body = bodies.Promotion.model_construct(
        message=page.field("message"),
        branch=page.field("branch"),
        pull_request=page.field("pull_request") == "on",
    )
    told = page.ask(changes.promote, session_id=work.session.session_id, body=body)
    if page.is_part:
        return _done(page, work, "promote")
    return page.show("promoted.html", work=work, session=work.session, told=told)


def _comment(page: Page) -> Response:
    """Send comments on lines as one prompt; it waits while a turn runs."""
    work = _find_to_drive(page)
    lines, paths, texts = (page.fields.get(name, ()) for name in ("line", "path", "text"))
    comments = []
    for token, line, text in zip(paths, lines, texts, strict=False):
        if not text.strip():
            continue
        if not (line.isascii() and line.isdigit() and 0 < len(line) < 9 and int(line) > 0):
            raise UsageInvalid(f"a comment stands on a line, counted from 1: not on {line[:20]!r}")
        comments.append(Comment(decode_path(token), int(line), text))
    if not comments:
        raise UsageInvalid("the comment is empty: say what is to change")
    return _queue(page, work, page.engine.changes.comments_prompt(work.session.session_id, comments), "comments")


def _hand_over(page: Page) -> Response:
    """Ask the agent to resolve a conflict; the question waits while a turn runs."""
    work = _find_to_drive(page)
    text = page.engine.changes.hand_conflict_over(work.session.session_id, page.field("into"))
    return _queue(page, work, text, "conflict")


def _queue(page: Page, work: LiveStatus, text: str, act: str) -> Response:
    body = bodies.NewMessage.model_construct(content=text)
    page.ask(sessions.queue, session_id=work.session.session_id, body=body)
    return _done(page, work, act)
