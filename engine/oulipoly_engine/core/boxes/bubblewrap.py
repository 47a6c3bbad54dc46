"""A sealed box as the words of bubblewrap. Pure.

Source: bubblewrap 0.8.0, seen 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oulipoly_engine.core.boxes.box import SCRATCH, Access, Box, Mount, Network, limit_words, list_system

PROXY_SOCKET = "/run/proxy.sock"  # where a box sees the socket of its proxy
PROXY_PORT = 3128  # of the box's own loopback, on which it is reached by those who know no such sockets
_PROXY_URL = f"http://127.0.0.1:{PROXY_PORT}"
# Of a program in a box with a proxy: who starts it adds them.
PROXY_VARIABLES = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _PROXY_URL)
# Nobody in it becomes root of a namespace of its own; all of it ends with the thread that started it.
NAMESPACES = ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent")
_OPTIONS = {Access.READ: "--ro-bind", Access.WRITE: "--bind"}


def bubblewrap_words(
    box: Box, argv: Sequence[str], folder: str = "/", *, has_terminal: bool = False
) -> tuple[str, ...]:
    """Return the words that start a program in a sealed box. folder: where it starts, if the box does not say.

    has_terminal: one that nobody else uses, before or after; any other it must not get hold of.
    """
    session = () if has_terminal else ("--new-session",)
    return ("bwrap", *NAMESPACES, *session, *_list_options(box, folder), "--", *limit_words(box.own_limits, argv))


def _list_options(box: Box, folder: str) -> Iterator[str]:
    if box.network is Network.SHARED:
        yield "--share-net"
    for mount in list_system(box.network):
        yield from _bind(mount)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(box.scratch_bytes), "--tmpfs", SCRATCH)
    for mount in box.mounts:
        yield from _bind(mount)
    if box.network is Network.PROXY:
        yield from ("--bind", box.proxy, PROXY_SOCKET)
    closed = (mount.path for mount in box.mounts if mount.access is Access.EMPTY)
    for path in ("/dev", *closed, "/"):  # once nothing more is to be mounted in them
        yield from ("--remount-ro", path)
    yield from ("--chdir", box.folder or folder)


def _bind(mount: Mount) -> tuple[str, ...]:
    match mount.access:
        case Access.READ | Access.WRITE:
            suffix = "-try" if mount.is_optional else ""
            return (f"{_OPTIONS[mount.access]}{suffix}", mount.source or mount.path, mount.path)
        case Access.SCRATCH | Access.EMPTY:
            return ("--tmpfs", mount.path)
        case Access.LINK:
            return ("--symlink", mount.source, mount.path)
