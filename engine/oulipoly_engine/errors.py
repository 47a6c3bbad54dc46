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

    A kind names its slug and its exit code in the line of its class, where they differ from its base's.
    extra: further keys of the JSON form `{"error": {"code", "message", ...}}`.
    """

    slug = "operational-error"
    exit_code = 1

    def __init_subclass__(cls, *, slug: str = "", exit_code: int | None = None) -> None:
        """Take what the line of the class says."""
        if slug:
            cls.slug = slug
        if exit_code is not None:
            cls.exit_code = exit_code

    def __init__(self, message: str, **extra: object) -> None:
        super().__init__(message)
        self.message = message
        self.extra: Mapping[str, object] = extra


class SystemRefused(RunnerError):
    """The system refused what we wanted with a path, and nobody nearer had better words for it."""


class UsageInvalid(RunnerError, slug="invalid-argument", exit_code=2):
    """The command line cannot be acted on."""


class ConfigInvalid(RunnerError, slug="config-invalid", exit_code=2):
    """A configuration file cannot be used; the message names file, line, key and the way out."""


class ConfigChanged(ConfigInvalid):
    """A configuration file is no longer what a change was made from: made anew, the change may be written."""


class InputInvalid(RunnerError, slug="invalid-argument", exit_code=2):
    """A typed model input (`-i key=value`) breaks its own rule."""


class RequestRefused(RunnerError, slug="request-refused", exit_code=1):
    """What was asked for names something that does not exist, or lacks something it needs (contract: exit 1)."""


class NotConfigured(RequestRefused, slug="not-configured"):
    """There is neither an account nor a model, and what was asked for needs one."""


class ModelUnknown(RequestRefused, slug="model-not-found"):
    """No model of that name is configured."""


class AgentUnknown(RequestRefused, slug="agent-not-found"):
    """No agent of that name is configured."""


class AgentNotFound(RequestRefused, slug="running-agent-not-found"):
    """No agent of that name or id was run."""


class JobNotFound(RequestRefused, slug="job-not-found"):
    """No job of that id was run."""


class AgentStateInvalid(RequestRefused, slug="agent-state-invalid"):
    """An agent is not in a state in which this can be done; the message names the state."""


class TooManyAgents(RequestRefused, slug="too-many-agents"):
    """As many agents are up as the setting agent_max_running lets be."""


class AgentFailed(RequestRefused, slug="agent-failed"):
    """An agent could not be started; the message says why."""


class LinkMissing(RequestRefused, slug="link-missing"):
    """An agent may not prompt another one, or too many prompts wait for one another."""


class NoteNotFound(RequestRefused, slug="note-not-found"):
    """An agent has no note of that key."""


class TokenInvalid(RequestRefused, slug="token-invalid"):
    """A token of an agent is not ours, has expired, or its agent is gone."""


class TokenRevoked(RequestRefused, slug="token-revoked"):
    """A token of an agent was revoked."""


class ToolUnknown(RequestRefused, slug="tool-not-declared"):
    """An agent's image does not declare that tool."""


class ToolMissing(RequestRefused, slug="tool-missing"):
    """An agent's image declares a tool whose program is not in its tree."""


class IsolationUnavailable(RequestRefused, slug="isolation-unavailable"):
    """The machine cannot isolate an agent as it is asked to; the message says what would let it."""


class AgentFileInvalid(RequestRefused, slug="agent-file-invalid"):
    """An agent file is missing, unreadable or has no valid frontmatter."""


class PromptMissing(RequestRefused, slug="prompt-missing"):
    """No prompt was given, or the one given is blank or cannot be read."""


class AccountUnusable(RequestRefused, slug="account-unusable"):
    """An account lacks what was asked of it, or is not in the pool; the message says which."""


class AccountUnknown(AccountUnusable, slug="account-not-found"):
    """No account of that name is configured."""


