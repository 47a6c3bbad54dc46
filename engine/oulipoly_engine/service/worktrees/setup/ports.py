"""An own range of ports for each worktree, so that two of them can run the same server."""

from __future__ import annotations

import socket

from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.worktrees import worktrees

_FIRST, _LAST = 20_000, 31_999  # below those that Linux gives to outgoing connections (32768 and above)
_HELD = ("creating", "ready", "removing")


def choose_ports(store: Store, count: int) -> int | None:
    """Return the first of `count` neighbouring ports that no worktree has and nobody listens on; None for 0.

    Call it in the transaction that writes the row. Raises RequestRefused where there are none left.
    """
    if not count:
        return None
    taken = sorted(
        (one.port_first, one.port_first + one.port_count)
        for one in worktrees.list_worktrees(store, _HELD)
        if one.port_first is not None
    )
    first = _FIRST
    while first + count - 1 <= _LAST:
        overlap = next((end for begin, end in taken if begin < first + count and first < end), None)
        if overlap is None:
            busy = next((port for port in range(first, first + count) if not _is_free(port)), None)
            if busy is None:
                return first
            overlap = busy + 1
        first = overlap
    raise RequestRefused(
        f"no {count} neighbouring ports are free from {_FIRST} to {_LAST}: remove worktrees that are done with"
    )


def worktree_environment(worktree: Worktree) -> dict[str, str]:
    """Return what a session and its set-up find in their environment beside everything else."""
    told = {
        "WORKTREE_PATH": worktree.path,
        "WORKTREE_REPOSITORY": worktree.repository,
        "WORKTREE_BRANCH": worktree.branch,
    }
    if worktree.port_first is not None:
        last = worktree.port_first + worktree.port_count - 1
        told |= {"PORT_FIRST": str(worktree.port_first), "PORT_LAST": str(last), "PORT_COUNT": str(worktree.port_count)}
    return told


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
