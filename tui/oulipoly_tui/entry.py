"""From the command line to the running app, and what comes after it. Nothing of the screen at its top."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.paths import Paths, from_environment, with_options
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.regular_files import read_regular
from oulipoly_tui import APP_OPTIONS, find_app_faults

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_tui.base.app_interface import Options

_LAYOUT_FILE = "app-layout.json"
_SIGNALLED = 128  # plus the signal's number is the exit code


def is_for_app(arguments: Sequence[str]) -> bool:
    """Tell whether a command line opens the app: nothing but its own options, and a terminal to show it on."""
    if any(word not in APP_OPTIONS for word in arguments):
        return False
    return bool(arguments) or (os.isatty(0) and os.isatty(1))


def run(arguments: Sequence[str], settings: Sequence[str] = ()) -> int:
    """Run the app, or its linear form, and return the exit code. settings: what `--set` gives."""
    try:
        paths = with_options(from_environment(), settings)
        if settings:
            from oulipoly_engine.facade.configuration import refuse_wrong_options  # noqa: PLC0415 - only where it is given

            refuse_wrong_options(paths, find_app_faults=find_app_faults)
    except UsageInvalid as error:
        return diagnostics.fail(error)
    if "--linear" in arguments:
        from oulipoly_engine.facade.engine import Surroundings  # noqa: PLC0415 - the first frame of the app need not wait
        from oulipoly_tui.linear import linear  # noqa: PLC0415 - the other face, without Textual

        read_only = _is_read_only(paths, arguments)
        return linear.run(
            Surroundings(
                paths, read_only=read_only, is_app=True, note=diagnostics.note, find_app_faults=find_app_faults
            )
        )
    missing = ""
    if not (os.isatty(0) and os.isatty(1)):
        missing = "the app needs a terminal"
    elif os.environ.get("TERM") == "dumb":
        missing = "this terminal cannot be drawn on (TERM is dumb)"
    if missing:
        return diagnostics.fail(UsageInvalid(f"{missing}: use --linear, or a command (see --help)"))
    return _run_app(paths, arguments)


def open_engine(paths: Paths, *, read_only: bool) -> Engine:
    """Open the engine; called in a thread, after the first frame."""
    from oulipoly_engine.facade.engine import Engine, Surroundings  # noqa: PLC0415 - 90 ms that the first frame need not wait

    engine = Engine(Surroundings(paths=paths, read_only=read_only, is_app=True, find_app_faults=find_app_faults))
    engine.command_log.list()  # it watches from now on
    engine.recovery.settle_at_start()
    engine.extensions.post_questions()
    return engine


def load_layout(paths: Paths) -> Mapping[str, object]:
    """Return what the last app left; a file that cannot be read counts as none."""
    try:
        found = json.loads(read_regular(paths.data / _LAYOUT_FILE))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def save_layout(paths: Paths, state: Mapping[str, object]) -> None:
    """Keep the layout for the next start; a folder that takes nothing is not a reason to fail at the end."""
    target = paths.data / _LAYOUT_FILE
    spare = target.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        make_folder(paths.data)
        write_private(spare, json.dumps(state, indent=2).encode())
        spare.replace(target)


def _is_read_only(paths: Paths, arguments: Sequence[str]) -> bool:
    from oulipoly_engine.facade.configuration import read_app  # noqa: PLC0415 - the app reads it with its other options

    return read_app(paths).value.read_only or "--read-only" in arguments


def options(paths: Paths, arguments: Sequence[str]) -> Options:
    """Return how the app shall look, from app.toml, the last layout and the command line."""
    from oulipoly_tui.base.app_interface import Options  # noqa: PLC0415 - Textual, 200 ms, only the app needs it

    saved = load_layout(paths)
    found: Any = None
    themes: list[Any] = []
    warnings: list[str] = []
    own = paths.config / "app.toml"
    places = (own, paths.settings, paths.config / "themes", paths.packages)
    if paths.above.says_anything or any(place.exists() for place in places):
        from oulipoly_engine.facade.configuration import (  # noqa: PLC0415 - only where there is one
            locate_app_fault,
            read_app,
            read_themes,
        )
        from oulipoly_tui.base import own_files  # noqa: PLC0415 - with the app
        from oulipoly_tui.widgets import theming  # noqa: PLC0415 - Textual

        loaded, looks = read_app(paths), read_themes(paths)
        found = loaded.value
        warnings = [problem.brief for problem in (*loaded.problems, *looks.problems)]
        faults = tuple(own_files.find_faults(found, looks.value))
        broken = {file for file, _fault in faults}
        themes = [theming.from_file(one) for one in looks.value if f"themes/{one.name}.toml" not in broken]
        warnings += [f"{locate_app_fault(paths, file, fault).file.name}: {fault.message}" for file, fault in faults]
    theme = saved.get("theme")
    chosen = theme if isinstance(theme, str) else None
    quiet = "--no-anim" in arguments or bool(os.environ.get("SESSIONNAME", "").startswith("RDP"))
    if found is None:
        return Options(chosen, reduced_motion=quiet, read_only="--read-only" in arguments, saved=saved)
    return Options(
        theme=found.theme or chosen,
        preset=found.preset,
        own_keys=found.keys,
        commands=found.commands,
        footer=found.footer,
        reduced_motion=quiet or found.motion == "reduced",
        read_only=found.read_only or "--read-only" in arguments,
        saved=saved,
        themes=tuple(themes),
        escape_leaves=found.escape_leaves,
        progress=found.progress,
        warnings=tuple(warnings),
    )


def _run_app(paths: Paths, arguments: Sequence[str]) -> int:
    from oulipoly_tui.app import AgentsApp  # noqa: PLC0415 - Textual, 200 ms, only the app needs it

    for name in ("COLUMNS", "LINES"):  # Textual believes these before the terminal, and would miss every resize
        os.environ.pop(name, None)
    wishes = options(paths, arguments)
    app = AgentsApp(
        lambda: open_engine(paths, read_only=wishes.read_only),
        SystemClock().now,
        wishes,
        read_options=lambda: options(paths, arguments),
    )
    app.keep = partial(save_layout, paths)
    try:
        result = app.run()
    finally:  # a crash does not go through the app's own end
        if left := app.alerts.progress.farewell():
            from oulipoly_engine.facade import output  # noqa: PLC0415 - only after a crash

            output.write_bytes(left.encode())
    app.jobs.wait_for_stopped()
    if app.engine is not None:
        app.engine.close()
    if not app.options.read_only:
        save_layout(paths, app.layout_state())
    if not app.return_code or app.return_code > _SIGNALLED:  # else a crash: its panes may be in any state
        _tell_what_runs_on([one for pane in app.frame.panes for one in pane.runs_on()])
    if result == "demo":
        _become_demo()
    return app.return_code or 0


def _tell_what_runs_on(found: Sequence[str]) -> None:
    """Say where the terminals are that the app has shown, under the shell's prompt to come."""
    if found:
        from oulipoly_demo import world  # noqa: PLC0415 - as above
        from oulipoly_engine.core.text.columns import plain  # noqa: PLC0415 - as above: titles are the programs' own
        from oulipoly_engine.facade import diagnostics  # noqa: PLC0415 - only where there is something to say

        first, inside = found[0].partition(" ")[0], world.way_in()
        app = f"agents {inside}".rstrip()
        diagnostics.note(f"[still running: {plain('; '.join(found))}]")
        way = f"`{app}` or `agents {inside}terminal attach {first}`; `agents {inside}terminal list` lists all"
        diagnostics.note(f"[come back with {way}]")


def _become_demo() -> None:
    import sys  # noqa: PLC0415 - beside what it goes to

    from oulipoly_engine.facade.base.own_process import inherited_environment, replace_process  # noqa: PLC0415 - only who goes there

    replace_process((sys.executable, "-m", "oulipoly_tui", "demo", "--"), inherited_environment())
