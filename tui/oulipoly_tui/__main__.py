"""The entry point of both faces. Nothing heavy at its top: the headless face must start within 40 ms."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress

from oulipoly_tui import APP_OPTIONS, find_app_faults, split_settings

_CALLS = "oulipoly_engine.service.extensions.calls"  # loaded where code of extensions is
_LAST_S = 1.0  # that threads of extensions have at the end of a process
_COLLECT_EVERY = 50_000  # new objects; those of a start live on, and looking at them every 700 costs it 8 ms


def main() -> int:
    """Open the app where nothing is asked for, else run the headless command; return the exit code."""
    code = 1  # of what is raised
    try:
        code = _run()
    finally:
        if _CALLS in sys.modules:
            _limit_end(code)
    return code


def _run() -> int:
    _fill_standard_places()
    arguments = sys.argv[1:]
    own, settings = split_settings(arguments)
    if all(word in APP_OPTIONS for word in own):
        from oulipoly_tui import entry  # noqa: PLC0415 - the headless face must not load it

        if entry.is_for_app(own):
            return entry.run(own, settings)
    pane = None
    if arguments[:2] == ["terminal", "new"] or (arguments[:1] == ["terminal"] and "--" in arguments):
        from oulipoly_tui.single import bare_entry  # noqa: PLC0415 - as above

        if bare_entry.is_for_pane(arguments[1:]):
            pane = bare_entry.BarePane()
    gc.set_threshold(_COLLECT_EVERY)  # the app has its own way (gc_tuning)
    atexit.register(gc.freeze)  # else Python walks all that is loaded as it ends: 10 to 40 ms
    from oulipoly_engine.cli.main import main as headless  # noqa: PLC0415 - the app does not need it
    from oulipoly_engine.facade import diagnostics  # noqa: PLC0415 - as above

    diagnostics.take_stderr()

    return headless(arguments, pane, find_app_faults)


def _limit_end(code: int) -> None:
    """Have the process end soon: Python waits for threads that extensions have begun and do not end, pools too."""
    from threading import Timer  # noqa: PLC0415 - only extensions need it

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    timer = Timer(_LAST_S, os._exit, (code,))
    timer.daemon = True
    timer.start()


def _fill_standard_places() -> None:
    """Put nothing where a standard stream was closed: else the next file takes its number, and what is said to it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


if __name__ == "__main__":
    sys.exit(main())
