"""What CLIs in boxes reach: an agent's tree and mounts, or a work tree, and what their programs need. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from oulipoly_engine.core.agents.containers import WRITABLE
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.boxes.box import Access, Box, Level, Limits, Network
from oulipoly_engine.core.boxes.box import Mount as BoxMount

OF_WORK = ("home", "tmp")  # what a box of a work tree writes of its own
_NAMES = ("/etc/passwd", "/etc/group", "/etc/machine-id")  # programs ask who their user is
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib")
_NODE_PACKAGE = re.compile(r".*?/node_modules/(?:@[^/]+/)?[^/]+(?=/)")  # of Node: the outermost that a path lies in
_OF_PREFIX = ("lib", "lib64", "libexec")


def agent_box(
    level: str,
    root: str,
    mounts: Sequence[Mount],
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    trees: Mapping[str, Sequence[BoxMount]] = {},
    network: Network = Network.SHARED,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    group: tuple[str, ...] = (),
) -> Box | None:
    """Return the box of a process of an agent; None: nothing holds it. One of the level none has limits alone.

    root: of its tree. reads, writes: what its program needs besides. trees: of mounts that are written, in which what
    a git, a shell or an editor of the user's runs later is read-only where it is there. The proxy of a box is named
    when it is started.
    """
    if level not in (Level.GUARDED, Level.SEALED):
        return None if limits == Limits() else Box(Level.NONE, network=network, limits=limits, group=group, tree=root)
    shown: list[BoxMount] = []
    for mount in mounts:  # in their order: a later one lies over an earlier one
        access = Access.READ if mount.is_read_only else Access.WRITE
        shown += trees.get(mount.host, (BoxMount(mount.host, access),))
    shown += _list_own(root, WRITABLE, reads, writes)  # behind a mount that may lie around it
    start = f"{root}/workspace"
    return Box(Level(level), tuple(shown), network, limits=limits, folder=start, group=group, tree=root)


def work_box(
    level: Level,
    root: str,
    folder: str,
    mounts: Sequence[BoxMount],
    *,
    reads: Sequence[str],
    writes: Sequence[str],
    network: Network,
) -> Box:
    """Return the box of a CLI that works in a work tree.

    root: of what is the box's own. folder: the work tree; mounts: what is seen of it and of its repository. reads,
    writes: what its program needs besides.
    """
    shown = (*_list_own(root, OF_WORK, reads, writes), *mounts)
    return Box(level, shown, network, folder=folder)


def _list_own(root: str, writable: Sequence[str], reads: Sequence[str], writes: Sequence[str]) -> Iterator[BoxMount]:
    for path in (*_NAMES, *reads):
        yield BoxMount(path, Access.READ, is_optional=True)
    yield BoxMount(root, Access.READ)
    for path in (*(f"{root}/{name}" for name in writable), *writes):
        yield BoxMount(path, Access.WRITE)


def agent_network(level: str) -> Network:
    """Return what an agent reaches by sockets, in a box or without."""
    return Network.PROXY if level == Level.SEALED else Network.SHARED


def list_program_folders(paths: Sequence[str]) -> tuple[str, ...]:
    """Return what is read to start a program. paths: it and what it is a link to, its interpreter likewise.

    Of a program of Node the whole package: its real program may lie in one of the packages inside, as that of codex.
    Of a program in `PREFIX/bin` the installation's libraries are read too, but not the whole prefix: that may be
    `~/.local`, where more lies than programs.
    """
    return tuple(dict.fromkeys(folder for path in paths for folder in _list_folders(path)))


def _list_folders(path: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    if package := _NODE_PACKAGE.match(path):
        yield package[0]
        return
    if f"{folder}/".startswith(_SYSTEM):
        return
    yield folder
    prefix, name = posixpath.split(folder)
    if name == "bin":
        yield from (posixpath.join(prefix, part) for part in _OF_PREFIX)
