"""What a face needs of the process that it runs in: its signals, its terminal, its environment, another program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from oulipoly_engine import variables
from oulipoly_engine.core.runs import markers
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.signals import Guard, interruptible

__all__ = ["Guard", "inherited_environment", "interruptible"]


def parent_invocation() -> markers.ParentRef | None:
    """Return the invocation that started us, if one did."""
    text = inherited_environment().get(variables.PARENT_INVOCATION)
    return None if text is None else markers.parse_parent(text)


def is_person() -> bool:
    """Tell whether no run of ours has started us. A mark of a run that cannot be read is a mark, too."""
    return variables.PARENT_INVOCATION not in inherited_environment()


def require_person(what: str) -> None:
    """Raise RequestRefused in what an agent has started: a person may say it, not the agent. what: for example `allow`.

    It keeps an agent from doing so by mistake or on somebody's advice, not one that hides where it comes from.
    """
    if not is_person():
        raise RequestRefused(f"an agent may not {what}: a person does, in a terminal of their own")


def require_terminal() -> None:
    """Raise RequestRefused unless a person sits at both ends of us."""
    from oulipoly_engine.process.passthrough import require_terminal as require  # noqa: PLC0415 - 10 ms, loads the PTYs

    require()


def window_size() -> tuple[int, int]:
    """Return the columns and rows of the terminal on stdout."""
    from oulipoly_engine.process.pty import size_of  # noqa: PLC0415 - as above

    return size_of(1)[:2]


def replace_process(argv: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Run another program in place of ours."""
    from oulipoly_engine.process.command import replace_process as replace  # noqa: PLC0415 - the last thing that we do

    replace(argv, environ)


def run_program(argv: Sequence[str]) -> int:
    """Give our terminal to a program until it ends, and return its exit code. Raises SpawnFailed."""
    from oulipoly_engine.process.passthrough import pass_through  # noqa: PLC0415 - as above

    return pass_through(Command(tuple(argv), inherited_environment(), is_configured=False)).exit_code


def page(lines: Iterable[str]) -> bool:
    """Show lines in the user's pager until it is left; return False where there is none."""
    from oulipoly_engine.process.user_programs import page as run_pager  # noqa: PLC0415 - most show nothing that long

    return run_pager(lines)


def outer_prefixes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that the tmux around us takes for itself, in its own words."""
    from oulipoly_engine.process.user_programs import tmux_prefixes  # noqa: PLC0415 - asked once, and not by most

    return tmux_prefixes(environ)
