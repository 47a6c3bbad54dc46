"""Every error this program raises on purpose: one tree, each leaf with its slug and exit code.

A message is one sentence with the offending value and the way out. Slugs and exit codes are part of the contract with
scripts (README, "Exit codes").
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_LONGEST_SHOWN = 200  # characters of a path


class RunnerError(Exception):
    """An error that a user or a script can act on.

    extra: further keys of the JSON form `{"error": {"code", "message", ...}}`.
    """

    slug = "operational-error"
    exit_code = 1

    def __init__(self, message: str, **extra: object) -> None:
        super().__init__(message)
        self.message = message
        self.extra: Mapping[str, object] = extra


class SystemRefused(RunnerError):
    """The system refused what we wanted with a path, and nobody nearer had better words for it."""


class UsageInvalid(RunnerError):
    """The command line cannot be acted on."""

    slug = "invalid-argument"
    exit_code = 2


class ConfigInvalid(RunnerError):
    """A configuration file cannot be used; the message names file, line, key and the way out."""

    slug = "config-invalid"
    exit_code = 2


class ConfigChanged(ConfigInvalid):
    """A configuration file is no longer what a change was made from: made anew, the change may be written."""


class InputInvalid(RunnerError):
    """A typed model input (`-i key=value`) breaks its own rule."""

    slug = "invalid-argument"
    exit_code = 2


class RequestRefused(RunnerError):
    """What was asked for names something that does not exist, or lacks something it needs (contract: exit 1)."""

    slug = "request-refused"
    exit_code = 1


class NotConfigured(RequestRefused):
    """There is neither an account nor a model, and what was asked for needs one."""

    slug = "not-configured"


class ModelUnknown(RequestRefused):
    """No model of that name is configured."""

    slug = "model-not-found"


class AgentUnknown(RequestRefused):
    """No agent of that name is configured."""

    slug = "agent-not-found"


class AgentFileInvalid(RequestRefused):
    """An agent file is missing, unreadable or has no valid frontmatter."""

    slug = "agent-file-invalid"


class PromptMissing(RequestRefused):
    """No prompt was given, or the one given is blank or cannot be read."""

    slug = "prompt-missing"


class AccountUnusable(RequestRefused):
    """An account lacks what was asked of it, or is not in the pool; the message says which."""

    slug = "account-unusable"


class AccountUnknown(AccountUnusable):
    """No account of that name is configured."""

    slug = "account-not-found"


class LoginFailed(RequestRefused):
    """A login or a logout did not come about; nothing was changed."""

    slug = "login-failed"


class HomeUnusable(RequestRefused):
    """The folder cannot be an account's home: another one has it, or its rights do not allow it."""

    slug = "home-unusable"


class AccountBusy(RequestRefused):
    """Something runs on the account: it is changed when that has ended."""

    slug = "account-busy"


class NameTaken(RequestRefused):
    """There is an account of that name, or of that login, already."""

    slug = "name-taken"


class ProgramMissing(RequestRefused):
    """A program that is needed is not installed, or not on the PATH."""

    slug = "program-not-found"


class TerminalNeeded(RequestRefused):
    """Something that a person does in a terminal was asked for without one."""

    slug = "terminal-needed"


class Declined(RequestRefused):
    """A person was asked and did not agree, or could not be asked; nothing was changed."""

    slug = "declined"


class ReadOnly(RequestRefused):
    """What was asked for changes something, and this was started to change nothing."""

    slug = "read-only"

    def __init__(self, what: str = "change anything") -> None:
        """Say it as every face does. what: an infinitive, "drain an account"."""
        super().__init__(f"this app is read-only and does not {what}: start it without --read-only")


class NothingToUndo(RequestRefused):
    """There is no change that could be taken back, or it was taken back already."""

    slug = "nothing-to-undo"


class ChangedSince(RequestRefused):
    """A file is no longer what the change made of it: it is put back by hand."""

    slug = "changed-since"


