"""The JSON Schema of every configuration file, for editors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from oulipoly_engine.config.schema.accounts import AccountTable
from oulipoly_engine.config.schema.agents import AgentKeys
from oulipoly_engine.config.schema.app import AppTable, CommandTable, ThemeTable, ViewTable
from oulipoly_engine.config.schema.models import ModelTable
from oulipoly_engine.config.schema.rules import list_rules
from oulipoly_engine.config.schema.runtimes import RuntimeTable
from oulipoly_engine.config.schema.settings import PriceTable, ScriptsTable, SettingsTable

_DIALECT = "http://json-schema.org/draft-07/schema#"  # the newest that taplo reads (0.9, seen 2026-11)
_SHAPES: Mapping[str, tuple[str, Any]] = {
    "providers": ("providers.toml: the accounts", dict[str, AccountTable]),
    "model": ("models/*.toml: the pools", ModelTable),
    "config": ("config.toml: what holds for every run", SettingsTable),
    "sessions": ("sessions.toml: where the CLIs keep their sessions", dict[str, ScriptsTable]),
    "app": ("app.toml: the full-screen app", AppTable),
    "project": (".agent-runner/settings.toml: what a project's folder may say of both", None),
    "theme": ("themes/*.toml: themes of your own", ThemeTable),
    "prices": ("prices.toml: what models cost", dict[str, PriceTable]),
    "agent": ("agents/*.md: the keys between the `---` lines", AgentKeys),
}
FILES: Mapping[str, str] = {name: title for name, (title, _) in _SHAPES.items()}  # what each file is, by its name


def json_schema(file: str) -> dict[str, Any]:
    """Return the JSON Schema of one of FILES."""
    title, shape = _SHAPES[file]
    if shape is None:
        return {"$schema": _DIALECT, **_merge_of_project(), "title": title}
    document = TypeAdapter(shape).json_schema(schema_generator=_Generator)
    if (
        shape is AppTable
    ):  # its views and commands are looked at one by one, so that the table itself knows nothing of them
        view = ViewTable.model_json_schema(schema_generator=_Generator)
        document["properties"]["views"]["additionalProperties"] = view
        command = CommandTable.model_json_schema(schema_generator=_Generator)
        document["properties"]["commands"]["items"] = command
    if shape is SettingsTable:  # so are its runtimes
        runtime = RuntimeTable.model_json_schema(schema_generator=_Generator)
        document["properties"]["runtimes"]["additionalProperties"] = runtime
    return {"$schema": _DIALECT, **document, "title": title}


def _merge_of_project() -> dict[str, Any]:
    """Return the shape of the settings that a project may have, trusted or not."""
    properties: dict[str, Any] = {}
    for table in (SettingsTable, AppTable):
        known = TypeAdapter(table).json_schema(schema_generator=_Generator)["properties"]
        properties |= {rule.name: known[rule.name] for rule in list_rules(table) if rule.in_project != "never"}
    return {"type": "object", "properties": properties}


class _Generator(GenerateJsonSchema):
    """Says what pydantic would say without what no file can hold: TOML has no null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Leave the null out."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Leave a default of null out."""
        found = super().default_schema(schema)
        return {key: value for key, value in found.items() if key != "default" or value is not None}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Leave our own names of the tables out."""
        return {key: value for key, value in super().model_schema(schema).items() if key != "title"}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - one of pydantic's many
        """Say each key's name once."""
        return False
