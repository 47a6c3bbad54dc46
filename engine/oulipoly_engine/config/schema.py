"""The shape of every configuration file: fields, defaults, refusals. The only module that imports pydantic.

Rules that need more than one file are in `check`; turning tables into core values is each file's own module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from oulipoly_engine.config.problem import Fault, KeyPath, Level, nearest, shown

TableT = TypeVar("TableT", bound="Table")


def _refusal(message: str, fix: str, key: str = "") -> PydanticCustomError:
    return PydanticCustomError("refused", "{message}", {"message": message, "fix": fix, "key": key})


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise _refusal("it holds a NUL character, which no program can be given", "remove it")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise _refusal("it is blank", "write something, or remove the entry")
    return text


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise _refusal(f"{name!r} cannot be the name of a variable", "use letters, digits and _")
    return _no_nul(name)


def _default_value(value: object) -> object:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, (str, int, float)) for item in values):
        raise _refusal(f"it must be a text, a number, a boolean or a list of these, not {shown(value)}", "change it")
    return value


Text = Annotated[str, AfterValidator(_no_nul)]
Filled = Annotated[Text, AfterValidator(_not_blank)]
Variable = Annotated[str, AfterValidator(_variable)]
Words = list[Text]
Number = Annotated[float, Field(allow_inf_nan=False)]
InputTypeName = Literal["string", "integer", "number", "boolean", "enum", "array"]


class Table(BaseModel):
    """A TOML table; its unknown keys are found by `unknown_keys`."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    later: ClassVar[frozenset[str]] = frozenset()  # keys of newer configurations that have no effect here


class ResumeTable(Table):
    """`[account.resume]`."""

    kind: Literal["flag", "subcommand"]
    flag: Text | None = None
    subcommand: Words | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        wanted, other = ("flag", "subcommand") if self.kind == "flag" else ("subcommand", "flag")
        value = getattr(self, wanted)
        if not value or (isinstance(value, str) and not value.strip()):
            example = '`flag = "--resume"`' if self.kind == "flag" else '`subcommand = ["resume"]`'
            raise _refusal(f'kind = "{self.kind}" needs a non-empty `{wanted}`', f"add {example}", wanted)
        if getattr(self, other) is not None:
            raise _refusal(f'kind = "{self.kind}" does not take `{other}`', f"remove `{other}`", other)
        return self


class CaptureTable(Table):
    """`[account.session_capture]`."""

    kind: Literal["none", "forced_flag_verified", "stdout_json_event"]
    flag: Filled | None = None
    readback_args: Words = []
    json_flag: Filled | None = None
    json_args: Words | None = None
    last_message_flag: Filled | None = None
    event_type: Filled | None = None
    event_id_path: Filled | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind == "forced_flag_verified":
            self._needs("flag", "--session-id")
        if self.kind == "stdout_json_event":
            if not self.json_flag and not self.json_args:
                self._needs("json_flag", "--json")
            if self.json_flag and self.json_args is not None:
                raise _refusal("`json_flag` and `json_args` say the same thing twice", "remove one", "json_args")
            self._needs("last_message_flag", "-o")
            self._needs("event_type", "thread.started")
            self._needs("event_id_path", "thread_id")
        if self.event_id_path is not None and not all(self.event_id_path.split(".")):
            raise _refusal("the path has an empty part", "write names joined by single dots", "event_id_path")
        return self

    def _needs(self, key: str, example: str) -> None:
        if getattr(self, key) is None:
            raise _refusal(f'kind = "{self.kind}" needs `{key}`', f'add `{key} = "{example}"`', key)


class AcceptanceTable(Table):
    """`[account.resume_acceptance]`."""

    accepted_output_patterns: list[str] = []
    rejected_output_patterns: list[str] = []


