"""Worktrees for screen readers: listed, removed with what is kept, restored, pruned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.worktrees.retention import why_kept
from oulipoly_tui.linear.work.changes import ChangesMenu, far_words
from oulipoly_tui.view import words
from oulipoly_tui.view.live.lists import name_of
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.view.work.works import GitLook, short_branch
from oulipoly_tui.view.work.worktrees import prune_lines, remove_text, size_text, state_words

if TYPE_CHECKING:
    from oulipoly_engine.core.commands.command import Command
    from oulipoly_engine.core.worktrees.retention import WorktreeStatus
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_STATES = {  # in which a worktree is that a command can be done to
    "changes": ("ready",),
    "worktree restore": ("removed",),
    "worktree remove": ("ready", "creating", "removing", "failed"),
}


def worktree_lines(talk: Talk, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a worktree; those that were removed come last."""
    found = _list(talk)
    names = _names(talk)
    yield from (_line(one, names, snapshot) for one in found)
    if not found:
        yield "No worktree. A session that works by itself has one."


def open_changes(talk: Talk, one: WorktreeStatus) -> None:
    """Open what was changed in one that is there."""
    ChangesMenu(talk, one.worktree.session_id, _names(talk).get(one.worktree.session_id, "")).open()


def remove(talk: Talk, one: WorktreeStatus) -> None:
    """Say what is kept, and remove a worktree after a yes."""
    if one.is_running:
        talk.say("Its session runs: end it first, under Work sessions.")
        return
    ignored = talk.engine.worktrees.remove(one.worktree.session_id, force=True, dry_run=True).ignored
    question, *told = remove_text(one, ignored, undo="Restore one brings it back").split("\n")
    for line in told:
        talk.quote(line)
    if talk.confirm(question):
        talk.engine.worktrees.remove(one.worktree.session_id, force=True)
        talk.say("Removed. Restore one brings it back.")


def restore(talk: Talk, one: WorktreeStatus) -> None:
    """Bring back one that was removed."""
    talk.engine.worktrees.restore(one.worktree.session_id)
    talk.quote(f"Restored. {visible_line(one.worktree.path)}")


def prune(talk: Talk, _snapshot: Snapshot) -> None:
    """Say what would go by itself and what stays, and why; let it go after a yes."""
    would = talk.engine.worktrees.prune(dry_run=True)
    for line in prune_lines(would):
        talk.quote(plain(line))
    if (would.gone or would.references) and talk.confirm("Prune?"):
        talk.say(f"Removed {len(talk.engine.worktrees.prune().gone)}. Restore one brings it back.")


def _list(talk: Talk) -> list[WorktreeStatus]:
    found = talk.engine.worktrees.list(has_removed=True)
    return sorted(found, key=lambda one: (one.worktree.state == "removed", one.worktree.repository))


def _names(talk: Talk) -> dict[str, str]:
    return {one.session.session_id: name_of(one) for one in talk.engine.work.list(1000)}


def choose(talk: Talk, snapshot: Snapshot, command: Command) -> WorktreeStatus | None:
    """Let one of those be chosen to which a command can be done."""
    names = _names(talk)
    worktrees = [one for one in _list(talk) if one.worktree.state in _STATES[command.name]]
    return talk.choose_of("Worktree", worktrees, lambda status: _line(status, names, snapshot), "There is none.")


def _line(one: WorktreeStatus, names: dict[str, str], snapshot: Snapshot) -> str:
    worktree, look = one.worktree, one.look
    key = worktree.session_id
    told = [
        names.get(key, key[:8]),
        state_words(one)[0].capitalize(),
        f"Branch {short_branch(worktree.branch, key)} from {visible_line(worktree.base or 'HEAD')}",
        f"In {short_path(worktree.path, str(Path.home()))}",
        f"Made {words.age(worktree.created_at, snapshot.at)}",
    ]
    if look.exists:
        reason = why_kept(one)
        far = far_words(GitLook(look.ahead, look.behind, look.changed_files)).strip().rstrip(".")
        told += [far, f"It does not go by itself: {visible_line(reason)}" if reason else "Clean and merged"]
    problem, size = worktree.reason or look.problem, size_text(one)
    told += [visible_line(problem)] if problem else []
    return ". ".join([*told, *([size] if size else [])]) + "."
