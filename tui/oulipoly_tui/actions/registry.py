"""Every action of the app: keys, footer, menu, help, palette, line and README say of it what stands here. Pure.

A part of the app adds a module beside this one with its `ACTIONS`, and a line in `ACTIONS` below. Functions are named
and not imported: the first frame needs the keys alone.
"""

from __future__ import annotations

from functools import cache

from oulipoly_tui.actions import (
    agents,
    artifacts,
    branches,
    frame,
    live,
    pools,
    session_files,
    sessions,
    terminals,
    transcript,
    views,
    work,
)
from oulipoly_tui.actions.action import Action, find_term

ACTIONS: tuple[Action, ...] = (
    *frame.ACTIONS,
    *pools.ACTIONS,
    *sessions.ACTIONS,
    *session_files.ACTIONS,
    *views.ACTIONS,
    *transcript.ACTIONS,
    *artifacts.ACTIONS,
    *terminals.ACTIONS,
    *live.ACTIONS,
    *branches.ACTIONS,
    *agents.ACTIONS,
    *work.ACTIONS,
)


@cache
def commands(own: tuple[Action, ...] = ()) -> dict[str, Action]:
    """Return what can be written on the `:` line, by its name.

    own: the user's own, which have no name of ours; of several panes, the first one stands for all.
    """
    return {action.line: action for action in (*reversed(own), *ACTIONS) if action.line}


def search(wanted: str, own: tuple[Action, ...] = ()) -> tuple[Action, ...]:
    """Return the actions that some words find by label, synonym, command, description or id."""
    return tuple(action for action in (*ACTIONS, *own) if find_term(action, wanted) is not None)
