"""Look at the accounts' programs: whether they are there, and what version they say, side by side and not for long."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from oulipoly_engine.config import legacy
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.arguments import environment
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.checks.accounts import SeenProgram
from oulipoly_engine.process.script import run_script
from oulipoly_engine.process.thread_pool import run_in_threads
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts.logins import Version, find_age_problem
from oulipoly_engine.stopping import check, stop_event

PATIENCE_S = 10.0  # for one CLI's version; claude takes one on a quiet machine
_AT_MOST = 4  # at once: each is a Node program of 100 MB and more
_LONGEST_VERSION = 80  # characters
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # what `sh` and `env` answer


class Start(Record):
    """How an account's program is started."""

    program: str  # behind `env` and its assignments; empty: there is none
    cli: Cli | None  # None: another program
    variables: Mapping[str, str]  # what it sees, those before it included


def find_start(account: Account, environ: Mapping[str, str]) -> Start:
    """Return how an account's program is started, without its arguments."""
    words = (account.command or "", *account.args)
    if PurePath(words[0]).name == "env":
        position = 1 + legacy.wrapper_length(words[1:])
        program = words[position] if position < len(words) else ""
    else:
        position, program = 0, words[0]
    given = dict(word.split("=", 1) for word in words[1:position] if "=" in word and not word.startswith("-"))
    variables = environment(environ, account) | given
    return Start(program, CLIS.get(PurePath(program).name), variables)


def look(accounts: Mapping[str, Account], environ: Mapping[str, str], patience_s: float) -> tuple[SeenProgram, ...]:
    """Return what the accounts' programs are; those that we know are asked for their version, each once."""
    starts = {name: find_start(account, environ) for name, account in accounts.items()}
    found = {name: _look(name, start) for name, start in starts.items()}
    asked = dict.fromkeys(
        starts[name].program for name, one in found.items() if one.state == "found" and starts[name].cli
    )
    answers = _ask_versions([next(s for s in starts.values() if s.program == word) for word in asked], patience_s)
    return tuple(
        replace(one, version=told.text or "", problem=told.problem or "", age=_find_age(starts[name], told))
        if (told := answers.get(one.program)) is not None
        else one
        for name, one in found.items()
    )


def _find_age(start: Start, told: Version) -> str | None:
    return None if start.cli is None else find_age_problem(start.cli, told)


def _look(account: str, start: Start) -> SeenProgram:
    if not start.program:
        return SeenProgram(account, "", "none")
    install = "" if start.cli is None else start.cli.install
    if shutil.which(start.program, path=start.variables.get("PATH")) is not None:
        return SeenProgram(account, start.program, "found", install)
    is_there = "/" in start.program and Path(start.program).exists()
    return SeenProgram(account, start.program, "not executable" if is_there else "missing", install)


def _ask_versions(starts: Sequence[Start], patience_s: float) -> dict[str, Version]:
    """Return what each program says its version is, by program."""
    stop = stop_event()

    def ask(start: Start) -> tuple[str, Version]:
        done = run_script(
            'exec "$@"',
            start.variables,
            timeout_s=patience_s,
            arguments=(start.program, *(() if start.cli is None else start.cli.version_words)),
            output_limit=64 << 10,
            cancelled=stop.is_set,
        )
        if done.problem is not None:
            return start.program, Version(problem=done.problem)
        if done.exit_code in (_NOT_FOUND, _NOT_EXECUTABLE):
            problem = "cannot be started: its interpreter is missing, or it is for another machine"
            return start.program, Version(problem=problem)
        if done.exit_code != 0:
            return start.program, Version(problem=f"ended with {done.exit_code}")
        said = done.stdout.decode("utf-8", "replace").strip().splitlines()
        version, name = said[0][:_LONGEST_VERSION] if said else "", PurePath(start.program).name
        return start.program, Version(version if name in version.lower() else f"{name} {version}".strip())

    answers = dict(run_in_threads(ask, list(starts), at_most=_AT_MOST, cancel=stop.set))
    check()
    return answers
