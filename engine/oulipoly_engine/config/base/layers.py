"""Settings of a layer, and how layers come together. Pure.

| layer        | where it stands                                              |
|--------------|--------------------------------------------------------------|
| built-in     | the declaration                                              |
| global       | config.toml, app.toml                                        |
| project      | `.agent-runner/settings.json` or `.toml`, by trust           |
| environment  | `AGENT_RUNNER_KEY`, and the names that oxi has for some      |
| command line | `--set KEY=VALUE`                                            |

A later layer stands above an earlier one. Contract: conversation tree, section D.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from oulipoly_engine.config.base.problem import Problem
from oulipoly_engine.records import Record

LayerName = Literal["built-in", "global", "project", "environment", "command line"]
_ONLY_OWN = "it counts in your own files alone"
NOT_TRUSTED = "the folder is not trusted: `agents config trust` shows what it says, and asks"
ABOVE: tuple[LayerName, ...] = ("project", "environment", "command line")  # the user's own files
Standing = Literal["never", "trusted", "always"]  # whether a setting counts where a project has it


class Stated(Record):
    """A setting as a layer states it."""

    table: str  # the name of its table's class
    value: Any  # checked
    source: str  # "FILE:LINE", "$VARIABLE", "--set KEY"
    in_project: Standing = "never"


LayerValues = Mapping[str, Stated]  # by key


class Ignored(Record):
    """What a project says without effect."""

    key: str
    source: str
    why: str


class Layer(Record):
    """What a layer states, and what of it does not count."""

    name: LayerName
    values: LayerValues
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()


def choose_of_project(values: LayerValues, *, is_trusted: bool) -> tuple[LayerValues, tuple[Ignored, ...]]:
    """Return what counts of a project's settings, and why the others do not."""
    counting: dict[str, Stated] = {}
    ignored: list[Ignored] = []
    for key, stated in values.items():
        if stated.in_project == "always" or (is_trusted and stated.in_project == "trusted"):
            counting[key] = stated
        else:
            why = _ONLY_OWN if stated.in_project == "never" else NOT_TRUSTED
            ignored.append(Ignored(key, stated.source, why))
    return counting, tuple(ignored)
