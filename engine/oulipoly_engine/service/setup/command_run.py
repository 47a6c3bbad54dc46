"""Run a command that a model has asked for and a person has agreed to: few variables, no stdin, bounded."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine import stopping
from oulipoly_engine.core.setup import commands
from oulipoly_engine.core.setup.actions import RunCommand
from oulipoly_engine.core.setup.dialogs import CommandOutput
from oulipoly_engine.errors import ProgramMissing
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.run import Discard, run
from oulipoly_engine.records import Record

_HEAD = 64 << 10  # bytes of each stream that are kept; the rest is read and dropped


class Ran(Record):
    """What came of a command; nothing is redacted."""

    output: CommandOutput
    stopped: str = ""  # why it did not end by itself


def find_program(name: str, environ: Mapping[str, str]) -> str:
    """Return where a program of the list lies. Raises RequestRefused."""
    found = shutil.which(name, path=environ.get("PATH"))
    if found is None:
        raise ProgramMissing(f"there is no program {name} on the PATH")
    return found


def look_up(asked: RunCommand, environ: Mapping[str, str]) -> CommandOutput:
    """Answer `which` and `type` without starting anything."""
    found = [shutil.which(name, path=environ.get("PATH")) for name in asked.args]
    lines = "".join(f"{path}\n" for path in found if path is not None)
    return CommandOutput(commands.shown_command(asked), 0 if all(found) else 1, lines)


def run_command(asked: RunCommand, environ: Mapping[str, str], folder: Path) -> Ran:
    """Run a command to its end, or to its time limit. Raises RequestRefused, SpawnFailed, Interrupted and Stopped."""
    program = find_program(asked.command, environ)
    kept = _Kept()
    argv = (program, *asked.args)
    env = commands.environment(environ)
    command = Command(argv, env, folder, timeout_s=commands.TIMEOUT_S, is_configured=False, ends_with_us=True)
    done = run(command, kept)
    stopping.check()
    stopped = f"stopped after {commands.TIMEOUT_S:g} s" if done.stopped_for == "timeout" else ""
    out, err = (bytes(part).decode("utf-8", "replace") for part in (kept.out, kept.err))
    return Ran(CommandOutput(commands.shown_command(asked), done.exit_code, out, err), stopped)


class _Kept(Discard):
    """Keeps the beginning of each stream."""

    def __init__(self) -> None:
        self.out, self.err = bytearray(), bytearray()

    def stdout(self, data: memoryview) -> None:
        self.out += data[: max(0, _HEAD - len(self.out))]

    def stderr(self, data: memoryview) -> None:
        self.err += data[: max(0, _HEAD - len(self.err))]
