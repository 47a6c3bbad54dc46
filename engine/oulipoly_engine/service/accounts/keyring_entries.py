"""API keys in the user's keyring: the configuration names the entry, and the key is read when a CLI is started.

Every look is a child process with a time limit: a locked keyring waits for its user, perhaps in a window that nobody
sees. A value goes to it on stdin and comes back on stdout; no argument and no file ever has it.
"""

from __future__ import annotations

import shlex
import sys

from oulipoly_engine.adapters.scripts import keyring_entry
from oulipoly_engine.core.accounts.accounts import KeyringSpec
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.errors import AccountUnusable, RequestRefused
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.run import Discard, run
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import Record

PATIENCE_S = 30.0  # the user may have to type the keyring's password
_FIND_S = 8.0
_LONGEST_SAID = 200  # characters


class KeyProblem(Record):
    """Why a key cannot be had."""

    cause: str
    fix: str
    command: str = ""  # that does it; empty: none does

    @property
    def text(self) -> str:
        """Return it as the second half of a sentence."""
        return f"{self.cause}: {self.fix}" + (f" with `{self.command}`" if self.command else "")


def find_keyring() -> str | None:
    """Return what the keyring of this user is called; None: there is none that keeps secrets."""
    done = _ask("find", timeout_s=_FIND_S)
    return done.stdout.decode("utf-8", "replace") or None if done.succeeded else None


def read_key(account: str, place: KeyringSpec, patience_s: float = PATIENCE_S) -> str:
    """Return what the keyring keeps for an account. Raises AccountUnusable, saying what to do."""
    done = _ask("read", place.entry, timeout_s=patience_s)
    if done.succeeded:
        return done.stdout.decode("utf-8", "replace")
    raise AccountUnusable(f"the API key of {account!r} cannot be read: {_explain(done, account).text}")


def has_key(entry: str) -> bool:
    """Tell whether the keyring has a key at an entry. Raises RequestRefused where it cannot be asked."""
    done = _ask("read", entry, timeout_s=PATIENCE_S)
    if done.succeeded or done.exit_code == keyring_entry.NO_ENTRY:
        return done.succeeded
    raise RequestRefused(f"the API key cannot be deleted, so nothing was removed: {_explain(done, '').text}")


def find_problem(account: str, place: KeyringSpec, patience_s: float) -> KeyProblem | None:
    """Return what is wrong with an account's key; None: it can be read."""
    done = _ask("read", place.entry, timeout_s=patience_s)
    return None if done.succeeded else _explain(done, account)


def write_key(account: str, entry: str, value: str) -> None:
    """Put a key into the keyring. Raises RequestRefused, saying what to do."""
    command = Command(_words("write", entry), inherited_environment(), stdin=value.encode(), timeout_s=PATIENCE_S)
    done = run(command, Discard())
    if done.exit_code != 0 or done.stopped_for is not None:
        problem = f"timed out after {PATIENCE_S:g} s" if done.stopped_for is not None else None
        told = _explain(ScriptResult(done.exit_code, b"", done.stderr_tail, problem, done.duration_s), account)
        raise RequestRefused(f"the API key was not put into the keyring: {told.text}")


def delete_key(entry: str) -> None:
    """Take a key out of the keyring, if it is there. Raises RequestRefused, saying what to do."""
    done = _ask("delete", entry, timeout_s=PATIENCE_S)
    if not done.succeeded and done.exit_code != keyring_entry.NO_ENTRY:
        cause = _explain(done, "").cause
        message = f"the API key is still in the keyring: {cause}: delete the entry {entry!r} of agent-runner there"
        raise RequestRefused(message)


def _explain(done: ScriptResult, account: str) -> KeyProblem:
    known = {
        keyring_entry.NO_PACKAGE: KeyProblem(
            "the Python package keyring is not installed", "install it", "pip install 'oulipoly-agent-runner[keyring]'"
        ),
        keyring_entry.NO_KEYRING: KeyProblem(
            "no keyring is there that keeps secrets",
            "start it, as a desktop does when you log in, or run this within that desktop session",
        ),
        keyring_entry.LOCKED: KeyProblem("the keyring is locked", "unlock it, then try again"),
        keyring_entry.NO_ENTRY: KeyProblem(
            "the keyring does not have it",
            "put it there again",
            f"agents account login {shlex.quote(account)} --api-key-env VARIABLE",
        ),
    }
    if done.problem is not None:
        fix = "it may be locked and ask for its password in a window: unlock it"
        return KeyProblem(f"the keyring {done.problem}", fix)
    said = redact_strictly(done.stderr.decode("utf-8", "replace")).strip().rpartition("\n")[2][:_LONGEST_SAID]
    return known.get(done.exit_code or 0) or KeyProblem(f"the keyring failed: {said or done.exit_code}", "look at it")


def _ask(*words: str, timeout_s: float) -> ScriptResult:
    return run_script(EXEC, inherited_environment(), timeout_s=timeout_s, arguments=_words(*words))


def _words(*words: str) -> tuple[str, ...]:
    """Return the command line of a look; -P: a folder that we happen to be in has no module for it."""
    return (sys.executable, "-P", "-m", keyring_entry.__name__, *words)
