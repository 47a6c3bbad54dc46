"""Settings of a layer above the user's own files: a project's file, the environment, `--set`. Each stands for itself.

A slip in one of them costs that one: what stands below it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine import variables
from oulipoly_engine.config.base.layers import YES_OR_NO, LayerValues, Stated
from oulipoly_engine.config.base.problem import Fault, Level, Loaded, Problem, describe_value
from oulipoly_engine.config.schema.app import AppTable
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.schema.fields import Table
from oulipoly_engine.config.schema.rules import Rule, list_rules
from oulipoly_engine.config.schema.settings import SettingsTable
from oulipoly_engine.config.toml import json_file, toml_file, toml_lines
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.records import replace

_VERSION = 2  # of oxi's settings, whose files say it; ours need not


def parse_project(path: Path, raw: bytes | None) -> Loaded[LayerValues]:
    """Return the settings of a project's file, TOML or JSON by its name, and what is wrong with others of it."""
    file = json_file.read(path, raw)
    if file.failure is not None:
        return Loaded({}, (replace(file.failure, level=Level.WARNING),))
    version = file.data.get("version", _VERSION)
    if type(version) is not int or version > _VERSION:
        message = f"{describe_value(version)} is not a version of it that this program knows: the newest is {_VERSION}"
        fix = "update the program, or take `version` out where the rest is right"
        return Loaded({}, file.problems([Fault(("version",), message, fix, Level.WARNING)]))
    lines = {} if path.suffix == ".json" else toml_lines.index(file.text)
    values: dict[str, Stated] = {}
    faults: list[Fault] = []
    for key, value in file.data.items():
        if key == "version":
            continue
        if version == 0 and (key, value) == ("tool_timeout_seconds", 0):
            continue  # as oxi writes what was not set
        known, wrong = _check(key, [value])
        faults += wrong
        if known is not None:
            table, rule, value = known
            line = toml_lines.line_of(lines, (key,))
            source = str(path) if line is None else f"{path}:{line}"
            values[key] = Stated(table, value, source, rule.in_project)
    warnings = (replace(fault, level=Level.WARNING) for fault in faults)
    return Loaded(values, file.problems(warnings))


def parse_texts(texts: Mapping[str, str], source: str) -> Loaded[LayerValues]:
    """Return the settings that somebody has given as texts, by key. source: of them, before the key."""
    values: dict[str, Stated] = {}
    problems: list[Problem] = []
    for key, text in texts.items():
        known, wrong = _check(key, _readings(text))
        problems += (Problem(Level.WARNING, Path(f"{source}{key}"), None, "", each.message, each.fix) for each in wrong)
        if known is not None:
            table, rule, value = known
            values[key] = Stated(table, value, f"{source}{key}", rule.in_project)
    return Loaded(values, tuple(problems))


_ELSE_OFF = ("telemetry",)  # nobody is counted whose variable says anything but yes


def parse_environment(environment: Mapping[str, str]) -> Loaded[LayerValues]:
    """Return the settings that variables give; our own name of one stands above another program's."""
    values: dict[str, Stated] = {}
    problems: list[Problem] = []
    for _, rule in _all_rules():
        names = [name for name in variable_names(rule) if name in environment]
        for name in names[:1]:
            loaded = parse_texts({rule.name: environment[name]}, "")
            if rule.name in _ELSE_OFF and not loaded.value:
                problems_told = loaded.problems if environment[name] else ()
                loaded = Loaded(parse_texts({rule.name: "false"}, "").value, problems_told)
            problems += (replace(problem, file=Path(f"${name}")) for problem in loaded.problems)
            values |= {key: replace(stated, source=f"${name}") for key, stated in loaded.value.items()}
    return Loaded(values, (*problems, *_unknown_variables(environment)))


def _unknown_variables(environment: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the variables that are nearly called like a setting; what else begins so is somebody else's."""
    keys = [rule.name for _, rule in _all_rules()]
    for name in environment:
        key = name.removeprefix(variables.SETTING).lower()
        if name.startswith(variables.SETTING) and key not in keys and (near := nearest(key, keys)):
            wanted = f"{variables.SETTING}{near[0].upper()}"
            message = f"there is no setting of this name (did you mean {wanted}?)"
            yield Problem(Level.WARNING, Path(f"${name}"), None, "", message, f"rename it to {wanted}")


def variable_names(rule: Rule) -> tuple[str, ...]:
    """Return the environment variables of a setting; the first that is set counts."""
    return f"{variables.SETTING}{rule.name.upper()}", *rule.variables


def _all_rules() -> Iterator[tuple[type[Table], Rule]]:
    for table in (SettingsTable, AppTable):
        for rule in list_rules(table):
            yield table, rule


def _check(key: str, readings: Iterable[object]) -> tuple[tuple[str, Rule, Any] | None, tuple[Fault, ...]]:
    """Return a key's table, its rule and the first reading that it takes; None: it takes none, for these faults."""
    known = {rule.name: (table, rule) for table, rule in _all_rules()}
    if key not in known:
        near = nearest(key, known)
        fix = f"write {near[0]}" if near else "`agents config show --origin` lists those that there are"
        return None, (Fault((key,), f"there is no setting {key!r}", fix),)
    table, rule = known[key]
    wrong: list[tuple[Fault, ...]] = []
    for value in readings:
        checked, faults = check(table, {key: value})
        if checked is not None:
            return (table.__name__, rule, getattr(checked, key)), ()
        wrong.append(faults)
    return None, wrong[-1 if rule.kind == "list" else 0]


def _readings(text: str) -> Iterator[object]:
    """Yield what a text may mean: itself, a word for yes or no, TOML, or texts between commas."""
    yield text
    word = text.strip().lower()
    yield word
    if word in YES_OR_NO:
        yield YES_OR_NO[word]
    read = toml_file.parse(Path(), f"value = {text}").data
    yield read.get("value", [part.strip() for part in text.split(",") if part.strip()])
