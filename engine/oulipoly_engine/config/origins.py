"""Where each setting comes from: what holds, which layer says it, at which place, and what it stands above."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config import app_file, extension_files, prompt_files
from oulipoly_engine.config.base import mask
from oulipoly_engine.config.base.layers import Ignored, Layer, LayerName, Stated
from oulipoly_engine.config.base.problem import Level, Problem
from oulipoly_engine.config.layers import read_above
from oulipoly_engine.config.schema.app import AppTable
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.schema.fields import Table
from oulipoly_engine.config.schema.rules import Rule, list_rules
from oulipoly_engine.config.schema.settings import SettingsTable
from oulipoly_engine.config.toml import toml_file, toml_lines
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record


class Statement(Record):
    """A value of a setting in one layer."""

    layer: LayerName
    value: Any
    source: str  # "FILE:LINE", "$VARIABLE", "--set KEY"; empty: built-in


class Origin(Record):
    """A setting: what holds, and what that stands above, the highest first."""

    key: str
    holds: Statement
    shadowed: tuple[Statement, ...] = ()


class Origins(Record):
    """All settings of config.toml and app.toml but their tables."""

    settings: tuple[Origin, ...]
    ignored: tuple[Ignored, ...]
    problems: tuple[Problem, ...]


def read_origins(paths: Paths) -> Origins:
    """Return where each setting comes from, secrets masked."""
    layers = tuple(read_above(paths))
    problems = [problem for layer in layers for problem in layer.problems]
    settings: list[Origin] = []
    for path, table in ((paths.settings, SettingsTable), (app_file.path_of(paths), AppTable)):
        stated, wrong = _read_global(path, table)
        problems += wrong
        settings += (_origin(rule, (Layer("global", stated), *layers)) for rule in list_rules(table))
    ignored = (
        *(each for layer in layers for each in layer.ignored),
        *prompt_files.list_ignored(paths),
        *extension_files.list_ignored(paths),
    )
    return Origins(tuple(settings), ignored, tuple(problems))


def _read_global(path: Path, table: type[Table]) -> tuple[Mapping[str, Stated], tuple[Problem, ...]]:
    """Return what a file of the user's own states. Of config.toml with an error nothing counts."""
    file = toml_file.read(path)
    if file.failure is not None:
        return {}, (file.failure,)
    checked, faults = check(table, file.data)
    problems = file.problems(faults)
    wrong = {fault.path[0] for fault in faults if fault.path and fault.level is Level.ERROR}
    if checked is None and table is AppTable:
        checked, _ = check(table, {key: value for key, value in file.data.items() if key not in wrong})
    if checked is None:
        return {}, problems
    lines = toml_lines.index(file.text)
    stated = {
        key: Stated(table.__name__, getattr(checked, key), f"{path}:{toml_lines.line_of(lines, (key,)) or 1}")
        for key in checked.model_fields_set
    }
    return stated, problems


def _origin(rule: Rule, layers: tuple[Layer, ...]) -> Origin:
    holds, *shadowed = _statements(rule, layers)
    return Origin(rule.name, holds, tuple(shadowed))


def _statements(rule: Rule, layers: tuple[Layer, ...]) -> Iterator[Statement]:
    """Yield what the layers say of a setting, the highest first, and what is built in."""
    for layer in reversed(layers):
        if (stated := layer.values.get(rule.name)) is not None:
            value = mask.text(stated.value) if isinstance(stated.value, str) else stated.value
            yield Statement(layer.name, value, stated.source)
    yield Statement("built-in", rule.default, "")
