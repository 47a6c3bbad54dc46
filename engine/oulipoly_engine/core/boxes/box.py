"""What a program may reach of the machine: one box around it, at one of three levels. Pure.

|                             | none | guarded                          | sealed                              |
|-----------------------------|------|----------------------------------|-------------------------------------|
| held by                     |      | Landlock, seccomp                | bubblewrap: namespaces              |
| paths that are not declared | all  | refused                          | are not there                       |
| read-only inside writable   | no   | no: `list_unheld` names them     | yes                                 |
| other processes             | seen | seen; not read, not signalled    | are not there                       |
| network                     | all  | none (no sockets but Unix) or all| none, all, or a proxy's socket alone|
| Unix sockets by path        | all  | all; none without a network      | those in declared paths             |
| limits                      | yes  | yes                              | yes                                 |

Limits hold for each process; a control group, where one can be had, holds memory and processes for all together.

A level that cannot be had is refused with what to do, never replaced by a lower level.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from enum import StrEnum

from oulipoly_engine.records import Record, replace

SCRATCH = "/tmp"  # noqa: S108 - in a sealed box, where nobody else is


class Level(StrEnum):
    """How much a box holds, weakest first."""

    NONE = "none"
    GUARDED = "guarded"
    SEALED = "sealed"


class Network(StrEnum):
    """What a program reaches by sockets."""

    NONE = "none"
    SHARED = "shared"  # all that this machine reaches
    BRIDGE = "bridge"  # of a container: what this machine reaches, but for its own loopback
    PROXY = "proxy"  # what the proxy behind `Box.proxy` lets through


class Access(StrEnum):
    """What a box shows at a path."""

    READ = "read"  # and execute
    WRITE = "write"  # and read, and execute
    SCRATCH = "scratch"  # an empty folder in memory, of its own
    EMPTY = "empty"  # an empty folder that stays so: hides what lies there
    LINK = "link"


class Mount(Record):
    """One path of a box; a later one lies over an earlier one."""

    path: str  # absolute, as the program sees it
    access: Access
    source: str = ""  # what lies there, where that lies elsewhere outside; of a link: where it leads
    is_optional: bool = False  # nothing lies there outside: then it is left out
    within: str = ""  # a folder that others write: left out too where a link leads there from it


class Limits(Record):
    """What each process of a box may take; None: as much as we."""

    memory_bytes: int | None = None  # of address space, each process
    data_bytes: int | None = None  # of memory that is its own and written, each process
    processes: int | None = None  # of its user; root is not limited by Linux
    processor_s: int | None = None  # each process, in all
    file_bytes: int | None = None  # the longest file that it writes
    descriptors: int | None = None
    tree_bytes: int | None = None  # of all files below `Box.tree`: looked at now and then


class Inbound(Record):
    """How a server in a sealed box is reached from outside: by descriptors that its program's relay holds."""

    listener: int  # of a Unix socket that listens, which is none of the box's network
    ready: int  # of a pipe: a byte comes once the server takes connections, its end with that of the relay
    port: int  # of the box's own loopback, on which the server listens


class Box(Record):
    """One box."""

    level: Level
    mounts: tuple[Mount, ...] = ()  # besides the system's programs
    network: Network = Network.NONE
    proxy: str = ""  # of Network.PROXY: the path of its Unix socket
    limits: Limits = Limits()
    folder: str = ""  # in which the program starts, as it sees it; empty: the command's
    scratch_bytes: int = 64 << 20  # of /tmp in a sealed box
    group: tuple[
        str, ...
    ] = ()  # the folders of a control group that its processes stand in; none: limits hold for each
    tree: str = ""  # the folder whose files are limited
    inbound: Inbound | None = None  # of Network.PROXY, once it is started: how its server is reached

    @property
    def own_limits(self) -> Limits:
        """Return the limits that each process begins with: their number is its control group's, where it has one."""
        return replace(self.limits, processes=None) if self.group else self.limits


_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/alternatives"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/ssl", "/etc/ca-certificates", "/etc/pki"),
)
_FOR_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
# What git, a shell, an editor or a CI service of the user's runs later, outside the box: in a folder of git, and in a
# work tree.
_OF_GIT = ("hooks", "config", "config.worktree", "info/attributes", "commondir", "gitdir", "modules", "worktrees")
_OF_OWN = ("commondir", "gitdir", "config.worktree")  # of the folder of git that is a work tree's own
_OF_TREE = (
    *(".gitmodules", ".gitattributes", ".envrc", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".husky"),
    *(".pre-commit-config.yaml", ".github/workflows", ".gitlab-ci.yml", ".circleci", ".ci", "Jenkinsfile", ".vscode"),
    *(".idea", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".mcp.json", ".codex"),
)


def list_system(network: Network) -> tuple[Mount, ...]:
    """Return what every box shows: programs and libraries, and with the network what names of machines need."""
    paths = (*_SYSTEM, *(_FOR_NETWORK if network is Network.SHARED else ()))
    return tuple(Mount(path, Access.READ, is_optional=True) for path in paths)


def list_runs_later(root: str, git: str = "") -> tuple[str, ...]:
    """Return what below a work tree runs later, whether it is there or not. git: its folder of git, if elsewhere."""
    paths = [posixpath.join(root, name) for name in _OF_TREE]
    return (*paths, *(posixpath.join(git or posixpath.join(root, ".git"), name) for name in _OF_GIT))


