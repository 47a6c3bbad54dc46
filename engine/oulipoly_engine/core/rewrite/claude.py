"""Edit a Claude Code transcript so that Claude Code can still resume it. Pure.

What it needs was tried with 2.1.50, 2.1.197 and 2.1.329 (2026-11): it follows `parentUuid` from the last leaf, so the
chain is closed over removed records; `last-prompt` names the leaf; an assistant record needs `message.model` (without
it 2.1.197 hangs for ever), a `message.id` of its own (without it the order is scrambled) and a list as its content.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from oulipoly_engine.core.rewrite.content import TEXT, Place, changes, new_blocks
from oulipoly_engine.core.rewrite.draft_lines import Draft
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, refuse
from oulipoly_engine.core.rewrite.steps import Kind, Step
from oulipoly_engine.core.text.json_splice import Path, to_json
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Origin, chunks
from oulipoly_engine.records import Record, field

_INHERITED = ("isSidechain", "agentId", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
_SYNTHETIC = "<synthetic>"  # the model of what no model said
_UNKNOWN_MODEL = "unknown"  # of an answer in a transcript that holds no other
_NEAR = 200  # turns to either side in which one of the same role is looked for
_USAGE = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}


def apply_steps(draft: Draft, steps: Sequence[Step], origin: Origin) -> bytes:
    """Carry out the steps and return the transcript. Raises ReplacementInvalid for what cannot be expressed."""
    tree = _Tree.of(draft)
    for step in steps:
        if step.kind is Kind.REMOVED:
            _remove(draft, tree, step)
        elif step.kind is Kind.CHANGED:
            _change(draft, step)
    for place, run in _runs(steps):
        follower = next((step.old for step in steps[place + len(run) :] if step.new is not None and step.old), None)
        _add(draft, tree, steps, place, run, follower, origin)
    tree.write(draft)
    return draft.data()


def _remove(draft: Draft, tree: _Tree, step: Step) -> None:
    assert step.old is not None  # noqa: S101 - a removed entry was there
    if step.old.restarts:
        refuse(
            0, f"turn {step.entry_id} is the summary of a compaction: without it all that it sums up would come back"
        )
    number = step.old.source.line
    draft.remove(number)
    tree.remove(number)


def _change(draft: Draft, step: Step) -> None:
    assert step.old is not None  # noqa: S101 - a changed entry has both sides
    assert step.new is not None  # noqa: S101
    number = step.old.source.line
    text = draft.text(number)
    values: dict[Path, str] = {}
    if step.new.timestamp != step.old.timestamp:
        values[("timestamp",)] = to_json(step.new.timestamp)
    if step.new.content != step.old.content:
        values |= changes(text, _place(json.loads(text), step.new), step.new, _block)
    draft.change(number, values)


def _place(data: dict[str, Any], wanted: ReplacementRecord) -> Place:
    """Return where the content stands that an export shows: the first place that is not empty."""
    message = data.get("message")
    places = [Place(("message",), message)] if isinstance(message, str) else []
    if isinstance(message, dict) and "content" in message:
        places.append(Place(("message", "content"), message["content"]))
    if "content" in data:
        places.append(Place(("content",), data["content"]))
    shown = next((place for place in places if chunks(place.value)), None)
    if shown is None and not places:
        refuse(wanted.line, f"turn {wanted.entry_id} has no content in the transcript that could be changed")
    return shown or places[0]


def _block(text: str) -> dict[str, object]:
    return {"type": TEXT, "text": text}


def _runs(steps: Sequence[Step]) -> Iterator[tuple[int, list[Step]]]:
    """Yield (place, steps) of added turns that stand next to one another."""
    run: list[Step] = []
    for place, step in enumerate(steps):
        if step.kind is Kind.ADDED:
            run.append(step)
        elif run:
            yield place - len(run), run
            run = []
    if run:
        yield len(steps) - len(run), run


def _add(
    draft: Draft,
    tree: _Tree,
    steps: Sequence[Step],
    place: int,
    run: Sequence[Step],
    follower: CanonicalRecord | None,
    origin: Origin,
) -> None:
    """Put new entries before the record that follows them, or behind the last one, and link them into the chain."""
    if follower is not None and follower.restarts:
        refuse(run[0].new.line if run[0].new else 0, "nothing can be added before the summary of a compaction")
    line = None if follower is None else follower.source.line
    is_main = tree.is_main(line)
    parent, before = tree.link(line, [step.entry_id for step in run])
    for step in run:
        assert step.new is not None  # noqa: S101 - an added entry is wanted
        near = _nearest(draft, steps, place, step.role, is_main=is_main)
        draft.insert(before, _record(step.new, parent, near, origin))
        parent = step.entry_id


def _nearest(draft: Draft, steps: Sequence[Step], place: int, role: str, *, is_main: bool) -> dict[str, Any]:
    """Return the native record of the entry next to a place, of the same role if there is one; else an empty one.

    is_main: pass over sub-agent sessions.
    """
    order = chain(range(place - 1, -1, -1), range(place, len(steps)))
    entries = (old for old in (steps[at].old for at in order) if old is not None and not old.is_unsupported)
    natives = ((entry.role, json.loads(draft.text(entry.source.line))) for entry in entries)
    fitting = ((own, native) for own, native in natives if not is_main or native.get("isSidechain") is not True)
    nearest: dict[str, Any] = {}
    for own, native in islice(fitting, _NEAR):
        if own == role and (role != "assistant" or _model(native) not in (None, _SYNTHETIC)):
            return dict(native)
        nearest = nearest or native
    return nearest


def _model(data: dict[str, Any]) -> str | None:
    message = data.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    return model if isinstance(model, str) else None


def _record(wanted: ReplacementRecord, parent: str | None, near: dict[str, Any], origin: Origin) -> dict[str, object]:
    blocks = new_blocks(wanted, _block)
    inherited = {key: near[key] for key in _INHERITED if key in near}
    message: dict[str, object] = {"role": wanted.role, "content": blocks}
    if wanted.role == "assistant":
        digest = hashlib.sha256(wanted.entry_id.encode("utf-8", "surrogatepass")).hexdigest()
        message = {
            "id": f"msg_{digest[:24]}",
            "type": "message",
            "role": "assistant",
            "model": _model(near) or _UNKNOWN_MODEL,
            "content": blocks,
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": _USAGE,
        }
    elif len(blocks) == 1 and blocks[0]["text"]:
        message["content"] = blocks[0]["text"]  # as a typed prompt is kept
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": wanted.role,
        "message": message,
        "uuid": wanted.entry_id,
        "timestamp": wanted.timestamp,
        **inherited,
        "sessionId": near.get("sessionId", origin.session_id),
    }


class _Node(Record, frozen=False):
    """What links one line to others."""

    uuid: str | None
    parent: str | None
    has_parent: bool  # the key is there, null or not
    logical: str | None
    leaf: str | None  # of a last-prompt
    is_sidechain: bool
    new_parent: str | None = None
    new_leaf: str | None = None


class _Tree(Record, frozen=False):
    """The parent chain of a transcript."""

    nodes: dict[int, _Node]
    removed: dict[str, str | None] = field(default_factory=dict)  # uuid -> its parent
    children: dict[str, list[int]] = field(default_factory=dict)
    twins: frozenset[str] = frozenset()  # uuids that several lines have: children of one are children of the other

    @classmethod
    def of(cls, draft: Draft) -> _Tree:
        """Read the links of every line."""
        nodes = {number: _node(data) for number, data in draft.documents()}
        uuids = [node.uuid for node in nodes.values() if node.uuid is not None]
        tree = cls(nodes, twins=frozenset(uuid for uuid, times in Counter(uuids).items() if times > 1))
        for number, node in nodes.items():
            if node.new_parent is not None:
                tree.children.setdefault(node.new_parent, []).append(number)
        return tree

    def remove(self, number: int) -> None:
        """Take a record out of the chain: its children become its parent's."""
        node = self.nodes.pop(number)
        if node.uuid is None or node.uuid in self.twins:
            return
        self.removed[node.uuid] = node.new_parent
        for child in self.children.pop(node.uuid, []):
            if child in self.nodes and self.nodes[child].new_parent == node.uuid:
                self._move(child, node.new_parent)

    def is_main(self, follower: int | None) -> bool:
        """Tell whether new records before a line, or behind the last, belong to the main chain."""
        if follower is not None:
            return not self.nodes[follower].is_sidechain
        return any(node.uuid is not None and not node.is_sidechain for node in self.nodes.values())

    def link(self, follower: int | None, uuids: Sequence[str]) -> tuple[str | None, int]:
        """Make room for new records and return (parent of the first, number of the line before which they go)."""
        if follower is None:
            return self._append(uuids[-1])
        node = self.nodes[follower]
        if not node.has_parent:  # a transcript without a chain keeps none
            before = [one.uuid for number, one in self.nodes.items() if number < follower and one.uuid is not None]
            return (before[-1] if before else None), follower
        parent = node.new_parent
        known = self.children.get(parent, []) if parent is not None else []
        later = [
            child
            for child in known
            if child > follower and child in self.nodes and self.nodes[child].new_parent == parent
        ]
        for child in [follower, *later]:
            self._move(child, uuids[-1])
        return parent, follower

    def write(self, draft: Draft) -> None:
        """Put the new links into the lines that have others."""
        for number, node in self.nodes.items():
            values: dict[Path, str] = {}
            if node.new_parent != node.parent:
                values[("parentUuid",)] = to_json(node.new_parent)
            if self._alive(node.new_leaf) != node.leaf:
                values[("leafUuid",)] = to_json(self._alive(node.new_leaf))
            if self._alive(node.logical) != node.logical:
                values[("logicalParentUuid",)] = to_json(self._alive(node.logical))
            draft.change(number, values)

    def _append(self, last: str) -> tuple[str | None, int]:
        named = [(number, node) for number, node in self.nodes.items() if node.uuid is not None]
        main = [node for _, node in named if not node.is_sidechain] or [node for _, node in named]
        prompts = [node for node in self.nodes.values() if node.leaf is not None]
        if prompts:
            prompts[-1].new_leaf = last
        if not main:
            return None, max(self.nodes, default=0) + 1
        return main[-1].uuid, named[-1][0] + 1  # as the CLI goes on behind a sub-agent session

    def _move(self, child: int, parent: str | None) -> None:
        self.nodes[child].new_parent = parent
        if parent is not None:
            self.children.setdefault(parent, []).append(child)

    def _alive(self, uuid: str | None) -> str | None:
        while uuid is not None and uuid in self.removed:
            uuid = self.removed[uuid]
        return uuid


def _node(data: dict[str, Any]) -> _Node:
    parent, leaf = _text(data.get("parentUuid")), _text(data.get("leafUuid"))
    return _Node(
        _text(data.get("uuid")),
        parent,
        "parentUuid" in data,
        _text(data.get("logicalParentUuid")),
        leaf,
        data.get("isSidechain") is True,
        parent,
        leaf,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def active_entries(lines: Sequence[dict[str, Any]]) -> frozenset[str]:
    """Return the uuids on the chain that Claude Code follows from the last leaf.

    lines: the transcript's objects in their order.
    """
    parents = {data["uuid"]: data.get("parentUuid") for data in lines if isinstance(data.get("uuid"), str)}
    main = [data["uuid"] for data in lines if data.get("uuid") in parents and data.get("isSidechain") is not True]
    found: set[str] = set()
    here = main[-1] if main else None
    while isinstance(here, str) and here not in found and here in parents:
        found.add(here)
        here = parents[here]
    return frozenset(found)
