"""The images of one user: listed, resolved, inspected, tagged, removed, carried as one file."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec

from oulipoly_engine.core.images.agentfile import Agentfile
from oulipoly_engine.core.images.changes import Change, compare_images
from oulipoly_engine.core.images.info import ImageInfo, describe_image
from oulipoly_engine.core.images.manifest import (
    AGENT_KIND,
    LONGEST_CONFIG,
    LONGEST_LAYER,
    LONGEST_MANIFEST,
    Descriptor,
    Image,
    Manifest,
    digest_of,
    match_layers,
    read_config,
    read_manifest,
)
from oulipoly_engine.core.images.references import Reference, is_digest, parse_reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused
from oulipoly_engine.records import Record, prepare, replace
from oulipoly_engine.registry.layout import REF_NAME, REPOSITORY, Layout, is_tagged
from oulipoly_engine.regular_files import read_regular

_LONGEST_EXPORT = 512 << 20  # bytes; a file of JSON is read into memory
GuardTag = Callable[[str, str, str], None]  # of a tag that exists: its name, the digest it has, the one it shall have


class Blob(Record):
    """A content of an exported image."""

    descriptor: Descriptor
    data: str  # base64


class Export(Record, omit_defaults=True):
    """An image as one file."""

    manifest: Descriptor
    blobs: tuple[Blob, ...]
    ref: str = ""
    referrers: tuple[Descriptor, ...] = ()  # signatures; their contents are among the blobs


class AgentImage(Record):
    """An agent's image, checked: what it declares, and where its contents lie."""

    reference: Reference
    entry: Descriptor
    manifest: Manifest
    agentfile: Agentfile
    layers: Mapping[str, Descriptor]  # by `source`, `context NAME`, `add NAME`


