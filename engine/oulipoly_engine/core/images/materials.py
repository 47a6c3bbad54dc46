"""A bill of materials of an agent: the images of its tools and of its runtime, as CycloneDX 1.5 has it. Pure.

It says no time and no number of its own, so that the same images give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from oulipoly_engine.core.images.agentfile import Agent
from oulipoly_engine.core.images.info import ImageInfo
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.records import Record

_OCI = "org.opencontainers.image."


class Material(Record):
    """One program of an agent."""

    name: str
    reference: str  # as the Agentfile names it
    info: ImageInfo | None  # of its image; None: that is not here


def list_programs(agent: Agent) -> Iterator[tuple[str, str]]:
    """Yield the name and the reference of each program of an agent that is an image."""
    if agent.runtime:
        yield "runtime", agent.runtime
    yield from ((tool.name, tool.image) for tool in agent.bins)


def describe_materials(agent: ImageInfo, materials: Iterable[Material]) -> dict[str, Any]:
    """Return the bill of materials of an agent, as it is written as JSON."""
    components = [_describe(material) for material in materials]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "agent", **_identify(agent.ref, agent)}},
        "components": components,
        "dependencies": [{"ref": "agent", "dependsOn": [each["bom-ref"] for each in components]}],
    }


def _describe(material: Material) -> dict[str, Any]:
    document = {"type": "application", "bom-ref": f"program:{material.name}"}
    document |= _identify(material.reference, material.info) | {"name": material.name}
    info = material.info
    if info is None:
        return document | {"properties": [{"name": "io.oulipoly.absent", "value": "its image is not here"}]}
    licenses = info.annotations.get(f"{_OCI}licenses", "")
    vendor = info.annotations.get(f"{_OCI}vendor", "")
    more: dict[str, Any] = {
        "description": info.description,
        "supplier": {"name": vendor} if vendor else {},
        "licenses": [{"expression": licenses}] if licenses else [],
        "externalReferences": [{"type": "vcs", "url": info.source}] if info.source else [],
    }
    return document | {key: value for key, value in more.items() if value}


def _identify(text: str, info: ImageInfo | None) -> dict[str, str]:
    reference = parse_reference(text)
    digest = reference.digest if info is None else info.digest
    version = "" if info is None else info.annotations.get(f"{_OCI}version", "")
    name = reference.name.rpartition("/")[2]
    place = f"repository_url={quote(reference.name, safe='/:')}&tag={reference.tag}"
    package = f"pkg:oci/{quote(name)}{f'@{quote(digest)}' if digest else ''}?{place}"
    return {"name": name, "version": version or digest or reference.tag, "purl": package}
