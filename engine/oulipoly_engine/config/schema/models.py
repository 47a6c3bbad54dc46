"""models/*.toml: what a pool's file holds. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import ConfigDict, Field

from oulipoly_engine.config.base.problem import Fault
from oulipoly_engine.config.schema.fields import Count, Filled, NameOf, Number, OneOf, Table, Text, make_whole_check

Scalar = str | bool | int | float


class MemberTable(Table):
    """One `[[providers]]` entry of a model."""

    name: Annotated[Filled, NameOf("accounts")] = Field(description="An account of providers.toml.")
    args: list[Text] = Field([], description="The model's own arguments, behind the account's.")
    interactive_args: Annotated[list[Text], Field(min_length=1)] | None = Field(
        None, description="The model's own arguments of an interactive start, where they are not its `args`."
    )


class InputTable(Table):
    """One `[[inputs]]` entry of a model: what `-i NAME=VALUE` may say."""

    name: Filled = Field(description="The NAME of `-i NAME=VALUE`.")
    type: Annotated[str, OneOf("string", "integer", "number", "boolean", "enum", "array")] = Field(
        description="What its values are."
    )
    flag: Filled | None = Field(None, description="The CLI's flag for it; without one, `--NAME`.")
    required: bool = Field(False, description="Whether a run without it is refused.")
    default_input: bool = Field(False, description="Whether the prompt counts as this input.")
    default: (
        Annotated[Scalar | list[Scalar], make_whole_check("a text, a number, a boolean or a list of these")] | None
    ) = Field(None, description="The value where none is given.")
    description: str = Field("", description="What it is for.")
    options: list[str] | None = Field(None, description="enum: the words that it may be.")
    min: Number | None = Field(None, description="The least number.")
    max: Number | None = Field(None, description="The greatest number.")
    item_type: Annotated[str, OneOf("string", "integer", "number", "boolean", "enum")] = Field(
        "string", description="array: what its items are."
    )
    min_items: Count | None = Field(None, description="array: the least number of items.")
    max_items: Count | None = Field(None, description="array: the greatest number of items.")

    def refusals(self) -> Iterator[Fault]:
        """Find an enum without options."""
        if "enum" in (self.type, self.item_type) and not self.options:
            yield Fault(("options",), f"the enum input {self.name!r} has no options", "add `options = [...]`")


class ReferenceTable(Table):
    """`provider = {...}` of a model: recorded, never acted on."""

    model_config = ConfigDict(extra="forbid")

    path: Filled | None = Field(None, description="A folder with its source.")
    crate: Filled | None = Field(None, description="A Rust crate.")
    version: Filled | None = Field(None, description="The crate's version.")
    binary: Filled | None = Field(None, description="A program.")
    script: Filled | None = Field(None, description="A script.")

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
    """A model's file: the accounts that can serve it, and the inputs that it takes."""

    providers: Annotated[list[MemberTable], Field(min_length=1)] = Field(description="The accounts of the pool.")
    inputs: list[InputTable] = Field([], description="The inputs that the model takes.")
    provider: ReferenceTable | None = Field(None, description="Where the model comes from; recorded only.")
    sticky: bool = Field(False, description="Whether runs stay on one account until it is exhausted.")

    def refusals(self) -> Iterator[Fault]:
        """Find more than one default input."""
        takers = [entry.name for entry in self.inputs if entry.default_input]
        if len(takers) > 1:
            message = f"{len(takers)} inputs are the default input: {', '.join(takers)}"
            yield Fault(("inputs",), message, "keep `default_input = true` at one of them")
