"""What the session commands share: how errors and what was read are told, and how wide a person sees."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.errors import RunnerError, translate_system_errors
from oulipoly_engine.facade import diagnostics, output

Run = Callable[[Context, str, list[str]], int]

_PIPED_COLUMNS = 120


def for_scripts(run: Run) -> Run:
    """Make a session command tell its errors as one JSON line on stderr, and leave stdout empty.

    A person who sees its output in a terminal gets the error as text.
    """

    def run_and_translate(context: Context, name: str, arguments: list[str]) -> int:
        if is_for_script(arguments):
            diagnostics.hold_warnings()
        try:
            with translate_system_errors():
                return run(context, name, arguments)
        except RunnerError as error:
            return diagnostics.fail_json(error) if is_for_script(arguments) else diagnostics.fail(error)

    return run_and_translate


def is_for_script(arguments: Sequence[str]) -> bool:
    """Tell whether JSON is asked for, by `--json` or by a stdout that is no terminal, as scripts have relied on."""
    return "--json" in arguments or not output.is_terminal()


def write_outcome(document: Mapping[str, object], lines: Sequence[str], arguments: Sequence[str]) -> None:
    """Write what was done: one JSON line for a script, else lines of text for a person."""
    if is_for_script(arguments):
        output.write_json(document, pretty=False)
    else:
        output.write_lines(lines)


def read_new(context: Context) -> None:
    """Read what CLIs have written outside of us, for a moment, and tell what was left."""
    found = context.engine.sessions.transcripts.glance()
    if found is None:
        return
    for problem in found.problems:
        diagnostics.note(f"Warning: {problem}")
    if found.left:
        names = ", ".join(found.left)
        diagnostics.note(f"not everything new was read ({names}): `{context.program} session scan` reads the rest")


def way_to_sessions(context: Context) -> str:
    """Return what is said where no session is known at all."""
    return f"no session is known yet: `{context.program} session scan` finds those that the CLIs have stored"


def hint_at_copy(context: Context, text: str, error: RunnerError) -> None:
    """Add to an error how a transcript comes back that its CLI has deleted, if the archive has it."""
    copy = context.engine.sessions.locations.deleted_copy(text)
    if copy is not None:
        error.message += (
            f"; its CLI has deleted it, and a copy is kept: `{context.program} session archive --restore "
            f"{copy.session_id}` restores it"
        )


def columns() -> int:
    """Return the width to draw in: the terminal's, or a wide one where nobody looks."""
    try:
        return max(20, os.get_terminal_size(1).columns or _PIPED_COLUMNS)
    except OSError:
        return _PIPED_COLUMNS


def with_negations(arguments: list[str]) -> list[str]:
    """Put a space before words such as `-draft`, and before all behind a `--`, so that none is taken for an option."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    before = [
        f" {word}" if len(word) > 1 and word[0] == "-" and word[1] != "-" and word != "-h" else word
        for word in arguments[:place]
    ]
    return [*before, *(f" {word}" for word in arguments[place + 1 :])]
