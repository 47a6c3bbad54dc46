"""config.toml, sessions.toml and prices.toml: what their tables hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import Field

from oulipoly_engine.config.schema.fields import (
    AboveZero,
    AlsoNamed,
    Count,
    Filled,
    FromZero,
    InProject,
    NameOf,
    OneOf,
    Table,
    Text,
    make_whole_check,
)
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.live.launch.cli_options import THINKING_LEVELS
from oulipoly_engine.core.text import leave_key

_TIE_RULES = (
    "The one that has served the fewest runs.",
    "The one that has used the least of its windows.",
    "The one with the most headroom.",
    "The one on which the prompt is likely to waste least.",
)


class SettingsTable(Table):
    """config.toml: what holds for every run.

    Each setting is declared here: the checks, the app's settings, the schema for editors and docs/settings.md are made
    of it. A new one needs a field of the same name and default in `Settings` besides, and a reader.
    """

    diagnostics_model: Annotated[Text | None, NameOf("models"), InProject()] = Field(
        None, description="The model that is asked why a run failed when its output does not say."
    )
    default_provider: Annotated[Text | None, NameOf("accounts"), InProject(), AlsoNamed("OXI_PROVIDER", "provider")] = (
        Field(None, description="The account of a `--new` that names none.")
    )
    default_model: Annotated[Text | None, NameOf("models"), InProject(), AlsoNamed("OXI_MODEL", "model")] = Field(
        None, description="The model of a live session that names neither one nor a CLI."
    )
    thinking_level: Annotated[
        str | None, OneOf(*THINKING_LEVELS), InProject(), AlsoNamed("OXI_THINKING", "thinking")
    ] = Field(None, description="How hard a live session's CLI thinks, where it can be told and nothing else says it.")
    max_response_tokens: Annotated[int | None, Field(ge=1), InProject()] = Field(
        None, description="How long an answer in a live session may be, where its CLI can be told (claude, opencode)."
    )
    max_tokens: Annotated[int | None, Field(ge=1), InProject(), AlsoNamed("OXI_MAX_TOKENS")] = Field(
        None, description="The older name of `max_response_tokens`, which stands above it."
    )
    default_temperature: Annotated[float | None, Field(ge=0, le=2), InProject(), AlsoNamed("OXI_TEMPERATURE")] = Field(
        None, description="How freely a live session's model answers, where its CLI can be told (opencode): 0 to 2."
    )
    temperature: Annotated[float | None, Field(ge=0, le=2), InProject()] = Field(
        None, description="The older name of `default_temperature`, which stands above it."
    )
    tool_timeout_seconds: Annotated[int, Field(ge=1), InProject(), AlsoNamed("OXI_TOOL_TIMEOUT", "tool_timeout")] = (
        Field(120, description="How long a command may run in a live session whose CLI can be told (claude, opencode).")
    )
    stream_responses: Annotated[bool, InProject(is_harmless=True), AlsoNamed("OXI_STREAM", "stream")] = Field(
        True, description="Whether `chat` prints an answer while it comes, or when it is whole."
    )
    session_history_size: Annotated[int, Field(ge=1), InProject(is_harmless=True)] = Field(
        50, description="How many sessions `session list` shows without --limit and --all."
    )
    tie_rule: Annotated[
        str,
        OneOf("fewest-calls", "lowest-use", "most-headroom", "least-waste", notes=_TIE_RULES),
        InProject(is_harmless=True),
    ] = Field("fewest-calls", description="Which of the eligible accounts goes first.")
    reset_weight: Annotated[float, Field(ge=0, le=10), InProject(is_harmless=True)] = Field(
        0.05,
        description="How much sooner `least-waste` spends what resets soon: 0 is cut off least, 1 leaves least unused.",
    )
    routing_ttl_seconds: Annotated[FromZero, InProject()] = Field(
        30.0, description="The age at which quota is read again before a choice."
    )
    attach_leave_key: Annotated[str, OneOf(*leave_key.BYTES)] = Field(
        leave_key.DEFAULT, description="The key that `attach` keeps for itself."
    )
    archive: bool = Field(True, description="Whether copies of transcripts are kept.")
    archive_limit_mb: Count = Field(2048, description="How much the kept copies may take, compressed; 0: any amount.")
    preimage_limit_mb: Count = Field(
        1024, description="How much may be kept of what replacements replaced, compressed; 0: any amount."
    )
    transcript_line_limit_mb: Annotated[int, Field(ge=1)] = Field(
        64, description="How long a line of a transcript may be; a longer one counts as damaged and is not read."
    )
    session_dir: Annotated[Text, AlsoNamed("OXI_SESSION_DIR")] = Field(
        "", description="The folder where live sessions are written as session files of version 2; empty: nowhere."
    )
    serve_roots: list[Text] = Field(
        [], description="The folders that devices of `serve` may browse; none: the home folder."
    )
    serve_commit: bool = Field(False, description="Whether devices of `serve` may commit, with the hooks.")
    serve_promote: bool = Field(False, description="Whether devices of `serve` may push.")
    serve_webhook: str = Field(
        "", description="Where `serve` posts what wants a person (ntfy, Slack, any JSON); empty: nowhere."
    )
    keep_turn_files: Annotated[bool, InProject()] = Field(
        True, description="Whether a live session's git repository keeps its files at each turn's end, to go back to."
    )
    event_keep_days: Annotated[int, Field(ge=0, le=36_500)] = Field(
        30, description="After how many days unused a live session's texts lie in its entries alone; 0: never."
    )
    work_keep_days: Annotated[int, Field(ge=0, le=36_500)] = Field(
        90,
        description="After how many days `worktree prune` drops files of turns and of removed worktrees; 0: never.",
    )
    work_prune_days: Annotated[int, Field(ge=0, le=36_500)] = Field(
        30, description="After how many days unused a clean, merged worktree goes by itself (app, `serve`); 0: never."
    )
    work_prune_ignored: bool = Field(
        False, description="Whether worktrees go by themselves also with what git ignores, which nothing keeps."
    )
    work_isolation: Annotated[str, OneOf(*(level.value for level in Level))] = Field(
        "none", description="In which box the CLI of a session with a worktree of its own stands, if nothing is said."
    )
    work_max_running: Count = Field(
        0, description="How many sessions with a worktree of their own may run at once, the others wait; 0: any number."
    )
    agent_max_running: Count = Field(
        10, description="How many agents may be up at once; another one is refused until one stops; 0: any number."
    )
    work_merge_cli_log: bool = Field(
        False, description="An experiment: whether a session's log goes on with what its CLI has logged itself."
    )
    auto_compaction: Annotated[bool, InProject(), AlsoNamed("OXI_AUTO_COMPACTION")] = Field(
        True, description="Whether a live session whose CLI cannot compact is compacted when its context is full."
    )
    compaction_threshold: Annotated[float, Field(ge=0.1, le=1), InProject()] = Field(
        0.8, description="How much of the context's window may be used before that."
    )
    compaction_keep_recent: Annotated[int, Field(ge=1), InProject()] = Field(
        4, description="How many of the last messages a compaction by a model leaves as they are."
    )
    compaction_window: Annotated[Count, InProject()] = Field(
        0,
        description="How many tokens fit where a CLI does not tell; 0: then a person compacts alone.",
    )
    compaction_model: Annotated[Text | None, NameOf("models"), InProject()] = Field(
        None, description="The model that sums up a session; without it, the one that the session was begun with."
    )
    compaction_instructions: Annotated[Text, InProject()] = Field(
        "", description="What a summary has to have besides, in your words."
    )
    # Of these four lists `core/accounts/resource_lists.py` says what an entry means.
    extensions_enabled: Annotated[bool, InProject(), AlsoNamed("OXI_EXTENSIONS_ENABLED")] = Field(
        True, description="Whether extensions count at all."
    )
    extensions: Annotated[list[Text], InProject()] = Field(
        [], description="Extensions besides those that are found; `!NAME` switches one off."
    )
    skills: Annotated[list[Text], InProject()] = Field(
        [], description="Skills besides those that are found; `!NAME` switches one off."
    )
    prompts: Annotated[list[Text], InProject()] = Field(
        [], description="Prompt files besides those that are found; `!NAME` switches one off."
    )
    themes: Annotated[list[Text], InProject()] = Field(
        [], description="Themes besides those that are found; `!NAME` switches one off."
    )
    extension_timeout_seconds: AboveZero = Field(
        5.0, description="How long a call of an extension may take before it counts as failed."
    )
    retry_attempts: Annotated[int, Field(ge=0, le=100)] = Field(
        3, description="How often a turn is tried again that has failed before anything of it came; 0: never."
    )
    retry_base_ms: Count = Field(1000, description="How long the first pause before that is; each one after is twice.")
    retry_cap_ms: Count = Field(30_000, description="How long such a pause may become.")
    telemetry: Annotated[bool, AlsoNamed("OXI_TELEMETRY")] = Field(
        False, description="Whether use is counted in a file of your own; nothing is sent."
    )
    # Looked at one by one: a slip in one of them is none of the others, nor of the settings above.
    runtimes: Annotated[dict[str, Any], make_whole_check("tables, `[runtimes.NAME]`")] = Field(
        {}, description="CLIs that live sessions are driven on, beside those of the accounts."
    )
    cli_agent_runtime: Annotated[dict[str, Any], make_whole_check("a table")] = Field(
        {}, description="The older form of `runtimes`; `enabled` holds for codex and claude."
    )


class ScriptsTable(Table):
    """One `[account]` of sessions.toml: where its CLI keeps its sessions."""

    elsewhere: ClassVar[Mapping[str, str]] = MappingProxyType({"quota_script": "providers.toml"})

    turn_script: Filled = Field(description="A command that prints what was said in the account's sessions.")
    transcript_locator: Text | None = Field(None, description="A command that prints the path of a transcript.")
    state_dir: Filled | None = Field(None, description="The folder for what the script keeps between its runs.")


class PriceTable(Table):
    """One `[model]` of prices.toml: USD per million tokens."""

    input: FromZero = Field(description="Of what is sent.")
    output: FromZero = Field(description="Of what comes back.")
    cache_read: FromZero | None = Field(None, description="Of what is read from the cache; without it, as `input`.")
    cache_write: FromZero | None = Field(None, description="Of what is put into the cache; without it, as `input`.")
    cache_write_1h: FromZero | None = Field(
        None, description="Of what is put into the cache for an hour; without it, as `cache_write`."
    )
