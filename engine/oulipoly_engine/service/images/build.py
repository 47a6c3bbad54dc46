"""Build the image of an agent out of an Agentfile, or of an agent definition, and the files beside it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine import stopping
from oulipoly_engine.blobs.blobs import BLOCK
from oulipoly_engine.config import agent_files
from oulipoly_engine.core.images.agentfile import SCRATCH, Agentfile
from oulipoly_engine.core.images.definition import write_agentfile
from oulipoly_engine.core.images.inherit import resolve
from oulipoly_engine.core.images.manifest import (
    AGENTFILE_TITLE,
    CONTEXT_LAYER,
    FILE_LAYER,
    LONGEST_LAYER,
    Descriptor,
    Image,
    build_image,
    read_manifest,
)
from oulipoly_engine.core.images.parser import LONGEST, parse_agentfile
from oulipoly_engine.core.images.provenance import Source
from oulipoly_engine.core.images.references import Reference, parse_reference
from oulipoly_engine.core.images.refusals import AgentfileInvalid, ContentMissing
from oulipoly_engine.records import replace
from oulipoly_engine.registry.layout import Layout
from oulipoly_engine.regular_files import open_regular, read_regular
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.images.provenance import attach, find_source

_FILE = "Agentfile"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TRIES = 4  # where another process removes what is needed
_SMALL = 1 << 20  # bytes; larger files go to the disk block by block


def build(images: Images, path: Path, tags: tuple[str, ...], source_date: str = "") -> tuple[Reference, Descriptor]:
    """Build an image and tag it; return its first reference, and what it is.

    path: an Agentfile, its folder, or an agent definition (`.md`). tags: references; NAME:latest is tagged as well.
    source_date: seconds since 1970, as SOURCE_DATE_EPOCH has them; empty: the image says no time, so that the same
    input gives the same digest. Raises AgentfileInvalid, ReferenceInvalid, ImageNotFound, OSError.
    """
    for _ in range(TRIES - 1):
        with suppress(ContentMissing):  # another process has removed an image with the same large file
            return _build(images, path, tags, source_date)
    return _build(images, path, tags, source_date)


def _build(images: Images, path: Path, tags: tuple[str, ...], source_date: str) -> tuple[Reference, Descriptor]:
    references, image = assemble(images, path, tags, source_date)
    for reference in references:
        images.guard_tag(reference, image.descriptor.digest)
    for reference in references:
        images.put(image, reference)
    attach(images.layout, references, image.descriptor, _find_source(image, path))
    return references[0], image.descriptor


def _find_source(image: Image, path: Path) -> Source:
    file = path / _FILE if path.is_dir() else path
    layer = next(each for each in read_manifest(image.manifest).layers if each.title == AGENTFILE_TITLE)
    agent = parse_agentfile(_read_source(file)).agent
    names = [*(each.file for each in agent.contexts if each.file), *(each.src for each in agent.adds)]
    return find_source(layer.digest, file, [file.parent / name for name in names])


def assemble(
    images: Images, path: Path, tags: tuple[str, ...], source_date: str = ""
) -> tuple[tuple[Reference, ...], Image]:
    """Return the image that `build` would store, and its references. Nothing is tagged. Takes and raises the same."""
    file = path / _FILE if path.is_dir() else path
    source = _read_source(file)
    own = parse_agentfile(source)
    references = _references(own, tags)
    agentfile = resolve(own, lambda base: replace_base(images.load(base).agentfile))
    return references, _assemble(images, own, agentfile, source, file.parent, _read_date(source_date))


def _read_source(file: Path) -> bytes:
    try:
        if file.suffix == ".md":
            loaded = agent_files.read(file, None)
            if loaded.value is None:
                problem = loaded.problems[0]
                raise AgentfileInvalid(f"{file}: line {problem.line or 1}: {problem.message}: {problem.fix}")
            return write_agentfile(loaded.value)
        return read_regular(file, LONGEST)
    except OSError as error:
        what = f"{file} cannot be read: {error.strerror or error}"
        raise AgentfileInvalid(f"{what}: name an Agentfile, its folder, or an agent definition") from error


def replace_base(agentfile: Agentfile) -> Agentfile:
    """Return a parent as one that needs no further parents: an image holds what they gave it."""
    return replace(agentfile, agent=replace(agentfile.agent, base=SCRATCH))


def _references(agentfile: Agentfile, tags: tuple[str, ...]) -> tuple[Reference, ...]:
    references = [parse_reference(tag) for tag in tags]
    if agentfile.agent.name:
        references.append(parse_reference(agentfile.agent.name.lower()))
    if not references:
        raise AgentfileInvalid("the Agentfile has no NAME, so that its image has none: add one, or give -t REFERENCE")
    return tuple(dict.fromkeys(references))


def _assemble(images: Images, own: Agentfile, agentfile: Agentfile, source: bytes, folder: Path, created: str) -> Image:
    files: dict[str, bytes | Descriptor] = {}
    base_digest = ""
    if own.agent.base != SCRATCH:
        parent = images.load(own.agent.base)
        base_digest = parent.entry.digest
        files |= parent.layers
    for context in own.agent.contexts:
        if context.file:
            line = own.origins[f"context {context.name}"]
            files[f"context {context.name}"] = _read_file(images.layout, folder, context.file, line, CONTEXT_LAYER)
    for add in own.agent.adds:
        line = own.origins[f"add {add.name}"]
        files[f"add {add.name}"] = _read_file(images.layout, folder, add.src, line, FILE_LAYER)
    return build_image(agentfile, source, files, created=created, base_digest=base_digest)


def _read_file(layout: Layout, folder: Path, name: str, line: str, media_type: str) -> bytes | Descriptor:
    """Return a file's content; a large one is stored, and only described. No link leads out of the folder."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise AgentfileInvalid(f"{line}: {name} leads out of the folder of the Agentfile: put the file itself there")
    try:
        with open_regular(path) as file:
            data = file.read(_SMALL + 1)
            if len(data) <= _SMALL:
                return data
            blobs = layout.blobs()
            staged = blobs.stage(_go_on(data, file))
    except OSError as error:
        if error.errno in _FULL:  # our disk, not the file
            raise
        raise AgentfileInvalid(f"{line}: {name} cannot be taken: {error.strerror or error}") from error
    layout.place(staged)
    if media_type == CONTEXT_LAYER and staged.size > LONGEST_LAYER:
        raise AgentfileInvalid(f"{line}: {name} has more than {LONGEST_LAYER >> 20} MB: make it an ADD")
    return Descriptor(media_type, f"sha256:{staged.sha256}", staged.size)


def _go_on(data: bytes, file: BinaryIO) -> Iterator[bytes]:
    while data:
        stopping.check()
        yield data
        data = file.read(BLOCK)


def _read_date(text: str) -> str:
    if not text:
        return ""
    try:
        moment = datetime.fromtimestamp(int(text), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise AgentfileInvalid(f"SOURCE_DATE_EPOCH is {text[:40]!r}, which is not seconds since 1970") from error
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
