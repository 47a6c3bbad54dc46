"""Where agents come from: an image; or a folder, a file or a definition, of which an image is built first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.agents.agents import Agent, AgentPlan
from oulipoly_engine.core.images.agentfile import Agentfile
from oulipoly_engine.core.images.manifest import Descriptor
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused, ReferenceInvalid
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.private_files import open_private
from oulipoly_engine.records import Record, replace
from oulipoly_engine.registry.layout import Layout
from oulipoly_engine.service.agents.tool_images import find_program_name, place_program, read_usage
from oulipoly_engine.service.images import images as service

if TYPE_CHECKING:
    from oulipoly_engine.facade.images.images import AgentImage, Images

# ruff: noqa: PLC0415 - to build takes 10 ms, transfer 50: an agent that was read once needs neither


class AgentSource(Record):
    """What an agent is run from."""

    agentfile: Agentfile
    text: str  # the Agentfile as it was written
    contexts: Mapping[str, bytes]  # their texts, by name
    digests: Mapping[str, str]  # of the contents of files, `add NAME`
    digest: str


def find_path(home: Home, text: str) -> Path | None:
    """Return the folder or the file that a source is; None: it is a reference."""
    if not text:
        raise UsageInvalid("name what the agent is run from: an image, an agent definition, or a folder")
    path = Path(text).expanduser()
    if path.is_file() or (path / "Agentfile").exists():
        return path.absolute()
    if text.startswith((".", "/", "~")):
        missing = f"Agentfile in {text}" if path.is_dir() else text
        raise ImageNotFound(f"there is no {missing}: name an image, an agent definition, or a folder with an Agentfile")
    definition = home.paths.agents / f"{text}.md"
    if "/" not in text and definition.is_file():
        return definition
    return None


def read_source(home: Home, text: str) -> AgentSource:
    """Return what a source means now; an image counts only with the signature of the publisher who was pinned for it.

    Raises AgentfileInvalid, ImageNotFound, ImageRefused, ReferenceInvalid, SignatureRefused.
    """
    from oulipoly_engine.facade.images.images import Images

    images = Images(home)
    path = find_path(home, text)
    if path is not None:
        return _read(images, images.load(images.build(path, ())[1].digest), {})
    from oulipoly_engine.facade.images.transfer import Transfer

    return _read(images, images.load(Transfer(home).require_verified(text).digest), {})


def preview_source(home: Home, text: str) -> AgentSource:
    """Return what a source would mean, as `read_source`: of a path no image is tagged."""
    path = find_path(home, text)
    if path is None:
        return read_source(home, text)
    from oulipoly_engine.facade.images.images import Images

    images = Images(home)
    return _read(images, *images.assemble(path))


def _read(images: Images, image: AgentImage, contents: Mapping[str, bytes]) -> AgentSource:
    """Return a source by its image. contents: by digest, what is not stored."""

    def read(layer: Descriptor) -> bytes:
        return contents[layer.digest] if layer.digest in contents else b"".join(images.fetch(layer))

    contexts = {
        context.name: read(image.layers[f"context {context.name}"]) for context in image.agentfile.agent.contexts
    }
    source = image.layers.get("source")
    text = "" if source is None else read(source).decode("utf-8", "replace")
    digests = {key: layer.digest for key, layer in image.layers.items()}
    text = text or f"# syntax={image.agentfile.syntax}\n"
    return AgentSource(image.agentfile, text, contexts, digests, image.entry.digest)


def note_images(home: Home, plan: AgentPlan) -> AgentPlan:
    """Return what an agent is made of, with the images of its tools and its runtime as they are here now.

    A tool is used as its image says where the Agentfile says nothing.
    """
    images = service.Images(home.paths.images)
    tools = tuple(
        replace(tool, digest=_find_digest(images, tool.ref), image_usage=_find_usage(images, tool.ref))
        for tool in plan.tools
        if not tool.program
    )
    by_name = {tool.name: tool for tool in tools}
    runtime_digest = "" if plan.runtime.startswith("/") else _find_digest(images, plan.runtime)
    noted = tuple(by_name.get(tool.name, tool) for tool in plan.tools)
    return replace(plan, tools=noted, runtime_digest=runtime_digest)


def _find_digest(images: service.Images, reference: str) -> str:
    with suppress(ImageNotFound, ImageRefused, ReferenceInvalid):
        return images.resolve(reference)[1].digest
    return ""


def _find_usage(images: service.Images, reference: str) -> str:
    with suppress(ImageNotFound, ImageRefused, ReferenceInvalid):
        return read_usage(images, reference)
    return ""


def place_files(home: Home, agent: Agent, folder: Path) -> None:
    """Write an agent's data files. Raises ImageNotFound where its image was removed, and OSError."""
    layout = Layout(home.paths.images)
    for file in agent.plan.files:
        if not layout.has(file.digest):
            raise ImageNotFound(f"the file {file.name} of {agent.source} is gone: build or pull its image again")
        with os.fdopen(open_private(folder / file.name, os.O_WRONLY | os.O_TRUNC), "wb") as target:
            for block in layout.blocks(file.digest):
                target.write(block)


def place_runtime(home: Home, reference: str, target: Path) -> None:
    """Write the program of a runtime's image, whose signature counts as that of an agent's image does.

    Raises ImageNotFound where it is not here, ImageRefused, SignatureRefused, OSError.
    """
    from oulipoly_engine.facade.images.transfer import Transfer

    images = service.Images(home.paths.images)
    Transfer(home).require_verified(reference)
    place_program(images, reference, find_program_name(images, reference), target)


def place_tools(home: Home, agent: Agent, folder: Path) -> tuple[str, ...]:
    """Write the programs of tools whose images are here; return a sentence for each that has none.

    Raises OSError, and SignatureRefused as `place_runtime`.
    """
    images = service.Images(home.paths.images)
    missing = []
    for tool in agent.plan.tools:
        if not tool.program:
            try:
                from oulipoly_engine.facade.images.transfer import Transfer

                Transfer(home).require_verified(tool.ref)
                place_program(images, tool.ref, tool.name, folder / tool.name)
            except (ImageNotFound, ImageRefused) as error:
                missing.append(f"the tool {tool.name} has no program: {error.message}")
    return tuple(missing)