class StorageTable(Table):
    """`[account.session_storage]`; the kinds with a folder are the older form."""

    kind: Literal["script", "claude_code", "codex"]
    cwd_script: Text | None = None
    transcript_script: Filled | None = None
    storage_type: Literal["claude_code", "codex_session"] | None = None
    projects_dir: Filled | None = None
    sessions_dir: Filled | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        folder = {"claude_code": "projects_dir", "codex": "sessions_dir"}.get(self.kind)
        if folder is not None:
            if getattr(self, folder) is None:
                raise _refusal(f'kind = "{self.kind}" needs `{folder}`', f"add `{folder}`", folder)
            return self
        if not (self.cwd_script or "").strip():
            raise _refusal('kind = "script" needs a non-blank `cwd_script`', "add `cwd_script`", "cwd_script")
        pair = {"transcript_script": self.transcript_script, "storage_type": self.storage_type}
        missing = [key for key, value in pair.items() if value is None]
        if len(missing) == 1:
            message = "`transcript_script` and `storage_type` must come together"
            raise _refusal(message, f"add `{missing[0]}`", missing[0])
        return self


class AccountTable(Table):
    """One `[account]` of providers.toml."""

    command: Text | None = None
    args: Words = []
    interactive_args: Words | None = None
    prompt_mode: str = "stdin"
    quota_script: Text | None = None
    auth_refresh_command: Text | None = None
    resume: ResumeTable | None = None
    session_capture: CaptureTable | None = None
    resume_acceptance: AcceptanceTable | None = None
    session_storage: StorageTable | None = None
    environment: dict[Variable, Text] = {}
    unset_environment: list[Variable] = []
    timeout_seconds: Annotated[Number, Field(gt=0)] | None = None

    later: ClassVar[frozenset[str]] = frozenset({"system_prompt_override", "tool_restrictions", "invocation_mode"})


class MemberTable(Table):
    """One `[[providers]]` entry of a model."""

    name: Filled
    args: Words = []
    interactive_args: Annotated[Words, Field(min_length=1)] | None = None


class InputTable(Table):
    """One `[[inputs]]` entry of a model."""

    name: Filled
    type: InputTypeName
    flag: Filled | None = None
    required: bool = False
    default_input: bool = False
    default: Annotated[Any, BeforeValidator(_default_value)] = None
    description: str = ""
    options: list[str] | None = None
    min: Number | None = None
    max: Number | None = None
    item_type: Literal["string", "integer", "number", "boolean", "enum"] = "string"
    min_items: Annotated[int, Field(ge=0)] | None = None
    max_items: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if "enum" in (self.type, self.item_type) and not self.options:
            raise _refusal(f"the enum input {self.name!r} has no options", "add `options = [...]`", "options")
        return self


class ReferenceTable(Table):
    """`provider = {...}` of a model: recorded, never acted on."""

    model_config = ConfigDict(extra="forbid")

    path: Filled | None = None
    crate: Filled | None = None
    version: Filled | None = None
    binary: Filled | None = None
    script: Filled | None = None

    @model_validator(mode="after")
    def _has_one_flavour(self) -> Self:
        flavours = [key for key in ("path", "crate", "binary", "script") if getattr(self, key) is not None]
        if len(flavours) != 1:
            found = " and ".join(flavours) or "none"
            raise _refusal(f"it needs exactly one of path, crate, binary and script, not {found}", "keep one of them")
        if self.version is not None and self.crate is None:
            raise _refusal("`version` goes only with `crate`", "remove `version`", "version")
        return self


class ModelTable(Table):
    """A model's file."""

    providers: Annotated[list[MemberTable], Field(min_length=1)]
    inputs: list[InputTable] = []
    provider: ReferenceTable | None = None
    sticky: bool = False

    @model_validator(mode="after")
    def _has_one_default_input(self) -> Self:
        takers = [entry.name for entry in self.inputs if entry.default_input]
        if len(takers) > 1:
            message = f"{len(takers)} inputs are the default input: {', '.join(takers)}"
            raise _refusal(message, "keep `default_input = true` at one of them", "inputs")
        return self


class ScriptsTable(Table):
    """One `[account]` of sessions.toml."""

    turn_script: Filled
    transcript_locator: Text | None = None
    state_dir: Filled | None = None


class SettingsTable(Table):
    """config.toml."""

    diagnostics_model: Text | None = None
    default_provider: Text | None = None
    tie_rule: Literal["fewest-calls", "lowest-use", "most-headroom"] = "fewest-calls"
    routing_ttl_seconds: Annotated[Number, Field(ge=0)] = 30.0


