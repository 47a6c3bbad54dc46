"""The user's own pager and editor: `$PAGER` or `less`, `$VISUAL` or `$EDITOR` or `vi`.

Where no pager can be started, nothing is shown by us. And what the tmux around us keeps for itself.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import termios
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.process.command import describe_exit, watched
from oulipoly_engine.process.script import EXEC, run_script

_LONGEST_LINE = 4096  # bytes; a terminal hands over no longer ones
_TMUX_PATIENCE_S = 2.0
_NO_KEY = "None"  # what tmux shows for a prefix2 that is not set
_LESS = "FRX"  # leaves at once when everything fits, keeps what was shown on the screen


def page(lines: Iterable[str]) -> bool:
    """Feed lines to the pager and wait until the user leaves it; returns False when there is none."""
    try:
        argv = shlex.split(os.environ.get("PAGER") or "less")
    except ValueError:
        return False
    if not argv or argv == ["cat"]:
        return False
    environ = os.environ | {"LESS": os.environ.get("LESS") or _LESS}
    with watched(argv, None) as tell:
        try:
            child = subprocess.Popen(argv, stdin=subprocess.PIPE, env=environ)  # noqa: S603 - the user's own pager
        except OSError:
            return False
        with _without_interrupts(), child:
            assert child.stdin is not None  # noqa: S101 - a pipe was asked for
            _feed(child.stdin.fileno(), lines)
            child.stdin.close()
        tell(describe_exit(child.returncode))
    return True


def _feed(descriptor: int, lines: Iterable[str]) -> None:
    for line in lines:
        view = memoryview((visible_line(line) + "\n").encode("utf-8"))
        try:
            while view:
                view = view[os.write(descriptor, view) :]
        except BrokenPipeError:  # left before the end
            return


def edit(path: Path) -> str | None:
    """Wait until the user leaves the editor; return what is wrong when there is none to start."""
    line = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        argv = [*shlex.split(line), str(path)]
    except ValueError:
        return f"the editor {line!r} cannot be understood: set EDITOR to a program"
    try:
        with _without_interrupts():
            _show(argv, None)
    except OSError as error:
        return f"the editor {line!r} cannot be started ({error.strerror or error}): set EDITOR to a program"
    return None


def show_program(argv: Sequence[str], folder: Path | None) -> str | None:
    """Run a program on our terminal, and wait for its end and for enter; return what is wrong where it cannot start."""
    with _without_interrupts():
        try:
            code = _show(argv, folder)
        except (OSError, ValueError) as error:
            return f"{argv[0]!r} cannot be started: {getattr(error, 'strerror', None) or error}"
        os.write(2, f"\n[{describe_exit(code)}; enter goes back]".encode())
        os.read(0, _LONGEST_LINE)
    return None


def tmux_prefixes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that tmux takes as its prefixes, in its own words: `C-b`; none where there is no tmux."""
    if not env.get("TMUX"):
        return ()
    options = (_read_option(name, env) for name in ("prefix", "prefix2"))
    return tuple(key for key in options if key and key != _NO_KEY)


def _read_option(name: str, env: Mapping[str, str]) -> str:
    argv = ("tmux", "show-options", "-gv", name)
    ended = run_script(EXEC, env, arguments=argv, timeout_s=_TMUX_PATIENCE_S)
    return ended.stdout.decode("utf-8", "replace").strip()


def _show(argv: Sequence[str], folder: Path | None) -> int:
    with watched(argv, folder) as tell:
        code = subprocess.run(argv, check=False, cwd=folder).returncode  # noqa: S603 - the user's own choice
        tell(describe_exit(code))
    return code


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let the program in front alone answer the keys for it; we wait for its end, and find the terminal as it was.

    A handler that does nothing, not SIG_IGN: that the program would inherit, and no key would end one that hangs.
    """
    before = {number: signal.signal(number, _wait_on) for number in (signal.SIGINT, signal.SIGQUIT)}
    modes = termios.tcgetattr(0) if os.isatty(0) else None
    try:
        yield
    finally:
        if modes is not None:
            with contextlib.suppress(termios.error):  # of a terminal that is gone
                termios.tcsetattr(0, termios.TCSADRAIN, modes)
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_on(_number: int, _frame: object) -> None:
    pass
