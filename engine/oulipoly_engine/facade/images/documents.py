"""What is known of images: the documents of `--json` and REST, and lines to read. Secrets are taken out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.records import asdict

if TYPE_CHECKING:
    from oulipoly_engine.core.images.changes import Change
    from oulipoly_engine.core.images.info import ImageInfo
    from oulipoly_engine.core.images.materials import Material
    from oulipoly_engine.core.images.provenance import Provenance
    from oulipoly_engine.facade.images.images import AgentImage

_LONGEST_PATH = 120  # characters
_SHOWN_LINES = 40  # of one text that differs


def image_json(info: ImageInfo, image: AgentImage | None = None) -> dict[str, Any]:
    """Return what is known of an image as scripts get it. image: None: it is not an agent's."""
    return asdict(info) | ({} if image is None else _agent_json(image))


def materials_json(info: ImageInfo, materials: Sequence[Material]) -> dict[str, Any]:
    """Return the bill of materials of an agent as CycloneDX has it."""
    from oulipoly_engine.core.images.materials import describe_materials  # noqa: PLC0415 - few ask

    document: dict[str, Any] = _redact_all(describe_materials(info, materials))
    return document


def provenance_json(said: Provenance) -> dict[str, Any]:
    """Return what is said of where an image was built as scripts get it."""
    return {
        key: _redact_all(value) for key, value in {**asdict(said.source), **asdict(said)}.items() if key != "source"
    }


def provenance_line(said: Provenance) -> str:
    """Say where an image was built, and who says so."""
    source = said.source
    place = f"commit {source.commit[:12]}" if source.commit else f"a source of {source.digest[:19]}"
    changes = " and changes that are not in it" if source.is_dirty else ""
    path = f" ({source.path[:_LONGEST_PATH]})" if source.path else ""
    who = f"signed by {', '.join(key[:16] for key in said.signers)}" if said.signers else "which nobody has signed"
    return plain(redact(f"built from {place}{changes}{path} by agent-runner {said.builder[:20]}, {who}"))


def _agent_json(image: AgentImage) -> dict[str, Any]:
    layers = [
        {"part": part, "digest": layer.digest, "size": layer.size, "media_type": layer.media_type}
        for part, layer in image.layers.items()
    ]
    return {
        "agent": _redact_all(asdict(image.agentfile.agent)),
        "origins": dict(image.agentfile.origins),
        "layers": layers,
    }


def _redact_all(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a document whose texts hold no secrets: an image may come from anybody, and its ENV hold anything."""
    match value:
        case str():
            return redact(value)
        case dict():
            return {key: _redact_all(each) for key, each in value.items()}
        case list() | tuple():
            return [_redact_all(each) for each in value]
    return value


def describe_parts(image: AgentImage) -> list[tuple[str, str, str]]:
    """Return the parts of an agent as they count, without secrets: each, what it says, and where it stands."""
    agent = image.agentfile.agent
    rows = [("from", agent.base), ("runtime", agent.runtime), ("model", agent.model), ("exec", " ".join(agent.exec))]
    rows += [(f"context {each.name}", each.description or each.file or "its text") for each in agent.contexts]
    rows += [(f"config {each.key}", "required" if each.value is None else str(each.value)) for each in agent.configs]
    rows += [(f"bin {each.name}", each.image) for each in agent.bins]
    rows += [(f"add {each.name}", each.description or each.src) for each in agent.adds]
    rows += [(f"env {each.key}", each.value) for each in agent.envs]
    rows += [(f"capability {each}", "granted") for each in agent.capabilities]
    rows += [(f"label {key}", value) for key, value in agent.labels.items()]
    origins = image.agentfile.origins
    return [(f"  {key}", redact(text), origins.get(key, "")) for key, text in rows if text]


def comparison_json(before: AgentImage, after: AgentImage, changes: Sequence[Change]) -> dict[str, Any]:
    """Return what differs between two agents as scripts get it."""
    return {
        "before": {"ref": str(before.reference), "digest": before.entry.digest},
        "after": {"ref": str(after.reference), "digest": after.entry.digest},
        "changes": [change_json(change) for change in changes],
        "is_weighty": any(change.is_weighty for change in changes),
    }


def change_json(change: Change) -> dict[str, Any]:
    """Return a change as scripts get it, without secrets."""
    before, after = (None if text is None else redact(text) for text in (change.before, change.after))
    lines = [redact(line) for line in change.lines]
    return {"part": change.part, "name": change.name, "before": before, "after": after, "lines": lines}


def change_lines(changes: Sequence[Change]) -> list[str]:
    """Return changes for a person, without secrets."""
    lines = []
    for change in changes:
        values = [plain(redact(text)) for text in (change.before, change.after) if text is not None]
        lines.append(f"{change.sign} {change.part}  {plain(change.name)}  {' -> '.join(values)}")
        lines += [f"    {plain(redact(line))}" for line in change.lines[:_SHOWN_LINES]]
        if len(change.lines) > _SHOWN_LINES:
            lines.append(f"    and {len(change.lines) - _SHOWN_LINES} more lines")
    return lines
