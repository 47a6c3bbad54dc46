"""What tables are made of: the base of every table, and the kinds of values that their keys take. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from oulipoly_engine.config.base.layers import Standing
from oulipoly_engine.config.base.problem import Fault, describe_value

OPTION = "x-option"  # in the JSON Schema of a key: the option of `agents` that stands above the file, for one start
REFUSED = "refused"  # the kind of the errors that `refusal` makes


class Table(BaseModel):
    """A table of a configuration file; nothing is converted, `"1"` is not a number."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", hide_input_in_errors=True)

    later: ClassVar[frozenset[str]] = frozenset()  # keys of newer configurations that have no effect here
    elsewhere: ClassVar[Mapping[str, str]] = MappingProxyType({})  # keys that the table of this name has in other files

    def refusals(self) -> Iterator[Fault]:
        """Find keys that do not fit together, their paths beginning here; only the first counts."""
        return iter(())

    @model_validator(mode="after")
    def _refuse(self) -> Self:
        for fault in self.refusals():
            raise refusal(fault.message, fault.fix, *fault.path)
        return self


def refusal(message: str, fix: str, *at: str | int) -> PydanticCustomError:
    """Return the error of a value that cannot be taken.

    at: the key within the value that is to blame; none: the value as a whole.
    """
    return PydanticCustomError(REFUSED, "{message}", {"message": message, "fix": fix, "at": at})


def find_nested_table(table: type[Table], key: str) -> type[Table] | None:
    """Return what a key's value, or each of its items, is a table of; None where it is none."""
    field = table.model_fields.get(key)
    return None if field is None else _table_in(field.annotation)


def _table_in(annotation: object) -> type[Table] | None:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next((found for part in get_args(annotation) if (found := _table_in(part)) is not None), None)


class OneOf:
    """Marks a text that must be one of a few words.

    notes: a sentence for each of them, in their order; none: they speak for themselves.
    """

    def __init__(self, *choices: str, notes: Sequence[str] = ()) -> None:
        self.choices = choices
        self.notes = tuple(notes)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check against the words; the error carries them."""
        return core_schema.custom_error_schema(
            core_schema.literal_schema(list(self.choices)),
            custom_error_type="one_of",
            custom_error_message="not one of the words",
            custom_error_context={"choices": list(self.choices)},
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Offer the words to editors."""
        words: dict[str, Any] = {"type": "string", "enum": list(self.choices)}
        # Where taplo looks for what to say of each (0.9, seen 2026-11).
        return {**words, "x-taplo": {"docs": {"enumValues": list(self.notes)}}} if self.notes else words


class InProject:
    """Marks a setting that a project's folder may have too.

    is_harmless: it holds unasked; else only once a person trusts the folder, since it spends, sends or permits more.
    """

    def __init__(self, *, is_harmless: bool = False) -> None:
        self.standing: Standing = "always" if is_harmless else "trusted"


class AlsoNamed:
    """Marks a setting that another program has as well, by an environment variable and a key of its own.

    Our own variable stands above that one. key: empty: it is the same word there, or there is none.
    """

    def __init__(self, variable: str, key: str = "") -> None:
        self.variable = variable
        self.key = key


class NameOf:
    """Marks a text that names something of the configuration, or of the app. what: "accounts", "models", "themes"."""

    def __init__(self, what: str) -> None:
        self.what = what


def make_whole_check(wanted: str) -> WrapValidator:
    """Return a check that refuses a value as a whole, saying what is wanted, whatever within it is wrong."""

    def read(value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError:
            raise refusal(f"it must be {wanted}, not {describe_value(value)}", "change it") from None

    return WrapValidator(read)


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise refusal("it holds a NUL character, which no program can be given", "remove it")
    return text


def _not_blank(text: str) -> str:
    if not _without_nul(text).strip():
        raise refusal("it is blank", "write something, or remove the entry")
    return text


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise refusal(f"{name!r} cannot be the name of a variable", "use letters, digits and _")
    return _without_nul(name)


Text = Annotated[str, AfterValidator(_without_nul)]  # what a program can be given
Filled = Annotated[str, AfterValidator(_not_blank)]
Variable = Annotated[str, AfterValidator(_variable)]  # the name of an environment variable
Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]
AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FromZero = Annotated[float, Field(ge=0, allow_inf_nan=False)]
