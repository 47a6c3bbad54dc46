"""Ask CLIs which version they are and who is logged in; each question has a time limit, and no token is kept."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, KeyringSpec
from oulipoly_engine.core.accounts.arguments import environment
from oulipoly_engine.core.accounts.clis.cli import Cli, Observed, Profile
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.run import Discard, run
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.accounts import keyring_entries

TIMEOUT_S = 8.0  # of one question; the slowest, Gemini's version, took 1.5 s
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # what `sh` and `env` answer
_LONGEST_SAID = 200  # characters
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


class Version(Record):
    """What a program says of itself."""

    text: str | None = None  # as printed: `2.1.197 (Claude Code)`
    problem: str | None = None  # "does not answer within 8 s", …; None: it answered

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return its numbers to compare; empty where it names none."""
        found = _NUMBERS.search(self.text or "")
        return tuple(int(part) for part in found[0].split(".")) if found else ()


class LoginState(Record):
    """Who is logged in to a CLI in one home."""

    profiles: tuple[Profile, ...] = ()  # the one in use first; none: nobody is, or nobody knows
    problem: str | None = None  # why nobody knows, as a sentence's second half

    @property
    def profile(self) -> Profile | None:
        """Return who is logged in."""
        return self.profiles[0] if self.profiles else None


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return where a program lies; None where it is not on the PATH."""
    return shutil.which(name, path=environ.get("PATH"))


def read_version(
    cli: Cli,
    program: str,
    environ: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
    cancelled: Callable[[], bool] = lambda: False,
) -> Version:
    """Ask a program for its version. cancelled: as `run_script` takes it."""
    done = _ask((program, *cli.version_words), environ, timeout_s, cancelled)
    if done.exit_code in (_NOT_FOUND, _NOT_EXECUTABLE):
        return Version(problem="cannot be started: its interpreter is missing, or it is for another machine")
    if not done.succeeded:
        return Version(problem=_problem(done))
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    said = next((line.strip() for line in lines if line.strip()), "")
    return Version(said[:_LONGEST_SAID]) if said else Version(problem="prints no version")


def find_age_problem(cli: Cli, version: Version) -> str | None:
    """Say that a version is older than any that was seen to work."""
    numbers = version.numbers
    if not numbers or numbers >= cli.oldest:
        return None
    known = ".".join(map(str, cli.oldest))
    return f"{cli.title} {version.text} is older than {known}, the oldest that is known to work: update it"


def read_login(cli: Cli, program: str | None, folder: Path, environ: Mapping[str, str]) -> LoginState:
    """Ask who is logged in. folder: of the CLI. environ: whole, with the variables that lead it to that folder."""
    if cli.status is None:
        return LoginState(problem="is not known: this program does not know how to ask")
    files = _read_files(folder, cli.status.files)
    if not cli.status.words:
        return LoginState(cli.status.read(Observed(files=files)))
    if program is None:
        return LoginState(problem=f"is not known: there is no program {cli.name} on the PATH")
    done = _ask((program, *cli.status.words), environ)
    if done.problem is not None:
        return LoginState(problem=f"is not known: `{cli.name} {' '.join(cli.status.words)}` {done.problem}")
    out, err = (part.decode("utf-8", "replace") for part in (done.stdout, done.stderr))
    return LoginState(cli.status.read(Observed(done.exit_code, out, err, files)))


def read_key_login(account: str, cli: Cli, place: KeyringSpec) -> LoginState:
    """Look whether the keyring has an account's API key."""
    try:
        value = keyring_entries.read_key(account, place, TIMEOUT_S)
    except AccountUnusable as error:
        return LoginState(problem=f"is not known: {error.message}")
    way = None if cli.api_key is None else cli.api_key.keyring
    if way is not None and way.stands_for and cli.status is not None:
        return LoginState(cli.status.read(Observed(files={way.stands_for: value})))
    return LoginState((Profile("API key", "api_key"),))


def read_account_login(account: Account, home: Path, environ: Mapping[str, str]) -> LoginState | None:
    """Ask who is logged in to an account; None where its program is none that is known."""
    found = recognise_cli(account, home)
    if found is None:
        return None
    if account.keyring is not None:
        return read_key_login(account.name, found.cli, account.keyring)
    whole = environment(environ, account) | dict(found.variables)
    program = found.program if "/" in found.program else find_program(found.program, whole)
    return read_login(found.cli, program, found.folder, whole)


def tell(words: tuple[str, ...], environ: Mapping[str, str], secret: str) -> str | None:
    """Give a program one line on stdin and wait for its end; return how it failed, None where it did not."""
    done = run(Command(words, environ, stdin=f"{secret}\n".encode(), timeout_s=TIMEOUT_S), Discard())
    if done.stopped_for == "timeout":
        return f"did not end within {TIMEOUT_S:g} s"
    if done.exit_code == 0:
        return None
    said = redact_strictly(done.stderr_tail.decode("utf-8", "replace").replace(secret, "•••")).strip()
    return f"ended with exit code {done.exit_code}: {said.rpartition(chr(10))[2][:_LONGEST_SAID]}"


def _ask(
    words: tuple[str, ...],
    environ: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
    cancelled: Callable[[], bool] = lambda: False,
) -> ScriptResult:
    return run_script(EXEC, environ, timeout_s=timeout_s, arguments=words, output_limit=1 << 20, cancelled=cancelled)


def _problem(done: ScriptResult) -> str:
    if done.problem is not None:
        return done.problem
    said = redact_strictly(done.stderr.decode("utf-8", "replace")).strip().partition("\n")[0][:_LONGEST_SAID]
    return f"ended with exit code {done.exit_code}" + (f": {said}" if said else "")


def _read_files(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Read those files that are there; whatever cannot be read counts as missing."""
    found = {}
    for name in names:
        try:
            found[name] = read_regular(folder / name).decode("utf-8", "replace")
        except OSError:
            continue
    return found
