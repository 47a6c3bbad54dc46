"""An agent's image: its parts, their descriptors, and the manifest over them. Pure: bytes in, bytes out.

    manifest   application/vnd.oci.image.manifest.v1+json, artifactType …openotters.agent.v1
    ├── config   the Agentfile as JSON, with what its parents give it: what counts
    └── layers   the Agentfile as it was written, each CONTEXT, each ADD, in this order

Equal parts give equal bytes: keys have a fixed order, and the time is what the caller says, or is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from oulipoly_engine.core.images import names
from oulipoly_engine.core.images.agentfile import Agentfile, check_agent
from oulipoly_engine.core.images.references import is_digest
from oulipoly_engine.core.images.refusals import AgentfileInvalid, ImageRefused
from oulipoly_engine.records import Record, field, prepare, replace

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
AGENT_KIND = "application/vnd.openotters.agent.v1"
BIN_KIND = "application/vnd.openotters.bin.v1"
AGENT_CONFIG = "application/vnd.openotters.agent.config.v1+json"
AGENTFILE_LAYER = "application/vnd.openotters.agentfile"
CONTEXT_LAYER = "application/vnd.openotters.context.v1"
FILE_LAYER = "application/octet-stream"
EMPTY_CONFIG = "application/vnd.oci.empty.v1+json"
DOCKER_MANIFESTS = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
TITLE = "org.opencontainers.image.title"
CREATED = "org.opencontainers.image.created"
BASE_NAME = "org.opencontainers.image.base.name"
BASE_DIGEST = "org.opencontainers.image.base.digest"
AGENTFILE_TITLE = "Agentfile"
LONGEST_MANIFEST = 4 << 20  # bytes; what the distribution specification has every registry take
LONGEST_CONFIG = 8 << 20
LONGEST_LAYER = 64 << 20  # of a context or an Agentfile, which are read into memory
MOST_LAYERS = 1000


class Descriptor(Record, omit_defaults=True):
    """What a content is, without the content."""

    media_type: str = field(name="mediaType")
    digest: str
    size: int  # bytes
    annotations: dict[str, str] = field(default_factory=dict)
    artifact_type: str = field(name="artifactType", default="")
    data: str = ""
    urls: tuple[str, ...] = ()
    platform: dict[str, Any] = field(default_factory=dict)

    @property
    def platform_name(self) -> str:
        """Return what it runs on, `OS/ARCHITECTURE`; empty: it does not say."""
        return f"{self.platform.get('os', '')}/{self.platform.get('architecture', '')}" if self.platform else ""

    @property
    def title(self) -> str:
        """Return the name of the file that it is, or nothing."""
        return self.annotations.get(TITLE, "")


class Manifest(Record, omit_defaults=True):
    """A manifest, or an index of manifests."""

    schema_version: int = field(name="schemaVersion")
    media_type: str = field(name="mediaType", default="")
    artifact_type: str = field(name="artifactType", default="")
    config: Descriptor | None = None
    layers: tuple[Descriptor, ...] = ()
    manifests: tuple[Descriptor, ...] | None = None  # None: not an index
    subject: Descriptor | None = None
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return what it is an image of: its artifact type, as the image specification finds it."""
        return self.artifact_type or (self.config.media_type if self.config is not None else "")

    @property
    def form(self) -> str:
        """Return its media type, by what it is where it does not say."""
        return self.media_type or (MANIFEST if self.manifests is None else INDEX)

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        """Return the contents that it needs and that are not manifests."""
        return ((self.config,) if self.config is not None else ()) + self.layers


class Image(Record):
    """An image that is made and not stored: its manifest, and its contents by digest."""

    descriptor: Descriptor
    manifest: bytes
    contents: Mapping[str, bytes]


def digest_of(data: bytes) -> str:
    """Return the digest of a content."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def describe(data: bytes, media_type: str, title: str = "") -> Descriptor:
    """Return the descriptor of a content."""
    return Descriptor(media_type, digest_of(data), len(data), {TITLE: title} if title else {})


def encode(value: Record) -> bytes:
    """Return the JSON form of a record, indented, the same for equal values."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2)


def make_referrer(subject: Descriptor, kind: str, layer: bytes, media_type: str) -> Image:
    """Return what is about an image, as it is stored and pushed: a manifest of one layer."""
    config = b"{}"
    about = replace(subject, annotations={}, artifact_type="")
    parts = (describe(layer, media_type),)
    manifest = encode(Manifest(2, MANIFEST, kind, describe(config, EMPTY_CONFIG), parts, subject=about))
    entry = replace(describe(manifest, MANIFEST), artifact_type=kind)
    return Image(entry, manifest, {digest_of(data): data for data in (config, layer)})