def check(table: type[TableT], raw: object, at: KeyPath = ()) -> tuple[TableT | None, tuple[Fault, ...]]:
    """Check plain values against a table's shape.

    at: where the values stand, put before every fault's path.
    Returns the table, None when there is an error, and every fault found, unknown keys as warnings.
    """
    checked: TableT | None = None
    errors: tuple[Fault, ...] = ()
    try:
        checked = table.model_validate(raw)
    except ValidationError as error:
        errors = tuple(_fault(table, detail, at) for detail in error.errors(include_url=False))
    return checked, (*errors, *unknown_keys(table, raw, at))


def unknown_keys(table: type[Table], raw: object, at: KeyPath = ()) -> Iterator[Fault]:
    """Find keys that mean nothing here, in nested tables too; tables that refuse them are left to `check`."""
    if not isinstance(raw, Mapping) or table.model_config.get("extra") == "forbid":
        return
    for key, value in raw.items():
        if key not in table.model_fields:
            yield _unknown_key(table, key, at)
            continue
        for nested in _tables_in(table.model_fields[key].annotation):
            items = enumerate(value) if isinstance(value, list) else [((), value)]
            for place, item in items:
                yield from unknown_keys(nested, item, (*at, key, *((place,) if isinstance(place, int) else ())))


def _unknown_key(table: type[Table], key: str, at: KeyPath) -> Fault:
    if key in table.later:
        return Fault((*at, key), f"`{key}` has no effect in this version", "remove it, or leave it", Level.WARNING)
    found = nearest(key, table.model_fields)
    hint = f"did you mean `{found[0]}`?" if found else f"known here are {', '.join(table.model_fields)}"
    fix = f"rename it to `{found[0]}`" if found else "remove it"
    return Fault((*at, key), f"`{key}` is not a known key ({hint})", fix, Level.WARNING)


def _tables_in(annotation: object) -> Iterator[type[Table]]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for part in get_args(annotation):
        yield from _tables_in(part)


_WANTED: Mapping[str, str] = {
    "string_type": "a text in quotes",
    "list_type": "a list in brackets",
    "bool_type": "true or false, without quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "dict_type": "a table",
    "model_type": "a table",
}


def _fault(table: type[Table], detail: ErrorDetails, at: KeyPath) -> Fault:
    path: KeyPath = (*at, *(part for part in detail["loc"] if part != "[key]"))
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    context: dict[str, Any] = detail.get("ctx", {})
    match detail["type"]:
        case "refused":
            key = context["key"]
            return Fault((*path, key) if key else path, context["message"], context["fix"])
        case "missing":
            return Fault(path, f"`{name}` is missing", f"add `{name}`")
        case "extra_forbidden":
            fault = _unknown_key(table if len(path) == len(at) + 1 else ReferenceTable, name, path[:-1])
            return Fault(fault.path, fault.message, fault.fix)
        case "literal_error":
            return _wrong_choice(path, detail["input"], context["expected"])
        case "too_short":
            return Fault(path, f"the list `{name}` is empty", f"put something into `{name}`, or remove it")
        case kind if kind in _WANTED:
            return Fault(path, f"it must be {_WANTED[kind]}, not {shown(detail['input'])}", f"write {_WANTED[kind]}")
        case _:
            rule = detail["msg"].removeprefix("Input ")
            return Fault(path, f"{shown(detail['input'])} is wrong: it {rule}", "correct the value")


def _wrong_choice(path: KeyPath, value: object, expected: str) -> Fault:
    choices = _choices(expected)
    found = nearest(value, choices) if isinstance(value, str) else ()
    fix = f'write "{found[0]}"' if found else "write one of these in quotes"
    return Fault(path, f"{shown(value)} is not one of {', '.join(choices)}", fix)


def _choices(expected: str) -> tuple[str, ...]:
    """Read pydantic's `'a', 'b' or 'c'`."""
    parts: Iterable[str] = expected.replace(" or ", ", ").split(", ")
    return tuple(part.strip("'") for part in parts)