class LoginFailed(RequestRefused, slug="login-failed"):
    """A login or a logout did not come about; nothing was changed."""


class HomeUnusable(RequestRefused, slug="home-unusable"):
    """The folder cannot be an account's home: another one has it, or its rights do not allow it."""


class AccountBusy(RequestRefused, slug="account-busy"):
    """Something runs on the account: it is changed when that has ended."""


class NameTaken(RequestRefused, slug="name-taken"):
    """There is an account of that name, or of that login, already."""


class ProgramMissing(RequestRefused, slug="program-not-found"):
    """A program that is needed is not installed, or not on the PATH."""


class TerminalNeeded(RequestRefused, slug="terminal-needed"):
    """Something that a person does in a terminal was asked for without one."""


class Declined(RequestRefused, slug="declined"):
    """A person was asked and did not agree, or could not be asked; nothing was changed."""


class ReadOnly(RequestRefused, slug="read-only"):
    """What was asked for changes something, and this was started to change nothing."""

    def __init__(self, what: str = "change anything") -> None:
        """Say it as every face does. what: an infinitive, "drain an account"."""
        super().__init__(f"this app is read-only and does not {what}: start it without --read-only")


class NothingToUndo(RequestRefused, slug="nothing-to-undo"):
    """There is no change that could be taken back, or it was taken back already."""


class ChangedSince(RequestRefused, slug="changed-since"):
    """A file is no longer what the change made of it: it is put back by hand."""


class AccountExhausted(RequestRefused, slug="account-exhausted"):
    """The account that a session belongs to has no quota left."""


class RuntimeUnknown(RequestRefused, slug="runtime-not-found"):
    """There is no runtime of that id."""


class RuntimeUnusable(RequestRefused, slug="runtime-unusable"):
    """The runtime is there, and cannot do what was asked for as it stands; the message says why."""


class ShadowHomeRefused(RequestRefused, slug="shadow-home-failed"):
    """A runtime's shadow home is not as it has to be; nothing of the user's was overwritten."""


class ArgumentReserved(ConfigInvalid, slug="launch-argument-reserved"):
    """A runtime's arguments hold one that live sessions set themselves; the message names it without its value."""


class TerminalNotFound(RequestRefused, slug="terminal-not-found"):
    """No living terminal has that id."""


class LiveSessionNotFound(RequestRefused, slug="session-not-found", exit_code=10):
    """No live session has that id."""


class TurnNotFound(RequestRefused, slug="turn-not-found"):
    """No turn of that id was left."""


class RequestNotFound(RequestRefused, slug="request-not-found"):
    """No agent has asked anything under that id."""


class DeviceNotFound(RequestRefused, slug="device-not-found"):
    """No device of that id or name may use the server."""


class GrantNotFound(RequestRefused, slug="grant-not-found"):
    """Nothing that is allowed has that id."""


class ExtensionRefused(RequestRefused, slug="extension-refused"):
    """An extension does not let something happen, or has failed where it was asked."""


class InputHandled(RunnerError, slug="input-handled", exit_code=0):
    """An extension has taken a message, so that it is not sent; the message is what it says."""


class ExtensionNotFound(RequestRefused, slug="extension-not-found"):
    """There is no extension of that name."""


class ServerNotRunning(RequestRefused, slug="server-not-running"):
    """No server of this program runs."""


class IdAmbiguous(RequestRefused, slug="ambiguous-id"):
    """The beginning of an id, or a name, fits several; the message names them."""


class RunStays(RequestRefused, slug="run-stays"):
    """A CLI that was to be ended does not end."""


class PoolExhausted(RequestRefused, slug="pool-exhausted"):
    """Every account of the pool is exhausted, drained or disabled."""


class SpawnFailed(RunnerError, slug="spawn-failed"):
    """The CLI's process could not be started."""


class ResumeMismatch(RunnerError, slug="resume-session-mismatch"):
    """A CLI opened another session than the one it was asked to resume."""


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