def build_image(
    agentfile: Agentfile,
    source: bytes,
    files: Mapping[str, bytes | Descriptor],
    *,
    created: str = "",
    base_digest: str = "",
) -> Image:
    """Return the image of an Agentfile.

    agentfile: with what its parents give it. source: as it was written. files: all contexts that have no content
    inline, `context NAME`, and all files, `add NAME`: their contents, or the layers of what is stored already.
    created: RFC 3339; empty: it says no time.
    """
    agent = agentfile.agent
    check_agent(agent)
    contents: dict[str, bytes] = {}

    def take(data: bytes | Descriptor, media_type: str, title: str = "") -> Descriptor:
        if isinstance(data, Descriptor):
            return Descriptor(media_type, data.digest, data.size, {TITLE: title})
        descriptor = describe(data, media_type, title)
        contents[descriptor.digest] = data
        return descriptor

    config = take(encode(agentfile), AGENT_CONFIG)
    if config.size > LONGEST_CONFIG:
        raise AgentfileInvalid(f"its texts have more than {LONGEST_CONFIG >> 20} MB: put them into files (file://)")
    layers = [take(source, AGENTFILE_LAYER, AGENTFILE_TITLE)]
    for context in agent.contexts:
        data = files[f"context {context.name}"] if context.file else context.content.encode()
        layers.append(take(data, CONTEXT_LAYER, f"{context.name}.md"))
    layers += [take(files[f"add {each.name}"], FILE_LAYER, each.name) for each in agent.adds]
    annotations = {TITLE: agent.name} if agent.name else {}
    if created:
        annotations[CREATED] = created
    if base_digest:
        annotations |= {BASE_NAME: agent.base, BASE_DIGEST: base_digest}
    # A label of the same name counts: that is how a time is pinned.
    manifest = encode(Manifest(2, MANIFEST, AGENT_KIND, config, tuple(layers), annotations=annotations | agent.labels))
    descriptor = replace(describe(manifest, MANIFEST), artifact_type=AGENT_KIND)
    return Image(descriptor, manifest, contents)


def read_manifest(data: bytes) -> Manifest:
    """Return what a manifest says. Raises ImageRefused for what cannot be one, or names what we do not check."""
    if len(data) > LONGEST_MANIFEST:
        raise ImageRefused(f"its manifest has more than {LONGEST_MANIFEST >> 20} MB: no registry takes that")
    try:
        manifest = msgspec.json.decode(data, type=prepare(Manifest))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ImageRefused(f"its manifest cannot be read: {error}") from error
    if manifest.schema_version != 2:
        raise ImageRefused(f"its manifest has version {manifest.schema_version}: the one there is is 2")
    if manifest.manifests is None and manifest.config is None:
        raise ImageRefused("its manifest has neither a config nor manifests")
    if manifest.manifests is not None and manifest.blobs:
        raise ImageRefused("its manifest has layers and manifests: others may take it for something else")
    named = (*manifest.blobs, *(manifest.manifests or ()), *((manifest.subject,) if manifest.subject else ()))
    if len(named) > MOST_LAYERS:
        raise ImageRefused(f"its manifest names more than {MOST_LAYERS} contents")
    for descriptor in named:
        if not is_digest(descriptor.digest) or descriptor.size < 0:
            raise ImageRefused(f"its manifest names a content as {descriptor.digest[:80]!r}, which is not a digest")
    return manifest


def read_config(data: bytes) -> Agentfile:
    """Return the Agentfile of an image's config. Raises ImageRefused, AgentfileInvalid."""
    try:
        agentfile = msgspec.json.decode(data, type=prepare(Agentfile))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ImageRefused(f"its config cannot be read: {error}") from error
    check_agent(agentfile.agent)
    return agentfile


def titled_layers(manifest: Manifest) -> Iterator[tuple[str, Descriptor]]:
    """Yield the layers of an agent's image, `context NAME` or `add NAME` each.

    Raises ImageRefused for a title that is not a plain file name: it is untrusted, and somebody writes it to a disk.
    """
    seen = set()
    for layer in manifest.layers:
        title = layer.title
        key = f"add {title}"
        problem = names.check_path_safe(title)
        if layer.media_type == CONTEXT_LAYER:
            name = title.removesuffix(".md")
            key = f"context {name}"
            problem = "is not NAME.md" if name == title else names.check_context(name)
        elif layer.media_type == AGENTFILE_LAYER:
            key = "source"
        if problem:
            raise ImageRefused(f"a layer has the title {title[:120]!r}, which {problem}")
        if key in seen:
            raise ImageRefused(f"two layers have the title {title[:120]!r}")
        seen.add(key)
        yield key, layer


def match_layers(agentfile: Agentfile, manifest: Manifest) -> Mapping[str, Descriptor]:
    """Return the layers of an agent's image, each declared one and no other. Raises ImageRefused."""
    layers = dict(titled_layers(manifest))
    agent = agentfile.agent
    wanted = {f"context {each.name}" for each in agent.contexts} | {f"add {each.name}" for each in agent.adds}
    for key in sorted(wanted - layers.keys()):
        raise ImageRefused(f"it declares {key[:120]!r}, and no layer of it has that")
    for key in sorted(layers.keys() - wanted - {"source"}):
        raise ImageRefused(f"a layer of it is {key[:120]!r}, which it does not declare")
    for context in agent.contexts:
        if context.content and digest_of(context.content.encode()) != layers[f"context {context.name}"].digest:
            raise ImageRefused(f"CONTEXT {context.name} is another text in its config than in its layer")
    return layers
