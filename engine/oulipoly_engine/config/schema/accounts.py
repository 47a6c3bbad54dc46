"""providers.toml: what an account's table holds. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import Field

from oulipoly_engine.config.base import legacy
from oulipoly_engine.config.base.problem import Fault
from oulipoly_engine.config.schema.fields import AboveZero, Filled, OneOf, Table, Text, Variable


class ResumeTable(Table):
    """`[account.resume]`."""

    kind: Annotated[str, OneOf("flag", "subcommand")] = Field(
        description="Whether a flag or a subcommand stands before the id of the session to resume."
    )
    flag: Text | None = Field(None, description='The flag before the id, as "--resume".')
    subcommand: list[Text] | None = Field(None, description='The words before the id, as ["resume"].')
    fork_args: list[Text] = Field(
        [], description="Arguments that begin a new session with another one's past; {session_id} stands for that one."
    )

    def refusals(self) -> Iterator[Fault]:
        """Find a key that the kind needs, or does not take."""
        if self.fork_args and not any("{session_id}" in word for word in self.fork_args):
            message = "`fork_args` does not say which session is forked"
            yield Fault(("fork_args",), message, 'put "{session_id}" where its id belongs')
        pair = {"flag": self.flag, "subcommand": self.subcommand}
        value = pair.pop(self.kind)
        if not value or (isinstance(value, str) and not value.strip()):
            example = '`flag = "--resume"`' if self.kind == "flag" else '`subcommand = ["resume"]`'
            message = f'kind = "{self.kind}" needs a non-empty `{self.kind}`'
            yield Fault((self.kind,), message, f"add {example}")
        for other, found in pair.items():
            if found is not None:
                yield Fault((other,), f'kind = "{self.kind}" does not take `{other}`', f"remove `{other}`")


class CaptureTable(Table):
    """`[account.session_capture]`."""

    kind: Annotated[str, OneOf("none", "forced_flag_verified", "stdout_json_event")] = Field(
        description="How the id of a one-shot's session is learned."
    )
    flag: Filled | None = Field(None, description="forced_flag_verified: the flag that takes our new id.")
    readback_args: list[Text] = Field([], description="forced_flag_verified: arguments that make the CLI print its id.")
    json_flag: Filled | None = Field(None, description="stdout_json_event: the flag that makes the CLI print events.")
    json_args: list[Text] | None = Field(None, description="stdout_json_event: the same as several arguments.")
    last_message_flag: Filled | None = Field(
        None, description="stdout_json_event: the flag that takes a file for the answer."
    )
    event_type: Filled | None = Field(None, description="stdout_json_event: the `type` of the event that has the id.")
    event_id_path: Filled | None = Field(
        None, description="stdout_json_event: the keys from the event's top to the id, joined by dots."
    )

    def refusals(self) -> Iterator[Fault]:
        """Find a key that the kind needs, and keys that contradict each other."""
        if self.kind == "forced_flag_verified":
            yield from self._needs("flag", self.flag, "--session-id")
        if self.kind == "stdout_json_event":
            yield from self._needs("json_flag", self.json_flag or self.json_args or None, "--json")
            if self.json_flag and self.json_args is not None:
                yield Fault(("json_args",), "`json_flag` and `json_args` say the same thing twice", "remove one")
            yield from self._needs("last_message_flag", self.last_message_flag, "-o")
            yield from self._needs("event_type", self.event_type, "thread.started")
            yield from self._needs("event_id_path", self.event_id_path, "thread_id")
        if self.event_id_path is not None and not all(self.event_id_path.split(".")):
            yield Fault(("event_id_path",), "the path has an empty part", "write names joined by single dots")

    def _needs(self, key: str, value: object, example: str) -> Iterator[Fault]:
        if value is None:
            yield Fault((key,), f'kind = "{self.kind}" needs `{key}`', f'add `{key} = "{example}"`')


class AcceptanceTable(Table):
    """`[account.resume_acceptance]`."""

    accepted_output_patterns: list[str] = Field(
        [], description="Texts in the output that show that a session was resumed; {session_id} stands for its id."
    )
    rejected_output_patterns: list[str] = Field(
        [], description="Texts in the output that show that a session was not resumed."
    )


class StorageTable(Table):
    """`[account.session_storage]`; the kinds with a folder are the older form."""

    kind: Annotated[str, OneOf("script", *legacy.FOLDER_KINDS)] = Field(
        description="`script`; the others are the older form, with a folder."
    )
    cwd_script: Text | None = Field(None, description="A command that prints the folder of a session.")
    transcript_script: Filled | None = Field(None, description="A command that prints the path of a transcript.")
    storage_type: Annotated[str, OneOf("claude_code", "codex_session")] | None = Field(
        None, description="The format of the transcripts."
    )
    projects_dir: Filled | None = Field(None, description="claude_code: the folder of its projects.")
    sessions_dir: Filled | None = Field(None, description="codex: the folder of its sessions.")

    def refusals(self) -> Iterator[Fault]:
        """Find a key that the kind needs."""
        if self.kind != "script":
            key = legacy.folder_key(self.kind)
            if getattr(self, key) is None:
                yield Fault((key,), f'kind = "{self.kind}" needs `{key}`', f"add `{key}`")
            return
        if not (self.cwd_script or "").strip():
            yield Fault(("cwd_script",), 'kind = "script" needs a non-blank `cwd_script`', "add `cwd_script`")
        pair = {"transcript_script": self.transcript_script, "storage_type": self.storage_type}
        missing = [key for key, value in pair.items() if value is None]
        if len(missing) == 1:
            message = "`transcript_script` and `storage_type` must come together"
            yield Fault((missing[0],), message, f"add `{missing[0]}`")


class KeyringTable(Table):
    """`[account.keyring]`: where the account's API key is, in place of a login."""

    entry: Filled = Field(description="The entry of the service `agent-runner` in the user's keyring.")
    variable: Variable = Field(description="The environment variable in which the CLI gets it.")