class AccountExhausted(RequestRefused):
    """The account that a session belongs to has no quota left."""

    slug = "account-exhausted"


class RuntimeUnknown(RequestRefused):
    """There is no runtime of that id."""

    slug = "runtime-not-found"


class RuntimeUnusable(RequestRefused):
    """The runtime is there, and cannot do what was asked for as it stands; the message says why."""

    slug = "runtime-unusable"


class ShadowHomeRefused(RequestRefused):
    """A runtime's shadow home is not as it has to be; nothing of the user's was overwritten."""

    slug = "shadow-home-failed"


class ArgumentReserved(ConfigInvalid):
    """A runtime's arguments hold one that live sessions set themselves; the message names it without its value."""

    slug = "launch-argument-reserved"


class TerminalNotFound(RequestRefused):
    """No living terminal has that id."""

    slug = "terminal-not-found"


class LiveSessionNotFound(RequestRefused):
    """No live session has that id."""

    slug = "session-not-found"
    exit_code = 10


class TurnNotFound(RequestRefused):
    """No turn of that id was left."""

    slug = "turn-not-found"


class RequestNotFound(RequestRefused):
    """No agent has asked anything under that id."""

    slug = "request-not-found"


class DeviceNotFound(RequestRefused):
    """No device of that id or name may use the server."""

    slug = "device-not-found"


class GrantNotFound(RequestRefused):
    """Nothing that is allowed has that id."""

    slug = "grant-not-found"


class ServerNotRunning(RequestRefused):
    """No server of this program runs."""

    slug = "server-not-running"


class IdAmbiguous(RequestRefused):
    """The beginning of an id, or a name, fits several; the message names them."""

    slug = "ambiguous-id"


class RunStays(RequestRefused):
    """A CLI that was to be ended does not end."""

    slug = "run-stays"


class PoolExhausted(RequestRefused):
    """Every account of the pool is exhausted, drained or disabled."""

    slug = "pool-exhausted"


class SpawnFailed(RunnerError):
    """The CLI's process could not be started."""

    slug = "spawn-failed"


class ResumeMismatch(RunnerError):
    """A CLI opened another session than the one it was asked to resume."""

    slug = "resume-session-mismatch"


class OutputFailed(RunnerError):
    """Our stdout took no more bytes, a full disk for example."""


class StoreUnusable(RunnerError):
    """The state file cannot be opened, read or written."""


class StoreLocked(StoreUnusable):
    """Another process kept the state file locked for longer than we wait."""


class StoreNotWritable(StoreUnusable):
    """The state file cannot be written for lack of space or of rights; it can perhaps be read."""


class StoreDamaged(StoreUnusable):
    """The state file has contents that no program of ours has written."""


class ArtifactError(RunnerError):
    """Something about artifacts; the exit codes of its kinds are those of sysexits.h (contract: section 14)."""

    slug = "artifact-error"
    exit_code = 70


class ArtifactMisused(ArtifactError):
    """A name, an address or an option that no artifact can have."""

    slug = "artifact-misused"
    exit_code = 64


class ArtifactMissing(ArtifactError):
    """There is no such artifact or version, it was removed, or its content is not what was stored."""

    slug = "artifact-missing"
    exit_code = 65


class ArtifactCollision(ArtifactError):
    """Somebody else has stored a version since the one that the new one was made from."""

    slug = "artifact-collision"
    exit_code = 66


class ArtifactStoreUnusable(ArtifactError):
    """The artifact store is missing, full, locked, not ours, or cannot be written."""

    slug = "artifact-store-unusable"
    exit_code = 73


class ArtifactInputFailed(ArtifactError):
    """Content cannot be read, or written where it was to go."""

    slug = "artifact-io-failed"
    exit_code = 74


class SchemaIncompatible(RunnerError):
    """The state file is foreign, newer than this program, or has the wrong shape."""

    slug = "schema-incompatible"
    exit_code = 14


