"""Sessions that work by themselves as rows: how they stand, their branch, how far it is, what is changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.facets import WAITS
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.worktrees.worktrees import BRANCH_PREFIX
from oulipoly_engine.records import Record
from oulipoly_tui.view.live.lists import name_of, state_words
from oulipoly_tui.view.transcript.spans import Line, Span, cells, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.search.query import Query
    from oulipoly_engine.core.worktrees.changes import ChangeSet
    from oulipoly_engine.facade.live.standing import LiveStatus

_STATE_WIDTH = 16
_BRANCH = 24  # columns at most
_TITLE_LEAST = 12
_REASON_LEAST = 12
_BRANCH_FROM = 72  # columns of a row
_ID = 8
_HAS_FOLDER = ("creating", "ready", "removing")
_ORDER = (WAITS, "running", "starting", "ready", "queued", "closing")


class GitLook(Record):
    """What git said of a session's folder."""

    ahead: int | None = None  # commits that the base does not have; None: not known
    behind: int | None = None
    changed: int = 0  # files
    is_cut: bool = False  # there are more
    reason: str = ""  # why git says nothing


def read_changes(found: ChangeSet) -> GitLook:
    """Return what a list says of a folder's changes."""
    files = {one.path for one in (*found.staged, *found.unstaged)}
    reason = "" if found.git_available else found.reason or "not a git repository"
    return GitLook(found.ahead, found.behind, len(files), found.is_cut, reason)


def short_branch(branch: str, session_id: str) -> str:
    """Return a branch as lists show it: that of a session's own ends with the beginning of its id."""
    shown = f"{BRANCH_PREFIX}{session_id[:_ID]}" if branch == f"{BRANCH_PREFIX}{session_id}" else branch
    return visible_line(shown)


def has_folder(work: LiveStatus) -> bool:
    """Tell whether git can be asked about its changes."""
    return work.worktree is None or work.worktree.state == "ready"


def choose_works(found: Iterable[LiveStatus]) -> tuple[LiveStatus, ...]:
    """Return the sessions that are listed, those that wait for somebody first.

    One that has ended is listed as long as its worktree is there, or while nothing else tells of it.
    """
    listed = [one for one in found if _is_listed(one)]
    return tuple(sorted(listed, key=_rank))  # the newest first among equals, as they came


def work_fits(work: LiveStatus, query: Query) -> bool:
    """Tell whether what is typed into the filter finds a session; fields are of transcripts."""
    if query.fields or (query.since, query.until) != (None, None):
        return False
    known = {
        "failed": work.word == "failed",
        "live": work.pid is not None,
        "waiting": work.pending_approval,
        "work": True,
    }
    if any(known.get(flag) is not value for flag, value in query.flags.items()):  # the others are of transcripts
        return False
    branch = "" if work.worktree is None else work.worktree.branch
    texts = (name_of(work), work.session.session_id, branch, state_words(work)[0], work.session.account or "")
    text = "\n".join(texts).lower()
    return all((term.text.lower() in text) is not term.is_negated for term in query.terms)


def work_line(work: LiveStatus, look: GitLook | None, width: int) -> Line:
    """Return one session as a row: state, title, branch, how far it is, what is changed."""
    state, tone = state_words(work)
    is_wide = width >= _BRANCH_FROM
    head: list[Span] = [(fit_text(state, _STATE_WIDTH) if is_wide else f"{state} ", tone)]
    aside = list(_aside(work, look, has_branch=is_wide))
    room = width - cells(head[0][0]) - sum(cells(text) for text, _ in aside)
    while aside and room < _TITLE_LEAST:
        room += cells(aside.pop()[0])
    reason = visible_line(reason_of(work))
    name = fit_text(name_of(work), max(1, room))
    said = max(1, room) - cells(name.rstrip()) - 2
    if reason and said >= _REASON_LEAST:
        name = f"{name.rstrip()}  "
        return (*head, (name, ""), (fit_text(reason, said), "dim"), *aside)
    return (*head, (name, ""), *aside)


def heading_line(works: Sequence[LiveStatus], width: int, *, is_closed: bool) -> Line:
    """Return the heading above the sessions that work by themselves; a closed one says what would be missed."""
    waiting = sum(one.pending_approval for one in works)
    said = f" {waiting} {'wait for you' if waiting > 1 else WAITS}" if waiting and is_closed else ""
    title = fit_text("Work sessions", min(13, max(1, width - 2)))
    return (("▸ " if is_closed else "▾ ", "dim"), (title, "heading"), (f" {len(works)}", "dim"), (said, "warn"))


def git_words(look: GitLook | None) -> Iterable[Span]:
    """Yield how far a branch is, and how many files are changed."""
    if look is None:
        return
    if look.reason:
        yield (" no git", "dim")
        return
    if look.changed:
        yield (f" {look.changed:,}{'+' if look.is_cut else ''} changed", "warn")
    far = "".join(f" {sign}{count:,}" for sign, count in (("↑", look.ahead), ("↓", look.behind)) if count)
    if far:
        yield (far, "accent")


def _aside(work: LiveStatus, look: GitLook | None, *, has_branch: bool) -> Iterable[Span]:
    worktree = work.worktree
    if worktree is not None and worktree.state != "ready":
        yield (f" worktree {visible_line(worktree.state)}", "warn" if worktree.state == "failed" else "dim")
    else:
        yield from git_words(look)
    if work.session.opening.isolation:
        yield (f" {work.session.opening.isolation}", "good")
    if worktree is not None and has_branch:
        yield (f"  {fit_text(short_branch(worktree.branch, work.session.session_id), _BRANCH).rstrip()}", "dim")


def reason_of(work: LiveStatus) -> str:
    """Return why it does not work; empty: it does, or there is nothing to tell."""
    if work.rest_status == "queued":
        return work.waits_for
    worktree = "" if work.worktree is None else work.worktree.reason
    return work.error or worktree if work.is_stale or work.word in ("failed", "timed_out") else ""


def _is_listed(work: LiveStatus) -> bool:
    if work.pid is not None or work.rest_status in ("queued", "starting") or work.pending_approval:
        return True
    if work.worktree is not None and work.worktree.state in _HAS_FOLDER:
        return True
    return work.session.native_id is None and work.rest_status == "failed"


def _rank(work: LiveStatus) -> int:
    word = state_words(work)[0]
    return _ORDER.index(word) if word in _ORDER else len(_ORDER)
