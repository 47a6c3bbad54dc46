"""A project's settings where they are JSON: read as one of TOML is, and changed key by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oulipoly_engine.config.base.problem import Level, Problem
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.config.toml.toml_file import TomlFile

SUFFIX = ".json"


def read(path: Path, raw: bytes | None = None) -> TomlFile:
    """Read a file, TOML or JSON by its name; a missing one is empty. raw: what was read of it already."""
    return toml_file.read(path, raw, parse)


def parse(path: Path, text: str) -> TomlFile:
    """Parse a text as the file at `path`."""
    if path.suffix != SUFFIX:
        return toml_file.parse(path, text)
    try:
        values = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        problem = Problem(Level.ERROR, path, line, "", f"the file is not valid JSON: {why}", "correct the text there")
        return TomlFile(path, failure=problem)
    if not isinstance(values, dict):
        return TomlFile(
            path, failure=Problem(Level.ERROR, path, None, "", "it is not a JSON object", "write {} around it")
        )
    return TomlFile(path, values, text)


def change(file: TomlFile, key: str, value: object) -> str:
    """Return the text of a file with another value for a key. value: None takes it away; nothing is left of no key."""
    values: dict[str, Any] = {**file.data, key: value}
    if value is None:
        del values[key]
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n" if values else ""
