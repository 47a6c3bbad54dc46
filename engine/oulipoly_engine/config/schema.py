"""The shape of every configuration file: keys, defaults, refusals.

How keys are declared and values read is in `table`; rules that need more than one file are in `check`; turning tables
into core values is each file's own module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from oulipoly_engine.config.problem import Fault, KeyPath, shown
from oulipoly_engine.config.table import (
    Key,
    Refused,
    Table,
    TableT,
    above_zero,
    boolean,
    count,
    filled,
    from_zero,
    items,
    list_of,
    not_empty,
    number,
    one_of,
    optional,
    read_table,
    section,
    sections,
    string,
    text,
    unknown_keys,
    variable,
    variables,
)
from oulipoly_engine.core.text import leave_key


def _default_value(value: object, at: KeyPath) -> Any:  # noqa: ANN401 - any TOML scalar or list of them
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, (str, int, float)) for item in values):
        message = f"it must be a text, a number, a boolean or a list of these, not {shown(value)}"
        raise Refused(Fault(at, message, "change it"))
    return value


class ResumeTable(Table):
    """`[account.resume]`."""

    kind = Key(one_of("flag", "subcommand"))
    flag = optional(text)
    subcommand = optional(list_of(text))
    fork_args = items(text)

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

    kind = Key(one_of("none", "forced_flag_verified", "stdout_json_event"))
    flag = optional(filled)
    readback_args = items(text)
    json_flag = optional(filled)
    json_args = optional(list_of(text))
    last_message_flag = optional(filled)
    event_type = optional(filled)
    event_id_path = optional(filled)

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

    accepted_output_patterns = items(string)
    rejected_output_patterns = items(string)


class StorageTable(Table):
    """`[account.session_storage]`; the kinds with a folder are the older form."""

    kind = Key(one_of("script", "claude_code", "codex"))
    cwd_script = optional(text)
    transcript_script = optional(filled)
    storage_type = optional(one_of("claude_code", "codex_session"))
    projects_dir = optional(filled)
    sessions_dir = optional(filled)

    def refusals(self) -> Iterator[Fault]:
        """Find a key that the kind needs."""
        if self.kind != "script":
            folders = {"claude_code": ("projects_dir", self.projects_dir), "codex": ("sessions_dir", self.sessions_dir)}
            key, folder = folders[self.kind]
            if folder is None:
                yield Fault((key,), f'kind = "{self.kind}" needs `{key}`', f"add `{key}`")
            return
        if not (self.cwd_script or "").strip():
            yield Fault(("cwd_script",), 'kind = "script" needs a non-blank `cwd_script`', "add `cwd_script`")
        pair = {"transcript_script": self.transcript_script, "storage_type": self.storage_type}
        missing = [key for key, value in pair.items() if value is None]
        if len(missing) == 1:
            message = "`transcript_script` and `storage_type` must come together"
            yield Fault((missing[0],), message, f"add `{missing[0]}`")


class AccountTable(Table):
    """One `[account]` of providers.toml."""

    later: ClassVar[frozenset[str]] = frozenset({"system_prompt_override", "tool_restrictions", "invocation_mode"})

    command = optional(text)
    args = items(text)
    interactive_args = optional(list_of(text))
    prompt_mode = Key(string, "stdin")
    quota_script = optional(text)
    auth_refresh_command = optional(text)
    resume = section(ResumeTable)
    session_capture = section(CaptureTable)
    resume_acceptance = section(AcceptanceTable)
    session_storage = section(StorageTable)
    environment: Key[Mapping[str, str]] = Key(variables, {})
    unset_environment = items(variable)
    timeout_seconds = optional(above_zero)


class MemberTable(Table):
    """One `[[providers]]` entry of a model."""

    name = Key(filled)
    args = items(text)
    interactive_args = optional(not_empty(text))


class InputTable(Table):
    """One `[[inputs]]` entry of a model."""

    name = Key(filled)
    type = Key(one_of("string", "integer", "number", "boolean", "enum", "array"))
    flag = optional(filled)
    required = Key(boolean, False)
    default_input = Key(boolean, False)
    default = optional(_default_value)
    description = Key(string, "")
    options = optional(list_of(string))
    min = optional(number)
    max = optional(number)
    item_type = Key(one_of("string", "integer", "number", "boolean", "enum"), "string")
    min_items = optional(count)
    max_items = optional(count)

    def refusals(self) -> Iterator[Fault]:
        """Find an enum without options."""
        if "enum" in (self.type, self.item_type) and not self.options:
            yield Fault(("options",), f"the enum input {self.name!r} has no options", "add `options = [...]`")


class ReferenceTable(Table):
    """`provider = {...}` of a model: recorded, never acted on."""

    closed: ClassVar[bool] = True

    path = optional(filled)
    crate = optional(filled)
    version = optional(filled)
    binary = optional(filled)
    script = optional(filled)

    def refusals(self) -> Iterator[Fault]:
        """Find more or less than one flavour."""
        flavours = {"path": self.path, "crate": self.crate, "binary": self.binary, "script": self.script}
        found = [key for key, value in flavours.items() if value is not None]
        if len(found) != 1:
            message = f"it needs exactly one of path, crate, binary and script, not {' and '.join(found) or 'none'}"
            yield Fault((), message, "keep one of them")
        if self.version is not None and self.crate is None:
            yield Fault(("version",), "`version` goes only with `crate`", "remove `version`")


class ModelTable(Table):
    """A model's file."""

    providers = sections(MemberTable, needed=True)
    inputs = sections(InputTable)
    provider = section(ReferenceTable)
    sticky = Key(boolean, False)

    def refusals(self) -> Iterator[Fault]:
        """Find more than one default input."""
        takers = [entry.name for entry in self.inputs if entry.default_input]
        if len(takers) > 1:
            message = f"{len(takers)} inputs are the default input: {', '.join(takers)}"
            yield Fault(("inputs",), message, "keep `default_input = true` at one of them")


class ScriptsTable(Table):
    """One `[account]` of sessions.toml."""

    turn_script = Key(filled)
    transcript_locator = optional(text)
    state_dir = optional(filled)


class SettingsTable(Table):
    """config.toml."""

    diagnostics_model = optional(text)
    default_provider = optional(text)
    tie_rule = Key(one_of("fewest-calls", "lowest-use", "most-headroom"), "fewest-calls")
    routing_ttl_seconds = Key(from_zero, 30.0)
    attach_leave_key = Key(one_of(*leave_key.BYTES), leave_key.DEFAULT)
    archive = Key(boolean, True)
    archive_limit_mb = Key(count, 2048)
    preimage_limit_mb = Key(count, 1024)


def check(table: type[TableT], raw: object, at: KeyPath = ()) -> tuple[TableT | None, tuple[Fault, ...]]:
    """Check plain values against a table's shape.

    at: where the values stand, put before every fault's path.
    Returns the table, None when there is an error, and every fault found, unknown keys as warnings.
    """
    checked: TableT | None = None
    errors: tuple[Fault, ...] = ()
    try:
        checked = read_table(table, raw, at)
    except Refused as refused:
        errors = refused.faults
    return checked, (*errors, *unknown_keys(table, raw, at))
