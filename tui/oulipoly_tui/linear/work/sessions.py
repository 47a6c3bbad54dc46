"""Work sessions for screen readers: listed, read, talked to, ended."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import RunnerError
from oulipoly_tui.linear import live
from oulipoly_tui.linear.work.changes import ChangesMenu, far_words
from oulipoly_tui.view.live.lists import name_of, state_words
from oulipoly_tui.view.work.works import (
    GitLook,
    choose_works,
    has_folder,
    read_changes,
    reason_of,
    short_branch,
)

if TYPE_CHECKING:
    from oulipoly_engine.core.commands.command import Command
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_MOST = 200  # sessions
_LOOK_S = 2.0  # old that git's answer may be


def work_lines(talk: Talk, _snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a work session, those that wait for somebody first."""
    found = choose_works(talk.engine.work.list(_MOST))
    yield from (_line(talk, one) for one in found)
    if not found:
        yield "No work sessions."


def open_changes(talk: Talk, one: LiveStatus) -> None:
    """Open what a session has changed."""
    ChangesMenu(talk, one.session.session_id, name_of(one)).open()


def end(talk: Talk, one: LiveStatus) -> None:
    """End a session's turn and its process, after a yes."""
    if talk.confirm("End its turn and its process? Messages that wait are taken back."):
        last = talk.engine.live.last_number(one.session.session_id)
        talk.engine.work.cancel(one.session.session_id)
        for numbered in talk.engine.live.follow(one.session.session_id, last, deltas=False):  # until it has ended
            live.tell(talk, numbered.event)
        talk.say("Its worktree stays.")


def choose(talk: Talk, _snapshot: Snapshot, command: Command) -> LiveStatus | None:
    """Let a work session be chosen; another live one too, where it is about what was changed."""
    sessions = choose_works(talk.engine.work.list(_MOST, all_live=command.name == "changes"))
    return talk.choose_of("Work session", sessions, partial(_line, talk), "There is no work session.")


def _line(talk: Talk, one: LiveStatus) -> str:
    reason = visible_line(reason_of(one))
    said = f"{name_of(one)}. {state_words(one)[0].capitalize()}.{f' {reason}.' if reason else ''}"
    if one.worktree is not None:
        said += f" Branch {short_branch(one.worktree.branch, one.session.session_id)}."
    if not has_folder(one):
        return f"{said} Worktree {one.worktree.state}." if one.worktree is not None else said
    try:
        look = read_changes(talk.engine.changes.status(one.session.session_id, max_age_s=_LOOK_S))
    except RunnerError as error:
        look = GitLook(reason=error.message)
    return said + far_words(look)
