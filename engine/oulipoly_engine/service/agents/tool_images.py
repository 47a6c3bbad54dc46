"""The program of a tool out of its image: an index of one image a platform, whose layer is or holds the program."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from oulipoly_engine.core.images.manifest import LONGEST_MANIFEST, Descriptor, Manifest, read_manifest
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.images.refusals import ImageRefused
from oulipoly_engine.private_files import open_private
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.images.tool_build import own_platform

_LONGEST_LAYER = 512 << 20  # bytes
_LONGEST_PROGRAM = 1 << 30  # unpacked
_NAMES = ("io.openotters.bin.name", "vnd.openotters.bin.name")  # annotations; the second is of older images
_USAGE = "USAGE.md"
_LONGEST_USAGE = 64 << 10  # bytes
_MODE = 0o755


def place_program(images: Images, reference: str, name: str, target: Path) -> str:
    """Write the program of a tool's image and return the image's digest.

    Raises ImageNotFound where the image is not here, ImageRefused where it has no program for this machine, OSError.
    """
    _, entry = images.resolve(reference)
    manifest = _choose_platform(images, images.manifest(entry), reference)
    for layer in sorted(manifest.layers, key=lambda layer: layer.title.rpartition("/")[2] != name):
        data = _find_program(images, layer, name)
        if data is not None:
            with os.fdopen(open_private(target, os.O_WRONLY | os.O_TRUNC), "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), _MODE)
            return entry.digest
    raise ImageRefused(f"the image {reference} has no program {name!r}")


def read_usage(images: Images, reference: str) -> str:
    """Return how a tool is used by its image, the text of its USAGE.md; empty: it says nothing.

    Raises ImageNotFound, ImageRefused.
    """
    _, entry = images.resolve(reference)
    for layer in _choose_platform(images, images.manifest(entry), reference).layers:
        if layer.title.rpartition("/")[2] == _USAGE and layer.size <= _LONGEST_USAGE:
            return (_find_program(images, layer, _USAGE) or b"")[:_LONGEST_USAGE].decode("utf-8", "replace")
    return ""


def find_program_name(images: Images, reference: str) -> str:
    """Return the name of an image's program: what its annotations say, else its repository's last word.

    Raises ImageNotFound, ImageRefused.
    """
    _, entry = images.resolve(reference)
    manifest = images.manifest(entry)
    for each in (manifest, _choose_platform(images, manifest, reference)):
        for name in _NAMES:
            if each.annotations.get(name):
                return each.annotations[name]
    return parse_reference(reference).name.rpartition("/")[2]


def _choose_platform(images: Images, manifest: Manifest, reference: str) -> Manifest:
    if manifest.manifests is None:
        return manifest
    wanted = own_platform()
    for child in manifest.manifests:
        if f"{child.platform.get('os')}/{child.platform.get('architecture')}" == wanted:
            return read_manifest(images.layout.read(child.digest, LONGEST_MANIFEST))
    raise ImageRefused(f"the image {reference} has nothing for {wanted}")


def _find_program(images: Images, layer: Descriptor, name: str) -> bytes | None:
    """Return a program out of a layer; None: it is not there."""
    is_archive = ".tar" in layer.media_type
    is_titled = layer.title.rpartition("/")[2] == name
    if not is_archive and not is_titled:
        return None
    if layer.size > _LONGEST_LAYER:
        raise ImageRefused(f"a layer has more than {_LONGEST_LAYER >> 20} MB")
    data = b"".join(images.fetch(layer))
    return next(_find_in_archive(data, name), None) if is_archive else data


def _find_in_archive(data: bytes, name: str) -> Iterator[bytes]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
            for member in archive:
                if member.isfile() and member.name.strip("./") == name and member.size <= _LONGEST_PROGRAM:
                    file = archive.extractfile(member)
                    if file is not None:
                        yield file.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ImageRefused(f"a layer with the program {name!r} cannot be unpacked: {error}") from error
