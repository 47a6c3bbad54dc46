"""The program of a tool out of its image: an index of one image a platform, whose layer is or holds the program."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path

from oulipoly_engine.blobs.blobs import BLOCK
from oulipoly_engine.blobs.untrusted_tar import BROKEN, TarRefused, entries, open_tar
from oulipoly_engine.core.images.manifest import LONGEST_MANIFEST, Descriptor, Manifest, read_manifest
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused
from oulipoly_engine.regular_files import open_regular
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.images.tool_build import own_platform
from oulipoly_engine.service.transcripts.atomic_file import new_file

_MOST_UNPACKED = 2 << 30  # bytes of an archive
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)  # no links, no devices, no files with holes
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
    layers = sorted(manifest.layers, key=lambda layer: layer.title.rpartition("/")[2] != name)
    if not any(_read_layer(images, layer, name, partial(_write, target)) for layer in layers):
        raise ImageRefused(f"the image {reference} has no program {name!r}")
    return entry.digest


def read_usage(images: Images, reference: str) -> str:
    """Return how a tool is used by its image, the text of its USAGE.md; empty: it says nothing.

    Raises ImageNotFound, ImageRefused.
    """
    _, entry = images.resolve(reference)
    blocks: list[bytes] = []
    for layer in _choose_platform(images, images.manifest(entry), reference).layers:
        is_usage = layer.title.rpartition("/")[2] == _USAGE and layer.size <= _LONGEST_USAGE
        if is_usage and _read_layer(images, layer, _USAGE, lambda read: blocks.extend(islice(read, 1))):
            return b"".join(blocks)[:_LONGEST_USAGE].decode("utf-8", "replace")
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
        if child.platform_name == wanted:
            if not images.layout.has(child.digest):
                raise ImageNotFound(f"the image {reference} is here without its part for {wanted}: pull it again")
            return read_manifest(images.layout.read(child.digest, LONGEST_MANIFEST))
    raise ImageRefused(f"the image {reference} has nothing for {wanted}")


def _read_layer(images: Images, layer: Descriptor, name: str, take: Callable[[Iterable[bytes]], object]) -> bool:
    """Have the blocks of a file of a layer taken; return whether it is there."""
    is_archive = ".tar" in layer.media_type
    if not is_archive and layer.title.rpartition("/")[2] != name:
        return False
    if not is_archive:
        take(images.fetch(layer))
        return True
    for _ in images.fetch(layer):  # its digest is checked behind the last block
        pass
    try:
        with open_regular(images.layout.path(layer.digest)) as file, open_tar(file, _check_size) as archive:
            for member in entries(archive):
                content = archive.extractfile(member) if member.type in _PLAIN else None
                if content is not None and member.name.strip("./") == name:
                    take(iter(partial(content.read, BLOCK), b""))
                    return True
    except (TarRefused, *BROKEN) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of our disk
            raise
        raise ImageRefused(f"a layer with the program {name!r} cannot be unpacked: {error}") from error
    return False


def _check_size(_packed: int, unpacked: int) -> None:
    if unpacked > _MOST_UNPACKED:
        raise TarRefused(f"it has more than {_MOST_UNPACKED >> 20} MB")


def _write(target: Path, blocks: Iterable[bytes]) -> None:
    with new_file(target, force=True) as file:
        for block in blocks:
            file.write(block)
        os.fchmod(file.fileno(), _MODE)