class AccountTable(Table):
    """One `[account]` of providers.toml: one login of one CLI."""

    later: ClassVar[frozenset[str]] = frozenset({"system_prompt_override", "tool_restrictions", "invocation_mode"})
    elsewhere: ClassVar[Mapping[str, str]] = MappingProxyType(
        dict.fromkeys(("turn_script", "transcript_locator", "state_dir"), "sessions.toml")
    )

    command: Text | None = Field(None, description="The CLI's program; without one the account cannot be started.")
    args: list[Text] = Field([], description="Arguments of every one-shot, before the model's own.")
    interactive_args: list[Text] | None = Field(
        None, description="Arguments of an interactive start; without them there is none."
    )
    prompt_mode: str = Field(
        "stdin", description='How a prompt reaches the CLI: "stdin" or "arg".', examples=["stdin", "arg"]
    )
    quota_script: Text | None = Field(None, description="A command that prints the account's quota windows as JSON.")
    auth_refresh_command: Text | None = Field(None, description="A command for when the quota script fails.")
    resume: ResumeTable | None = Field(None, description="How the CLI goes on with a session.")
    session_capture: CaptureTable | None = Field(None, description="How the id of a one-shot's session is learned.")
    resume_acceptance: AcceptanceTable | None = Field(
        None, description="How the output shows whether a session was resumed."
    )
    session_storage: StorageTable | None = Field(None, description="Where the CLI keeps its sessions.")
    environment: dict[Variable, Text] = Field({}, description="Environment variables that the CLI gets.")
    unset_environment: list[Variable] = Field([], description="Environment variables that the CLI does not get.")
    keyring: KeyringTable | None = Field(None, description="Where the account's API key is, if it is in the keyring.")
    timeout_seconds: AboveZero | None = Field(None, description="How long a one-shot may take; without it, any time.")