def protect_worktree(root: str, git: str = "", own: str = "", branch: str = "") -> tuple[Mount, ...]:
    """Return the mounts of a work tree that is written, with what runs later read-only, where it is there.

    git: of a linked work tree, the folder of git that it shares; own: the folder in it that is the tree's alone;
    branch: what it commits to. A folder between is mounted too: it could be put aside otherwise, with what is read-only
    in it, and made anew. Whoever wrote in the tree before may have left a link at any of these paths.
    """
    paths = list_runs_later(root)
    if git:
        paths = tuple(posixpath.join(root, name) for name in _OF_TREE)
    between = dict.fromkeys(posixpath.dirname(path) for path in paths)
    mounts = [Mount(root, Access.WRITE)]
    mounts += (Mount(path, Access.WRITE, is_optional=True, within=root) for path in between if path != root)
    mounts += (Mount(path, Access.READ, is_optional=True, within=root) for path in paths)
    if git:
        mounts += (Mount(posixpath.join(root, ".git"), Access.READ, within=root), *_share_git(git, own, branch))
    return tuple(mounts)


def _share_git(git: str, own: str, branch: str) -> Iterator[Mount]:
    """Yield what a linked work tree needs of the folder of git that it shares, to commit to its branch.

    All else there is read: hooks and configuration, the other branches, and what the main checkout and the other work
    trees stand at.
    """
    yield Mount(git, Access.READ)
    for folder in list_commit_folders(git, branch):
        yield Mount(folder, Access.WRITE, is_optional=True)
    yield Mount(own, Access.WRITE)
    for name in _OF_OWN:
        yield Mount(posixpath.join(own, name), Access.READ, is_optional=True, within=own)


def list_commit_folders(git: str, branch: str) -> tuple[str, ...]:
    """Return the folders of a folder of git that a commit to a branch writes, where they are there."""
    others = (posixpath.join(git, name) for name in ("objects", "reftable", "lfs"))
    return (*list_branch_folders(git, branch), *others)


def list_branch_folders(git: str, branch: str) -> tuple[str, ...]:
    """Return the folders of a branch and of its log, where git has not packed them away."""
    of_branch = posixpath.dirname(posixpath.join("refs/heads", branch))
    return (posixpath.join(git, of_branch), posixpath.join(git, "logs", of_branch))


def list_unheld(box: Box, *, is_root: bool = False) -> tuple[str, ...]:
    """Return what a box asks for and its level does not hold, a line each. is_root: whether root runs it."""
    lines: tuple[str, ...] = ()
    if box.level is Level.NONE:
        lines = ("every path, process and address of the user is reached",)
    if box.level is Level.GUARDED:
        lines = tuple(_list_unguarded(box))
    return (*lines, *_list_unlimited(box, is_root=is_root))


def _list_unlimited(box: Box, *, is_root: bool) -> Iterator[str]:
    memory_bytes = box.limits.memory_bytes or box.limits.data_bytes
    without = "no control group can be made where it was started"
    if memory_bytes and not box.group:
        yield f"memory is limited to {memory_bytes >> 20} MB for each process, not for all together: {without}"
    if is_root and box.limits.processes and not box.group:
        yield f"root may start more than {box.limits.processes} processes: {without}"
    if box.limits.tree_bytes:
        yield f"files take more than {box.limits.tree_bytes >> 20} MB until that is seen, a second later and more"


def _list_unguarded(box: Box) -> Iterator[str]:
    for number, mount in enumerate(box.mounts):
        inside = [other.access for other in box.mounts[number + 1 :] if other.path.startswith(f"{mount.path}/")]
        if mount.access is Access.WRITE and Access.READ in inside and not mount.is_optional:
            yield f"{mount.path} can be written as a whole, with what is to be read-only in it"
        if mount.access in (Access.READ, Access.WRITE) and Access.EMPTY in inside:
            yield f"{mount.path} can be read as a whole, with what is to be hidden in it"
    if box.network is not Network.NONE:
        yield "Unix sockets are reached by their paths"
    yield "names and arguments of other processes are seen, and terminals of the user are read and written"


def limit_words(limits: Limits, argv: Sequence[str], *, running: int = 0) -> tuple[str, ...]:
    """Return the words that start a program within limits; those alone where there are none.

    running: processes that already run, which count towards those of a user outside a sealed box.
    """
    options = {
        "v": limits.memory_bytes and limits.memory_bytes >> 10,
        "d": limits.data_bytes and limits.data_bytes >> 10,
        "f": limits.file_bytes and limits.file_bytes >> 9,  # blocks of 512 bytes
        "n": limits.descriptors,
    }
    lines = ["ulimit -c 0", *(f"ulimit -{option} {value}" for option, value in options.items() if value is not None)]
    if limits.processor_s is not None:  # at the hard limit it is killed, at the other it is sent XCPU, which says why
        lines += (f"ulimit -S -t {limits.processor_s}", f"ulimit -H -t {limits.processor_s + 1}")
    if limits.processes is not None:
        count = limits.processes + running
        lines.append(f"ulimit -u {count} 2>/dev/null || ulimit -p {count}")
    if len(lines) == 1:
        return tuple(argv)
    return ("/bin/sh", "-c", f'{"; ".join(lines)}; exec "$@"', "sh", *argv)
