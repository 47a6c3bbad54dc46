"""What is told of an image, and what an agent may reach by its own word. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.images.agentfile import Agent
from oulipoly_engine.core.images.manifest import CREATED, Descriptor, Manifest
from oulipoly_engine.records import Record

# Labels of an Agentfile, which has no directive for either: lists with commas.
NETWORK_LABEL = "io.oulipoly.network"  # HOST:PORT that the agent wants to reach
MOUNTS_LABEL = "io.oulipoly.mounts"  # TARGET[:ro|:rw] that it wants a folder of the user's at
BIN_KEYS = ("io.openotters.bin", "vnd.openotters.bin")  # written, and once written
_DESCRIPTION = ("org.opencontainers.image.description", "description")
_SOURCE = ("org.opencontainers.image.source", "source")


class ImageInfo(Record):
    """One image of a store."""

    ref: str  # NAME:TAG; of one that has lost its tag NAME@DIGEST
    digest: str
    media_type: str  # what it is an image of
    size: int  # bytes, with everything that it leads to
    created_unix: int  # seconds; 0: unknown
    description: str
    source: str
    labels: Mapping[str, str]  # of a container image's config
    annotations: Mapping[str, str]


def describe_image(
    ref: str,
    entry: Descriptor,
    manifest: Manifest,
    *,
    children: Mapping[str, int] = {},
    config: bytes = b"",
    stored_at: float = 0,
) -> ImageInfo:
    """Return what is told of an image.

    children: the sizes of an index's manifests with all that they lead to, by digest, as far as they are there.
    config: of a container image. stored_at: seconds since 1970, for one that says no time.
    """
    if manifest.manifests is not None:
        size = entry.size + sum(children.get(each.digest, each.size) for each in manifest.manifests)
    else:
        size = entry.size + sum(each.size for each in manifest.blobs)
    annotations = manifest.annotations
    created = annotations.get(CREATED, "")
    return ImageInfo(
        ref,
        entry.digest,
        manifest.kind or entry.artifact_type,
        size,
        _unix(created) or int(stored_at),
        _first(annotations, _DESCRIPTION),
        _first(annotations, _SOURCE),
        _labels(config),
        dict(annotations),
    )


def _first(annotations: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((annotations[key] for key in keys if annotations.get(key)), "")


def _unix(text: str) -> int:
    try:
        return int(from_text(text).timestamp())
    except ValueError:
        return 0


def _labels(config: bytes) -> Mapping[str, str]:
    try:
        labels: Any = msgspec.json.decode(config)["config"]["Labels"] if config else {}
    except (msgspec.DecodeError, LookupError, TypeError):
        return {}
    return {key: str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}


def wanted_network(agent: Agent) -> tuple[str, ...]:
    """Return the addresses that an agent wants to reach, HOST:PORT each."""
    return _listed(agent, NETWORK_LABEL)


def wanted_mounts(agent: Agent) -> tuple[str, ...]:
    """Return the places at which an agent wants a folder of the user's, TARGET[:ro|:rw] each."""
    return _listed(agent, MOUNTS_LABEL)


def _listed(agent: Agent, label: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in agent.labels.get(label, "").split(",") if part.strip())
