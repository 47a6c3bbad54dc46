"""Look at the accounts' programs: whether they are there, and what version they say, side by side and not for long."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.accounts.arguments import environment
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import CLIS, read_env
from oulipoly_engine.core.checks.accounts import SeenProgram, SeenScript
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.process.script import add_own_commands
from oulipoly_engine.process.thread_pool import run_in_threads
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts.logins import Version, find_age_problem, read_version
from oulipoly_engine.stopping import check

PATIENCE_S = 4.0  # for one answer of a CLI; claude takes one on a quiet machine
_AT_MOST = 4  # at once: each is a Node program of 100 MB and more
_LONGEST_VERSION = 80  # characters


_SHELL_WORDS = re.compile(r"[:.{[]|case|cd|command|eval|exec|export|for|if|set|source|umask|unset|until|while")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SHELLS_OWN = re.compile(r"[^\w./~+:@%,-]")  # signs of a word that only a shell can read
_INTERPRETER = re.compile(r"(ba|da|z)?sh|python[\d.]*|node|perl|ruby")


class Start(Record):
    """How an account's program is started."""

    program: str  # behind `env` and its assignments; empty: there is none
    cli: Cli | None  # None: another program
    variables: Mapping[str, str]  # what it sees, those before it included


def find_start(account: Account, environ: Mapping[str, str]) -> Start:
    """Return how an account's program is started, without its arguments."""
    program = account.command or ""
    given: Mapping[str, str] = {}
    if PurePath(program).name == "env":
        position, given = read_env(account.args)
        program = next(iter(account.args[position:]), "")
    return Start(program, CLIS.get(PurePath(program).name), {**environment(environ, account), **given})


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


def look_at_runtimes(
    runtimes: Iterable[Runtime], seen: Sequence[SeenProgram], environ: Mapping[str, str]
) -> Iterator[SeenProgram]:
    """Yield the programs of runtimes that cannot be started. seen: the accounts' own, which are told already."""
    told = {(one.account, one.program) for one in seen}
    for runtime in runtimes:
        if runtime.is_enabled and (runtime.account, runtime.program) not in told:
            found = _look(runtime.id, Start(runtime.program, None, {**environ, **runtime.environment}))
            if found.state in ("missing", "not executable"):
                yield replace(found, named_in=runtime.named_in)


def look_at_scripts(
    accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts], environ: Mapping[str, str], home: Path
) -> Iterator[SeenScript]:
    """Yield the scripts whose program is not there. home: what `~` stands for."""
    for name, account in accounts.items():
        path = add_own_commands(environment(environ, account))["PATH"]
        lines = [
            ("providers", "quota_script", account.quota_script),
            ("providers", "auth_refresh_command", account.auth_refresh_command),
        ]
        if name in scripts:
            lines.append(("sessions", "turn_script", scripts[name].turn_script))
            lines.append(("sessions", "transcript_locator", scripts[name].transcript_locator))
        for file, key, line in lines:
            missing = None if line is None else _find_missing(line, path, home)
            if missing is not None:
                yield SeenScript(name, key, file, missing)


def _find_missing(line: str, path: str, home: Path) -> str | None:
    """Return what the first command of a shell line needs and is not there; None: it is, or only a shell can tell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = [word.replace("~/", f"{home}/", 1) if word.startswith("~/") else word for word in lexer]
    except ValueError:  # an open quote
        return None
    words = list(itertools.dropwhile(_ASSIGNMENT.match, words))
    if not words or _SHELLS_OWN.search(words[0]):
        return None
    program = words[0]
    if "/" in program:
        is_there = shutil.which(program) is not None
    else:
        is_there = shutil.which(program, path=path) is not None or _SHELL_WORDS.fullmatch(program) is not None
    if not is_there:
        return program
    file = words[1] if len(words) > 1 and _INTERPRETER.fullmatch(PurePath(program).name) else ""
    return file if file.startswith("/") and not _SHELLS_OWN.search(file) and not Path(file).exists() else None


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
    """Return what each program says its version is, by program; the programs are CLIs that we know."""

    def ask(start: Start) -> tuple[str, Version]:
        assert start.cli is not None  # noqa: S101 - others are not asked
        told = read_version(start.cli, start.program, start.variables, patience_s)
        if told.text is None:
            return start.program, told
        version, name = told.text[:_LONGEST_VERSION], PurePath(start.program).name
        return start.program, Version(version if name in version.lower() else f"{name} {version}")

    answers = dict(run_in_threads(ask, list(starts), at_most=_AT_MOST))
    check()
    return answers