class InvocationNotFound(RequestRefused):
    """No run has that id, or the id is not a UUID."""

    slug = "run-not-found"


class Interrupted(RunnerError):
    """A signal asked us to stop; the exit code is 128 plus its number."""

    slug = "interrupted"
    exit_code = 130

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by signal {signal_number}")
        self.signal_number = signal_number
        self.unread = b""  # what the child had printed and nobody had taken yet
        self.exit_code = 128 + signal_number


class AdapterOutputInvalid(RunnerError):
    """What an adapter script printed breaks its contract; the message names the script, the field and the value."""

    slug = "adapter-output-invalid"


class SessionIdInvalid(RunnerError):
    """What was given as a session id is not a full UUID."""

    slug = "invalid-session-id"
    exit_code = 2


class FormatInvalid(RunnerError):
    """An export was asked for in a format that we do not write."""

    slug = "invalid-format"
    exit_code = 2


class TtlInvalid(RunnerError):
    """A lease was asked for with a lifetime that is not a number, or out of bounds."""

    slug = "invalid-ttl"
    exit_code = 2


class SessionNotFound(RunnerError):
    """There is no session with that id."""

    slug = "session-not-found"
    exit_code = 10


class SessionAmbiguous(RunnerError):
    """Several sessions have that id, and more than one of them is in use."""

    slug = "ambiguous-session"
    exit_code = 11


class StorageUnsupported(RunnerError):
    """The session's account has no storage that we can work on, or its scripts do not lead to a transcript."""

    slug = "unsupported-storage"
    exit_code = 12


class ModelUnresolved(RunnerError):
    """The session is known, but the model that it was made with is not configured any more."""

    slug = "model-resolution-failed"
    exit_code = 12


class SessionBusy(RunnerError):
    """Somebody else holds the session's lease."""

    slug = "session-busy"
    exit_code = 13


class MoveRefused(RunnerError):
    """A session cannot be carried to that account; the message says why and what can be done instead."""

    slug = "move-refused"
    exit_code = 12


class TranscriptMalformed(RunnerError):
    """A CLI's transcript breaks the rules that an export stands on; the message names file and line."""

    slug = "malformed-provider-transcript"
    exit_code = 15


class ReplacementInvalid(RunnerError):
    """What is to replace a transcript is malformed, or cannot be written in the CLI's own form without loss."""

    slug = "invalid-input-transcript"
    exit_code = 15


class PreimageMismatch(RunnerError):
    """The transcript is not the one that was expected."""

    slug = "preimage-mismatch"
    exit_code = 15


class LeaseTokenInvalid(RunnerError):
    """The token has the wrong shape, or belongs to another lease."""

    slug = "lock-token-invalid"
    exit_code = 16


class LeaseGone(RunnerError):
    """The session has no lease to release."""

    slug = "lock-expired"
    exit_code = 17


_NO_LOCKS = "keep it on a file system with locks, a local disk for example (OULIPOLY_DATA_DIR)"
_WAYS_OUT = {
    errno.EACCES: "look who may read and write there",
    errno.EPERM: "look who may read and write there",
    errno.EROFS: "choose a place that can be written to",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room on the disk",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ELOOP: "look where its links lead",
    errno.ENOTDIR: "a part of it is a file: correct the path",
    errno.EEXIST: "a file is where a folder is needed: move it away, or correct the path",
    errno.EISDIR: "name a file",
    errno.ENOENT: "correct the path",
    errno.ENOLCK: _NO_LOCKS,
    errno.ENOTSUP: _NO_LOCKS,
}


@contextmanager
def translate_system_errors() -> Iterator[None]:
    """Turn what the system says about a path into SystemRefused; an error that names no path stays what it is."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if name is None or isinstance(name, int):
            raise
        shown = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN // 2]}...{shown[-40:]}"
        way_out = _WAYS_OUT.get(error.errno or 0, "look at it, and try again")
        message = f"{shown}: {error.strerror or error}: {way_out}"
        raise SystemRefused(message) from error
