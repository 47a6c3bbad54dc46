"""What a model may do in the set-up (agent-runner section 13, "Turn result"). Pure."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from oulipoly_engine.core.setup.dialogs import LONG, SHORT, AnyDialog, check_dialog
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record, field

LONGEST_FILE = 200_000  # characters that a file is given
_LONGEST_DATA = 20_000  # characters of JSON
_MOST_ARGUMENTS = 50
_MOST_ITEMS = 100


class Action(Record):
    """Something that a model asks for."""


class StatusAction(Action, tag_field="type", tag="status"):
    """Say something."""

    message: str


class RunCommand(Action, tag_field="type", tag="run_command"):
    """Run a program of the list, once the person agrees."""

    command: str
    args: tuple[str, ...] = ()
    description: str = ""


class WriteConfig(Action, tag_field="type", tag="write_config"):
    """Write a file below one of the two folders, once the person agrees."""

    path: str
    content: str
    description: str = ""


class TestIntegration(Action, tag_field="type", tag="test_integration"):
    """Send a model's pool a prompt of one word. `command` and `args` are of older replies and count for nothing."""

    __test__ = False  # no class of tests

    model_name: str
    command: str = ""
    args: tuple[str, ...] = ()


class AskUser(Action, tag_field="type", tag="ask_user"):
    """Ask the person."""

    action: AnyDialog


class SyncSkill(Action, tag_field="type", tag="sync_skill"):
    """Copy a skill from one CLI to another, once the person agrees."""

    source_cli: str
    target_cli: str
    skill_name: str


class SyncMcp(Action, tag_field="type", tag="sync_mcp"):
    """Copy an MCP server from one CLI to another, once the person agrees."""

    source_cli: str
    target_cli: str
    mcp_name: str
    config: str = ""  # JSON; "": the source's own entry


class Edge(Record):
    """From a node of the memory to another."""

    target_label: str
    edge_type: str


class UpdateMemory(Action, tag_field="type", tag="update_memory"):
    """Keep something for the next set-up."""

    node_type: str
    label: str
    data: dict[str, Any] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()


class CompleteAction(Action, tag_field="type", tag="complete"):
    """End the set-up: everything is done."""

    summary: str
    items: tuple[str, ...] = ()


AnyAction = (
    StatusAction
    | RunCommand
    | WriteConfig
    | TestIntegration
    | AskUser
    | SyncSkill
    | SyncMcp
    | UpdateMemory
    | CompleteAction
)


def kind_of(action: AnyAction) -> str:
    """Return what an action is called in JSON."""
    return str(msgspec.to_builtins(action)["type"])


def check_action(action: AnyAction) -> None:
    """Refuse what is longer than anybody would read. Raises RequestRefused."""
    match action:
        case AskUser():
            check_dialog(action.action)
        case RunCommand():
            _require(len(action.args) <= _MOST_ARGUMENTS, f"a command has at most {_MOST_ARGUMENTS} arguments")
            _check_texts(LONG, action.command, action.description, *action.args)
        case WriteConfig():
            _check_texts(LONG, action.path, action.description)
            _check_texts(LONGEST_FILE, action.content)
        case StatusAction():
            _check_texts(LONG, action.message)
        case TestIntegration():
            _check_texts(SHORT, action.model_name)
        case SyncSkill():
            _check_texts(SHORT, action.source_cli, action.target_cli, action.skill_name)
        case SyncMcp():
            _check_texts(SHORT, action.source_cli, action.target_cli, action.mcp_name)
            _check_texts(_LONGEST_DATA, action.config)
        case UpdateMemory():
            _check_texts(SHORT, action.node_type, action.label)
            _check_texts(SHORT, *(text for edge in action.edges for text in (edge.target_label, edge.edge_type)))
            _check_texts(_LONGEST_DATA, json.dumps(action.data, ensure_ascii=False))
        case CompleteAction():
            _check_texts(LONG, action.summary, *action.items[:_MOST_ITEMS])
            _require(len(action.items) <= _MOST_ITEMS, f"it names at most {_MOST_ITEMS} items")


def _check_texts(longest: int, *texts: str) -> None:
    for text in texts:
        _require(len(text) <= longest, f"a text has {len(text)} characters, and {longest} are the most")
        _require(not any("\ud800" <= sign <= "\udfff" for sign in text), "a text is not Unicode")


def _require(is_so: bool, text: str) -> None:
    if not is_so:
        raise RequestRefused(text)
