"""The worktrees of sessions as lines: whose, what is in them, how large, and why one stays. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.worktrees.retention import describe_ignored, describe_size, why_kept
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, fit_text
from oulipoly_tui.view.work.works import GitLook, git_words, short_branch

if TYPE_CHECKING:
    from oulipoly_engine.core.worktrees.retention import WorktreeStatus
    from oulipoly_engine.facade.worktrees.worktrees import Pruned

_STATES: Mapping[str, tuple[str, Tone]] = {
    "creating": ("being made", "dim"),
    "failed": ("failed", "bad"),
    "removing": ("being removed", "dim"),
    "removed": ("removed", "dim"),
}
_SIZE, _STATE = 9, 14
_NAME_LEAST = 14


def worktree_rows(found: Sequence[WorktreeStatus], names: Mapping[str, str], width: int) -> tuple[Row, ...]:
    """Return a row a worktree under its repository; removed ones last. names: of sessions, by their ids."""
    rows: list[Row] = []
    for repository in sorted({one.worktree.repository for one in found}):
        rows.append(Row(f"r:{repository}", ((visible_line(repository), "heading"),), is_selectable=False))
        own = [one for one in found if one.worktree.repository == repository]
        own.sort(key=lambda one: one.worktree.state == "removed")
        rows += [Row(one.worktree.session_id, _line(one, names, width)) for one in own]
    return tuple(rows)


def detail_lines(one: WorktreeStatus, home: str, now: datetime) -> tuple[Line, ...]:
    """Return what is known of a worktree, and what its removal would come to."""
    worktree, look = one.worktree, one.look
    problem = worktree.reason or look.problem
    lines: list[Line] = [((visible_line(problem), "warn"),)] if problem else []
    if worktree.state == "removed":
        lines.append((("Removed. r restores it, with all that was not committed.", ""),))
    else:
        reason = why_kept(one)
        stays = f"It does not go by itself: {visible_line(reason)}."
        lines.append(((stays if reason else "Clean and merged: P removes all such.", "dim"),))
    base = visible_line(worktree.base or "HEAD")
    age = words.age(worktree.created_at, now)
    lines.append((("branch  ", "dim"), (visible_line(worktree.branch), ""), (f" from {base}, {age}", "dim")))
    lines.append((("folder  ", "dim"), (short_path(worktree.path, home), "")))
    if worktree.isolation:
        lines.append((("held    ", "dim"), (f"{visible_line(worktree.isolation)}: every CLI that works in it", "")))
    if worktree.port_count:
        last = (worktree.port_first or 0) + worktree.port_count - 1
        lines.append((("ports   ", "dim"), (f"{worktree.port_first} to {last}", "")))
    return tuple(lines)


def state_words(one: WorktreeStatus) -> tuple[str, Tone]:
    """Return how a worktree stands."""
    return _STATES.get(one.worktree.state, ("in use", "good") if one.is_running else ("idle", ""))


def remove_text(one: WorktreeStatus, ignored: Sequence[str], undo: str = "r restores it") -> str:
    """Return the question before a removal. ignored: what nothing keeps. undo: how it is undone, a sentence's end."""
    look = one.look
    text = f"Remove {visible_line(one.worktree.path)}?\n"
    if look.changed_files:
        files = f"{look.changed_files} changed file{'s' * (look.changed_files != 1)}"
        text += f"{files} not committed are kept in a salvage reference first.\n"
    if not look.is_merged and one.worktree.base:
        text += "Its commits are not merged: the branch stays.\n"
    if ignored:
        text += f"What git ignores is not kept: {visible_line(describe_ignored(ignored))}.\n"
    return text + f"It can be undone: {undo}."


def prune_lines(would: Pruned) -> tuple[Line, ...]:
    """Return what would go by itself, and what stays and why."""
    old = [f"{one.made_at.astimezone():%Y-%m-%d} {one.kind}: {one.holds}" for one in would.references]
    lines: list[Line] = [((f"{len(would.gone)} clean and merged", "heading"),)]
    for one in would.gone:
        lines.append(((f"  {visible_line(one.worktree.path)}", ""),))
        if one.ignored:
            lines.append(((f"    not kept: {visible_line(describe_ignored(one.ignored))}", "warn"),))
    lines += [((f"{len(old)} old copies of removed worktrees, for good", "heading"),)] if old else []
    lines += [((f"  {visible_line(text)}", ""),) for text in old]
    lines += [((f"{len(would.kept)} stay", "heading"),)]
    return (*lines, *(((visible_line(f"  {one.worktree.path}: {why}"), "dim"),) for one, why in would.kept))


def size_text(one: WorktreeStatus) -> str:
    """Return the size of a worktree on the disk."""
    if one.size_bytes is None:
        return "" if one.worktree.state == "removed" else "unknown"
    return describe_size(one)


def total_text(found: Sequence[WorktreeStatus]) -> str:
    """Return how many there are and what they take."""
    there = [one for one in found if one.worktree.state != "removed"]
    size = sum(one.size_bytes or 0 for one in there)
    return f"{len(there)} · {size / 1_000_000:,.0f} MB" if there else "none"


def _line(one: WorktreeStatus, names: Mapping[str, str], width: int) -> Line:
    worktree, look = one.worktree, one.look
    state, tone = state_words(one)
    name = names.get(worktree.session_id, worktree.session_id[:8])
    aside: list[Span] = []
    if look.exists:
        aside += git_words(GitLook(look.ahead, look.behind, look.changed_files))
        if look.is_merged and not look.changed_files:
            aside.append((" merged", "good"))
    aside.append((f"  {short_branch(worktree.branch, worktree.session_id)}", "dim"))
    size = fit_text(size_text(one), _SIZE, right=True)
    room = width - _STATE - _SIZE - sum(cells(text) for text, _ in aside) - 1
    while aside and room < _NAME_LEAST:
        room += cells(aside.pop()[0])
    shown = fit_text(visible_line(name), max(1, room))
    return ((" ", ""), (fit_text(state, _STATE), tone), (shown, ""), *aside, (size, ""))
