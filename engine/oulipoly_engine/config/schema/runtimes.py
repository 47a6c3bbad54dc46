"""`[runtimes.x]` of config.toml: CLIs that live sessions are driven on. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, ConfigDict, Field

from oulipoly_engine.config.schema.fields import Count, Filled, NameOf, OneOf, Table, Text, Variable
from oulipoly_engine.core.live.wires.table import WIRES

_NOTES = tuple(wire.note for wire in WIRES.values())


class RuntimeTable(Table):
    """One `[runtimes.NAME]` of config.toml. The second names are those of an older program."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    kind: Annotated[str, OneOf(*WIRES, notes=_NOTES)] | None = Field(
        None, description="How it is driven; without it, as its account or its program tells, else `codex`."
    )
    name: Filled | None = Field(
        None, validation_alias=AliasChoices("name", "display_name"), description="What people read."
    )
    enabled: bool = Field(True, description="Whether sessions may be opened on it.")
    program: Filled | None = Field(
        None, validation_alias=AliasChoices("program", "binary_path"), description="Its program: a name or a path."
    )
    account: Annotated[Filled | None, NameOf("accounts")] = Field(
        None, description="The account whose login and quota it uses; without one, the account of its own name."
    )
    home: Filled | None = Field(
        None,
        validation_alias=AliasChoices("home", "home_path"),
        description="The folder in which the CLI keeps what it keeps.",
    )
    shadow_home: Filled | None = Field(
        None,
        validation_alias=AliasChoices("shadow_home", "shadow_home_path"),
        description="A folder with a login of its own; all else in it are links into `home`.",
    )
    start_words: list[Text] | None = Field(None, description='What makes an agent speak ACP, as ["--acp"].')
    args: list[Text] | None = Field(
        None,
        validation_alias=AliasChoices("args", "app_server_args"),
        description="Further arguments; those that live sessions set themselves are refused.",
    )
    env: dict[Variable, Text] = Field({}, description="Environment variables that it gets.")
    proxy: Filled | None = Field(
        None, validation_alias=AliasChoices("proxy", "proxy_url"), description="The URL of the proxy that it uses."
    )
    custom_models: list[Filled] = Field([], description="Models that it offers besides those that it tells of.")
    marker: Text = Field("", description="plain: the line that ends a turn.")
    startup_timeout_ms: Count = Field(
        0,
        validation_alias=AliasChoices("startup_timeout_ms", "startup_probe_timeout_ms"),
        description="How long it may take to start; 0: 30000.",
    )
    request_timeout_ms: Count = Field(0, description="How long it may take for an answer; 0: 120000.")
    idle_session_ttl_secs: Count = Field(0, description="After how long without work it is closed; 0: 1800.")
    answer_timeout_secs: Count = Field(
        0, description="After how long what it asks expires if nobody answers; 0: 21600."
    )
    stderr_ring_lines: Count = Field(0, description="How many lines of its stderr are kept; 0: 200.")
    debug_native_events: bool = Field(
        False, description="Whether what it says is kept for diagnosis, without its secrets."
    )
    event_channel_capacity: Count = Field(0, description="Has no effect: no event but a delta is ever left out.")


class OldRuntimeTable(Table):
    """`[cli_agent_runtime]`, the older form: one setting for codex and claude together."""

    enabled: bool = Field(True, description="Whether sessions may be opened on codex and claude.")
