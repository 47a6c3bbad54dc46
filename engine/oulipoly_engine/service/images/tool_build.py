"""Build the image of a tool: one program, and how it is used, for one platform.

index      artifactType …openotters.bin.v1, annotations io.openotters.bin.*
└── manifest   of a platform
    ├── config   of a container image, so that Docker takes it too
    └── layers   the program, USAGE.md: archives of one file each, of no time and no owner
"""

from __future__ import annotations

import gzip
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.core.images.info import BIN_KEYS
from oulipoly_engine.core.images.manifest import (
    BIN_KIND,
    INDEX,
    MANIFEST,
    Descriptor,
    Image,
    Manifest,
    describe,
    digest_of,
    encode,
)
from oulipoly_engine.core.images.names import check_path_safe
from oulipoly_engine.core.images.references import Reference
from oulipoly_engine.core.images.refusals import ImageRefused
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.images.provenance import attach, find_source

_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # `uname -m` to the names of images
_USAGE = "USAGE.md"
_LONGEST = 512 << 20  # bytes of a program, which is read into memory


class ToolSource(Record):
    """What the image of a tool is made of."""

    name: str
    program: Path
    platform: str = ""  # "linux/amd64"; empty: this computer's
    usage: Path | None = None
    annotations: Mapping[str, str] = {}  # of the user's, as org.opencontainers.image.version


def build_tool(images: Images, source: ToolSource, references: tuple[Reference, ...]) -> Descriptor:
    """Build the image of a tool and tag it. The same input gives the same digest.

    Raises ImageRefused, OSError, and what the guard of the images raises.
    """
    if problem := check_path_safe(source.name):
        raise ImageRefused(f"{source.name[:80]!r} is not a name of a tool: it {problem}")
    system, slash, architecture = (source.platform or own_platform()).partition("/")
    if not (system and slash and architecture):
        raise ImageRefused(f"{source.platform[:80]!r} is not a platform: write linux/amd64 or linux/arm64")
    files = {source.name: _read(source.program)} | ({_USAGE: _read(source.usage)} if source.usage else {})
    archives = {name: _pack(name, data) for name, data in files.items()}
    packed = {name: gzip.compress(archive, mtime=0) for name, archive in archives.items()}
    layers = tuple(describe(data, _LAYER, name) for name, data in packed.items())
    labels = {"io.openotters.artifact-type": BIN_KIND}
    document = {
        "architecture": architecture,
        "os": system,
        "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(archive) for archive in archives.values()]},
    }
    config = json.dumps(document, sort_keys=True).encode()
    own = {f"{BIN_KEYS[0]}.name": source.name, f"{BIN_KEYS[0]}.path": "/"}
    own |= {f"{BIN_KEYS[0]}.usage": f"/{_USAGE}"} if source.usage else {}
    annotations = {**own, **source.annotations}
    manifest = encode(
        Manifest(2, MANIFEST, BIN_KIND, describe(config, _CONFIG), layers, annotations=annotations),
    )
    child = describe(manifest, MANIFEST)
    index = encode(
        Manifest(
            2,
            INDEX,
            BIN_KIND,
            manifests=(replace(child, platform={"os": system, "architecture": architecture}),),
            annotations=annotations,
        )
    )
    entry = replace(describe(index, INDEX), artifact_type=BIN_KIND)
    for reference in references:
        images.guard_tag(reference, entry.digest)
    for reference in references:
        images.layout.settle((config, *packed.values()), child, manifest, reference.name)
        images.put(Image(entry, index, {}), reference)
    others = [source.usage] if source.usage else []
    attach(images.layout, references, entry, find_source(digest_of(files[source.name]), source.program, others))
    return entry


def own_platform() -> str:
    """Return the platform of this computer as images name it."""
    machine = platform.machine()
    return f"linux/{_ARCHITECTURES.get(machine, machine)}"


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, _LONGEST)
    except OSError as error:
        raise ImageRefused(f"{path} cannot be read: {error.strerror or error}") from error


def _pack(name: str, data: bytes) -> bytes:
    archive = io.BytesIO()
    with tarfile.TarFile(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        entry.mode = 0o755
        tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()
