"""Control groups of Linux: what all processes of an agent take together, root's too.

Of version 2 a group is made beside our own one, or higher up, where memory and pids are controlled and our user writes;
of version 1 below our own ones. A program stands in its group before its first instruction: a shell in front of it
waits at a pipe until we have put it there, and ends if we are killed before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from oulipoly_engine.core.agents.limits import Refusals
from oulipoly_engine.core.boxes.box import Box, Limits
from oulipoly_engine.errors import SpawnFailed

_CONTROLLERS = frozenset({"memory", "pids"})
_WAIT = ("/bin/sh", "-c", 'read -r _ <"/proc/self/fd/$0" || exit 125; exec "$@"')
_END_S = 5.0
_LOOK_S = 0.01
_PROC = Path("/proc/self")
_Start = Callable[[tuple[str, ...], tuple[int, ...]], subprocess.Popen[bytes]]


def choose_group(name: str, proc: Path = _PROC) -> tuple[str, ...]:
    """Return the folders of a new group, which is not made yet; none where this process can make none.

    proc: the folder of this process in /proc.
    """
    try:
        parents = _find_parents(proc)
    except (OSError, ValueError):
        return ()
    is_ours = all(os.access(path, os.W_OK) for parent in parents for path in (parent, parent / "cgroup.procs"))
    return tuple(str(parent / name) for parent in parents) if is_ours else ()


def _find_parents(proc: Path) -> tuple[Path, ...]:
    """Return the folders in which groups of ours can be made: one, or one for each controller."""
    own: dict[str, str] = {}  # the paths of our groups, by their controllers; of version 2 by none
    for line in (proc / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    parents: dict[str, Path] = {}
    for line in (proc / "mountinfo").read_text().splitlines():
        fields, _, more = line.partition(" - ")
        root, place = fields.split()[3:5]
        kind, _, options = more.split(maxsplit=2)
        names = _CONTROLLERS & set(options.split(",")) if kind == "cgroup" else set()
        if kind == "cgroup2":
            names = {""}
        for name in names & own.keys():
            path = os.path.relpath(own[name], root)
            if not path.startswith(".."):  # else our group lies outside of what is mounted
                parents[name] = Path(place, path)
    if parents.keys() >= _CONTROLLERS:
        return tuple(dict.fromkeys(parents[name] for name in sorted(_CONTROLLERS)))
    group = parents.get("")
    return () if group is None else tuple(filter(_is_delegated, (group, *group.parents)))[:1]


def _is_delegated(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        controlled = (folder / "cgroup.subtree_control").read_text().split()
        return set(controlled) >= _CONTROLLERS and os.access(folder, os.W_OK)
    return False


def start_in_group(box: Box, start: _Start) -> subprocess.Popen[bytes]:
    """Return the process that `start` starts, in the group of a box, which is made if it is not there.

    start: is given words before those of the program and a descriptor that it holds. Raises what it raises, and
    SpawnFailed where the group cannot be had: then nothing runs.
    """
    reading, writing = os.pipe()
    try:
        with _refused(box):
            for folder in box.group:
                Path(folder).mkdir(exist_ok=True)
            _limit(box.group, box.limits)
        process = start((*_WAIT, str(reading)), (reading,))
        try:
            with _refused(box):
                for folder in box.group:
                    Path(folder, "cgroup.procs").write_text(str(process.pid))
            os.write(writing, b"\n")
        except BaseException:
            with process:  # which closes its pipes, and waits for it
                process.kill()
            raise
        return process
    finally:
        os.close(reading)
        os.close(writing)


@contextlib.contextmanager
def _refused(box: Box) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise SpawnFailed(
            f"its limits need the control group {box.group[0]}, which cannot be had from here ({why}): stop the agent, "
            "and start it where it is to run"
        ) from error


def _limit(folders: tuple[str, ...], limits: Limits) -> None:
    """Write the limits of a group, of either version. Raises OSError where it has none of the kind."""
    memory = limits.data_bytes or limits.memory_bytes
    _write(folders, ("memory.max", "memory.limit_in_bytes"), memory)
    _write(folders, ("pids.max",), limits.processes)
    with contextlib.suppress(FileNotFoundError):  # a kernel that does not count swap
        _write(folders, ("memory.swap.max", "memory.memsw.limit_in_bytes"), memory)


def _write(folders: tuple[str, ...], names: tuple[str, ...], value: int | None) -> None:
    if value is None:
        return
    files = [file for folder in folders for name in names if (file := Path(folder, name)).exists()]
    if not files:
        raise FileNotFoundError(errno.ENOENT, f"it has no {names[0]}")
    for file in files:
        file.write_text("0" if file.name == "memory.swap.max" else str(value))


def count_refusals(folders: tuple[str, ...]) -> Refusals:
    """Return how often a group has refused something since it was made."""
    counts: dict[tuple[str, str], int] = {}
    for name in ("memory.events", "memory.oom_control", "pids.events"):
        for folder in folders:
            with contextlib.suppress(OSError):
                pairs = (line.split() for line in Path(folder, name).read_text().splitlines())
                counts |= {(name[:4], key): int(value) for key, value in pairs}
    return Refusals(counts.get(("memo", "oom_kill"), 0), counts.get(("pids", "max"), 0))


def end_group(folders: tuple[str, ...]) -> None:
    """Kill what stands in a group, wherever it has hidden itself, and remove the group."""
    deadline = time.monotonic() + _END_S
    for folder in map(Path, folders):
        while folder.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                for pid in (folder / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(_LOOK_S)
