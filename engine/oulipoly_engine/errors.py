"""Every error this program raises on purpose: one tree, each leaf with its slug and exit code.

A message is one sentence with the offending value and the way out. Slugs and exit codes are part of the contract with
scripts (README, "Exit codes").
"""

from __future__ import annotations

from collections.abc import Mapping


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


class UsageInvalid(RunnerError):
    """The command line cannot be acted on."""

    slug = "invalid-argument"
    exit_code = 2


class ConfigInvalid(RunnerError):
    """A configuration file cannot be used; the message names file, line, key and the way out."""

    slug = "config-invalid"
    exit_code = 2


class InputInvalid(RunnerError):
    """A typed model input (`-i key=value`) breaks its own rule."""

    slug = "invalid-argument"
    exit_code = 2


class RequestRefused(RunnerError):
    """What was asked for names something that does not exist, or lacks something it needs (contract: exit 1)."""

    slug = "request-refused"
    exit_code = 1


class ModelUnknown(RequestRefused):
    """No model of that name is configured."""


class AgentUnknown(RequestRefused):
    """No agent of that name is configured."""


class AgentFileInvalid(RequestRefused):
    """An agent file is missing, unreadable or has no valid frontmatter."""


class PromptMissing(RequestRefused):
    """No prompt was given, or the one given is blank or cannot be read."""


class AccountUnusable(RequestRefused):
    """A pool member's account is not configured, or lacks what this launch needs."""


class PoolExhausted(RequestRefused):
    """Every account of the pool is spent, drained or disabled."""


class SpawnFailed(RunnerError):
    """The CLI's process could not be started."""

    slug = "spawn-failed"


class OutputFailed(RunnerError):
    """Our stdout took no more bytes, a full disk for example."""


class StoreUnusable(RunnerError):
    """The state file cannot be opened, read or written."""


class SchemaIncompatible(RunnerError):
    """The state file is foreign, newer than this program, or has the wrong shape."""

    slug = "schema-incompatible"
    exit_code = 14


class InvocationNotFound(RequestRefused):
    """No invocation has that id, or the id is not a UUID."""


class Interrupted(RunnerError):
    """A signal asked us to stop; the exit code is 128 plus its number."""

    slug = "interrupted"
    exit_code = 130

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by signal {signal_number}")
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number


class AdapterOutputInvalid(RunnerError):
    """What an adapter script printed breaks its contract; the message names the script, the field and the value."""

    slug = "adapter-output-invalid"
