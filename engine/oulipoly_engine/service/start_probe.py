"""Try at each start of an agent, with a shell in its own box, whether its level holds what a shell can try.

`isolation` measures all of a box, in 0.2 to 0.4 s: too much for a start. Here nothing starts but the box and a shell
that uses its own commands.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.boxes.box import Access, Box, Level, Limits, Mount, Network
from oulipoly_engine.core.boxes.report import explain_leaks
from oulipoly_engine.errors import IsolationUnavailable, SystemRefused
from oulipoly_engine.private_files import write_private
from oulipoly_engine.process.boxes.worktree import drop_links
from oulipoly_engine.process.liveness import start_ticks
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import replace

_PATIENCE_S = 10.0
_SECRET = b"secret"
# Each line that it writes is an attempt of `core.boxes.report` that has succeeded. Its arguments: a file outside, or
# nothing; our process, and when that began; a port of this machine that we listen at, as /proc has it, or nothing; a
# folder to read, or nothing; `sealed`, or nothing; paths to read.
_LINES = r"""
exec 2>&-
outside=$1 pid=$2 began=$3 port=$4 folder=$5 level=$6 line=
shift 6
if [ "$outside" ]; then
    if true <"$outside"; then echo read_undeclared; fi
    echo written >>"$outside"
fi
if [ "$folder" ] && true >>"$folder/.probe-$pid"; then rm -f "$folder/.probe-$pid"; echo write_read_only; fi
for path in "$@"; do if [ -w "$path" ]; then echo write_read_only; fi; done
read -r line <"/proc/$pid/stat"
case $line in *" $began "*)
    echo see_process
    if true <"/proc/$pid/environ"; then echo read_process; fi
    if kill -0 "$pid"; then echo signal_process; fi
esac
while read -r name value _; do
    case $name$value in
    CapEff:*[1-9a-f]*) echo become_another ;;
    Seccomp:0) if [ "$port" ]; then echo machine_socket; fi ;;
    esac
done </proc/self/status
if [ "$port" ]; then
    while read -r _ local _; do case $local in *":$port") echo tcp ;; esac; done </proc/self/net/tcp
fi
if [ "$level" ] && /usr/bin/unshare -U true; then echo make_namespaces; fi
echo end
"""


def require_held(box: Box, folder: Path) -> None:
    """Refuse a box that does not hold what its level promises.

    Raises IsolationUnavailable, which says what to do, and SystemRefused.
    folder: beside what the box shows, for a file that must not be reached. What is tried: files, processes, the
    network's namespace, filters and capabilities. Its proxy, its limits and its control group are not.
    """
    # Nothing is asked of the network: a box with a proxy has the namespace of one without the network.
    network = box.network if box.network is Network.SHARED else Network.NONE
    tried = replace(box, network=network, limits=Limits(), group=(), folder="/")

    def run(words: tuple[str, ...]) -> ScriptResult:
        root = Path("/")
        return run_script(EXEC, {}, arguments=words, cwd=root, timeout_s=_PATIENCE_S, box=tried, ends_with_us=False)

    try:
        names = try_with_shell(box, folder, run)
    except OSError as error:
        raise SystemRefused(f"what its box holds could not be tried: {error.strerror or error}") from error
    problem = explain_leaks(box, names, is_root=os.getuid() == 0)
    if problem:
        raise IsolationUnavailable(problem)


def try_with_shell(box: Box, folder: Path, run: Callable[[tuple[str, ...]], ScriptResult]) -> tuple[str, ...]:
    """Return which attempts succeed in a box. run: is given words, and runs them inside.

    Raises IsolationUnavailable where the shell could not tell, OSError.
    """
    mounts = drop_links(box).mounts
    is_sealed = box.level is Level.SEALED
    if not is_sealed:  # what is read inside of what is written is written
        mounts = tuple(sorted(mounts, key=lambda mount: mount.access is Access.WRITE))
    held = [mount.path for mount in mounts if _find_access(mounts, mount.path) is Access.READ]
    outside = folder / f".probe-{uuid.uuid4()}"  # another thread may start another agent
    has_own_network = is_sealed and box.network is not Network.SHARED
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = (
            str(outside) if _find_access(mounts, str(outside)) is None else "",
            str(os.getpid()),
            str(start_ticks(os.getpid())),
            f"{listener.getsockname()[1]:04X}" if has_own_network else "",
            box.tree if box.tree in held else "",
            *((box.level.value, *held) if is_sealed else ("",)),
        )
        try:
            write_private(outside, _SECRET)
            ended = run(("/bin/sh", "-c", _LINES, "sh", *own))
            is_written = outside.read_bytes() != _SECRET
        finally:
            with suppress(OSError):
                outside.unlink()
    *names, end = ended.stdout.decode("utf-8", "replace").split() or [""]
    if not ended.succeeded or end != "end":
        why = ended.problem or ended.stderr.decode("utf-8", "replace").strip()[-300:] or f"it {ended.outcome}"
        raise IsolationUnavailable(f"what a box of the level {box.level} holds could not be tried: {why}")
    if is_written:
        names.append("write_undeclared")
    return tuple(dict.fromkeys(names))


def _find_access(mounts: Sequence[Mount], path: str) -> Access | None:
    """Return what a box shows at a path; None: it was not declared."""
    around = (mount.access for mount in reversed(mounts) if f"{path}/".startswith(f"{mount.path.rstrip('/')}/"))
    return next(around, None)