class ArtifactError(RunnerError, slug="artifact-error", exit_code=70):
    """Something about artifacts; the exit codes of its kinds are those of sysexits.h (contract: section 14)."""


class ArtifactMisused(ArtifactError, slug="artifact-misused", exit_code=64):
    """A name, an address or an option that no artifact can have."""


class ArtifactMissing(ArtifactError, slug="artifact-missing", exit_code=65):
    """There is no such artifact or version, it was removed, or its content is not what was stored."""


class ArtifactCollision(ArtifactError, slug="artifact-collision", exit_code=66):
    """Somebody else has stored a version since the one that the new one was made from."""


class ArtifactStoreUnusable(ArtifactError, slug="artifact-store-unusable", exit_code=73):
    """The artifact store is missing, full, locked, not ours, or cannot be written."""


class ArtifactInputFailed(ArtifactError, slug="artifact-io-failed", exit_code=74):
    """Content cannot be read, or written where it was to go."""


class SchemaIncompatible(RunnerError, slug="schema-incompatible", exit_code=14):
    """The state file is foreign, newer than this program, or has the wrong shape."""


class InvocationNotFound(RequestRefused, slug="run-not-found"):
    """No run has that id, or the id is not a UUID."""


class Interrupted(RunnerError, slug="interrupted", exit_code=130):
    """A signal asked us to stop; the exit code is 128 plus its number."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by signal {signal_number}")
        self.signal_number = signal_number
        self.unread = b""  # what the child had printed and nobody had taken yet
        self.exit_code = 128 + signal_number


class AdapterOutputInvalid(RunnerError, slug="adapter-output-invalid"):
    """What an adapter script printed breaks its contract; the message names the script, the field and the value."""


class SessionIdInvalid(RunnerError, slug="invalid-session-id", exit_code=2):
    """What was given as a session id is not a full UUID."""


class FormatInvalid(RunnerError, slug="invalid-format", exit_code=2):
    """An export was asked for in a format that we do not write."""


class TtlInvalid(RunnerError, slug="invalid-ttl", exit_code=2):
    """A lease was asked for with a lifetime that is not a number, or out of bounds."""


class SessionNotFound(RunnerError, slug="session-not-found", exit_code=10):
    """There is no session with that id."""


class SessionAmbiguous(RunnerError, slug="ambiguous-session", exit_code=11):
    """Several sessions have that id, and more than one of them is in use."""


class StorageUnsupported(RunnerError, slug="unsupported-storage", exit_code=12):
    """The session's account has no storage that we can work on, or its scripts do not lead to a transcript."""


class ModelUnresolved(RunnerError, slug="model-resolution-failed", exit_code=12):
    """The session is known, but the model that it was made with is not configured any more."""


class SessionBusy(RunnerError, slug="session-busy", exit_code=13):
    """Somebody else holds the session's lease."""


class MoveRefused(RunnerError, slug="move-refused", exit_code=12):
    """A session cannot be carried to that account; the message says why and what can be done instead."""


class TranscriptMalformed(RunnerError, slug="malformed-provider-transcript", exit_code=15):
    """A CLI's transcript breaks the rules that an export stands on; the message names file and line."""


class ReplacementInvalid(RunnerError, slug="invalid-input-transcript", exit_code=15):
    """What is to replace a transcript is malformed, or cannot be written in the CLI's own form without loss."""


class PreimageMismatch(RunnerError, slug="preimage-mismatch", exit_code=15):
    """The transcript is not the one that was expected."""


class LeaseTokenInvalid(RunnerError, slug="lock-token-invalid", exit_code=16):
    """The token has the wrong shape, or belongs to another lease."""


class LeaseGone(RunnerError, slug="lock-expired", exit_code=17):
    """The session has no lease to release."""


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
        raise SystemRefused(f"{shown}: {error.strerror or error}: {way_out}") from error