class Images:
    """The images in one layout."""

    def __init__(self, folder: Path, guard: GuardTag = lambda _name, _before, _after: None) -> None:
        """Make them. guard: raises where a tag that exists shall not mean something else."""
        self.layout = Layout(folder)
        self._guard = guard

    def list(self) -> tuple[str, ...]:
        """Return every NAME:TAG."""
        return tuple(self.layout.tags())

    def list_entries(self) -> tuple[ImageInfo, ...]:
        """Return what is told of every NAME:TAG. Raises ImageRefused."""
        return tuple(self._describe(name, entry) for name, entry in self.layout.tags().items())

    def resolve(self, text: str) -> tuple[Reference, Descriptor]:
        """Return what a reference, or a digest alone, means. Raises ReferenceInvalid, ImageNotFound."""
        if is_digest(text):
            return self._resolve_digest(text)
        reference = parse_reference(text)
        entry = self.layout.find(reference.name, reference.target)
        if entry is None:
            raise ImageNotFound(f"there is no image {text}: `agents image ls` lists them, `agents image pull` gets one")
        return reference, entry

    def _resolve_digest(self, digest: str) -> tuple[Reference, Descriptor]:
        entries = [entry for entry in self.layout.entries() if entry.digest == digest]
        entries.sort(key=is_tagged, reverse=True)
        for entry in entries:
            if is_tagged(entry):
                return parse_reference(f"{entry.annotations[REF_NAME]}@{digest}"), entry
            if entry.annotations.get(REPOSITORY):
                return parse_reference(f"{entry.annotations[REPOSITORY]}@{digest}"), entry
        raise ImageNotFound(f"there is no image {digest}: `agents image ls` lists them")

    def manifest(self, entry: Descriptor) -> Manifest:
        """Return the manifest of an entry. Raises ImageRefused, ImageNotFound."""
        return read_manifest(self.layout.read(entry.digest, LONGEST_MANIFEST))

    def kind(self, text: str) -> str:
        """Return what a reference is an image of: its artifact type, or nothing. Raises as `resolve`."""
        return self.manifest(self.resolve(text)[1]).artifact_type

    def require_parts(self, entry: Descriptor) -> None:
        """Refuse to hand on an index whose parts for other platforms are not here. Raises ImageRefused."""
        parts = self.manifest(entry).manifests or ()
        missing = ", ".join(part.platform_name for part in parts if not self.layout.has(part.digest))
        if missing:
            raise ImageRefused(f"its parts for {missing[:300]} are not here: pull it with `--platform all` first")

    def inspect(self, text: str) -> ImageInfo:
        """Return what is told of an image. Raises as `resolve`."""
        reference, entry = self.resolve(text)
        return self._describe(str(reference), entry)

    def _describe(self, name: str, entry: Descriptor) -> ImageInfo:
        manifest = self.manifest(entry)
        children = {each.digest: self._size(each) for each in manifest.manifests or () if self.layout.has(each.digest)}
        config = b""
        if manifest.config is not None and manifest.config.media_type.endswith(".image.config.v1+json"):
            config = self.layout.read(manifest.config.digest, LONGEST_CONFIG)
        stored_at = self.layout.path(entry.digest).stat().st_mtime
        return describe_image(name, entry, manifest, children=children, config=config, stored_at=stored_at)

    def _size(self, entry: Descriptor) -> int:
        return entry.size + sum(each.size for each in self.manifest(entry).blobs)

    def load(self, text: str) -> AgentImage:
        """Return an agent's image, with its claims checked. Raises ImageRefused, AgentfileInvalid, ImageNotFound."""
        reference, entry = self.resolve(text)
        return self.check(reference, entry, self.layout.read(entry.digest, LONGEST_MANIFEST))

    def check(
        self, reference: Reference, entry: Descriptor, data: bytes, contents: Mapping[str, bytes] = MappingProxyType({})
    ) -> AgentImage:
        """Return an agent's image by its manifest, with its claims checked. Raises as `load`.

        contents: by digest, of an image that is not stored.
        """
        manifest = read_manifest(data)
        if manifest.artifact_type != AGENT_KIND or manifest.config is None:
            raise ImageRefused(f"{entry.digest} is an image of {manifest.kind or 'something unnamed'}, not of an agent")
        config = contents.get(manifest.config.digest) or self.layout.read(manifest.config.digest, LONGEST_CONFIG)
        agentfile = read_config(config)
        return AgentImage(reference, entry, manifest, agentfile, match_layers(agentfile, manifest))

    def read_layer(self, layer: Descriptor) -> bytes:
        """Return the content of a context or of an Agentfile. Raises ImageRefused, ImageNotFound."""
        return self.layout.read(layer.digest, LONGEST_LAYER)

    def compare(self, before: AgentImage, after: AgentImage) -> tuple[Change, ...]:
        """Return what differs between two agents, with the lines of texts that do. Raises as `read_layer`."""
        changes = compare_images((before.agentfile, before.layers), (after.agentfile, after.layers))
        return tuple(replace(change, lines=self._differ(change, before, after)) for change in changes)

    def _differ(self, change: Change, before: AgentImage, after: AgentImage) -> tuple[str, ...]:
        if not change.name.startswith("CONTEXT "):
            return ()
        key = f"context {change.name.partition(' ')[2]}"
        old, new = (self._lines(image, key) for image in (before, after))
        return tuple(difflib.unified_diff(old, new, lineterm="", n=1))[2:]  # without the names of files

    def _lines(self, image: AgentImage, key: str) -> Sequence[str]:
        if key not in image.layers:
            return ()
        return self.read_layer(image.layers[key]).decode("utf-8", "replace").splitlines()

    def fetch(self, layer: Descriptor) -> Iterator[bytes]:
        """Yield a content in blocks. Raises ImageRefused behind the last, if it is not what its digest says."""
        return self.layout.blocks(layer.digest)

    def guard_tag(self, reference: Reference, digest: str) -> None:
        """Raise what the guard raises where a tag that exists would mean something else."""
        before = self.layout.find(reference.name, reference.tag)
        if before is not None and before.digest != digest:
            self._guard(reference.tagged, before.digest, digest)

    def put(self, image: Image, reference: Reference) -> None:
        """Store an image under a tag. Raises OSError, and what the guard raises."""
        self.guard_tag(reference, image.descriptor.digest)
        contents = image.contents.values()
        self.layout.remove_unfinished()
        self.layout.settle(contents, image.descriptor, image.manifest, reference.name, (reference.tag,))

    def tag(self, source: str, target: str) -> Descriptor:
        """Have another reference mean the same image, and return it. Raises ImageNotFound, ReferenceInvalid."""
        _, entry = self.resolve(source)
        reference = parse_reference(target)
        self.guard_tag(reference, entry.digest)
        for signature, manifest in [*self.layout.referrers(entry.digest)]:  # of the image, whatever it is called
            bare = replace(signature, annotations={})
            data = self.layout.read(signature.digest, LONGEST_MANIFEST)
            if self.layout.find(reference.name, signature.digest) is None and manifest.blobs:
                self.layout.settle((), bare, data, reference.name)
        self.layout.tag(entry, reference.name, reference.tag)
        return entry

    def remove(self, text: str) -> tuple[str, ...]:
        """Remove an image with all tags that mean it, and return those. Raises ImageNotFound."""
        _, entry = self.resolve(text)
        removed = self.layout.remove(lambda each: each.digest == entry.digest)
        return tuple(each.annotations[REF_NAME] for each in removed if is_tagged(each))

    def export(self, text: str) -> bytes:
        """Return an image as one file of JSON, its signatures included. Raises ImageRefused where it is too large."""
        reference, entry = self.resolve(text)
        self.require_parts(entry)
        about = [each for each, _ in self.layout.referrers(entry.digest)]
        blobs: dict[str, Blob] = {}
        for each in (entry, *about):
            bare = replace(each, annotations={})
            for descriptor in (bare, *self._contents(each)):
                if sum(blob.descriptor.size for blob in blobs.values()) + descriptor.size > _LONGEST_EXPORT * 3 // 4:
                    raise ImageRefused(f"{text} is too large for one file of JSON: push it to a registry")
                data = self.layout.read(descriptor.digest, descriptor.size)
                blobs[descriptor.digest] = Blob(descriptor, base64.b64encode(data).decode())
        bare, *referrers = (replace(each, annotations={}) for each in (entry, *about))
        return msgspec.json.encode(Export(bare, tuple(blobs.values()), reference.tagged, tuple(referrers)))

    def _contents(self, entry: Descriptor) -> Iterator[Descriptor]:
        manifest = self.manifest(entry)
        for child in manifest.manifests or ():
            yield child
            yield from self._contents(child)
        yield from manifest.blobs

    def import_file(self, path: Path, target: str = "") -> tuple[Reference, Descriptor]:
        """Take in an exported image; return its reference and what it is. target: a reference instead of its own.

        Raises ImageRefused for what is not whole, ReferenceInvalid, OSError.
        """
        try:
            exported = msgspec.json.decode(read_regular(path, _LONGEST_EXPORT), type=prepare(Export))
            contents = {blob.descriptor.digest: base64.b64decode(blob.data, validate=True) for blob in exported.blobs}
        except OSError as error:
            raise ImageRefused(f"{path} cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise ImageRefused(f"{path} is not an exported image: {error}") from error
        for digest, data in contents.items():
            if digest_of(data) != digest:
                raise ImageRefused(f"{path} holds a content that is not {digest[:80]}: get the file anew")
        reference = parse_reference(target or exported.ref)
        self.guard_tag(reference, exported.manifest.digest)
        self.layout.remove_unfinished()
        for manifest, tags in ((exported.manifest, (reference.tag,)), *((each, ()) for each in exported.referrers)):
            if manifest.digest not in contents:
                raise ImageRefused(f"{path} lacks the manifest {manifest.digest[:80]}: get the file anew")
            data = contents[manifest.digest]
            needed = read_manifest(data)
            children = (*needed.blobs, *(needed.manifests or ()))
            parts = [contents[each.digest] for each in children if each.digest in contents]
            bare = replace(manifest, annotations={}, size=len(data))
            self.layout.settle(parts, bare, data, reference.name, tags)
        return reference, exported.manifest
