"""Copy an image between a layout and a registry, with all that it leads to and the signatures that are about it.

What comes in is untrusted: every digest is computed while its content is written, and an image counts once all of it
is there. A kill leaves contents that nobody needs; the next attempt goes on with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from hashlib import new as new_hash

from oulipoly_engine import stopping
from oulipoly_engine.core.images.manifest import (
    AGENT_KIND,
    INDEX,
    LONGEST_CONFIG,
    Descriptor,
    Manifest,
    describe,
    encode,
    match_layers,
    read_config,
    read_manifest,
)
from oulipoly_engine.core.images.provenance import PROVENANCE_KIND
from oulipoly_engine.core.images.references import Reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.records import Record, replace
from oulipoly_engine.registry.layout import Layout
from oulipoly_engine.registry.remote import Remote

EVERY_PLATFORM = "all"
_MOST_MANIFESTS = 200  # that one image leads to
_MOST_SIGNATURES = 32
_MOST_STATEMENTS = 8  # of where it was built
_MOST_BYTES = 16 << 30  # of one image
_MOST_SIGNED = 1 << 20  # bytes of what one signature leads to


class Pulled(Record):
    """An image whose contents are there, and which no index names yet."""

    entry: Descriptor
    manifest: bytes
    children: tuple[tuple[Descriptor, bytes], ...]  # of an index
    signatures: tuple[tuple[Descriptor, bytes], ...]
    left_out: frozenset[str] = frozenset()  # digests of what indexes have for other platforms


class _Contents:
    """Gets what manifests lead to, of so many bytes at most; of indexes what one platform takes."""

    def __init__(self, remote: Remote, layout: Layout, most_bytes: int, platform: str = EVERY_PLATFORM) -> None:
        self.children: list[tuple[Descriptor, bytes]] = []  # of indexes
        self.left_out: set[str] = set()
        self._platform = platform
        self._remote = remote
        self._layout = layout
        self._most = most_bytes
        self._size = 0

    def pull(self, manifest: Manifest) -> None:
        """Get all that a manifest leads to. Raises ImageRefused, ImageNotFound, RegistryFailed."""
        self._size += sum(each.size for each in manifest.blobs)
        if self._size > self._most:
            raise ImageRefused(f"it claims more than {size_text(self._most)}")
        for descriptor in manifest.blobs:
            stopping.check()
            if not descriptor.urls and not self._layout.has(descriptor.digest):
                _pull_blob(self._remote, descriptor, self._layout)
        self.left_out.update(each.digest for each in manifest.manifests or () if not self._is_taken(each))
        for child in filter(self._is_taken, manifest.manifests or ()):
            if len(self.children) >= _MOST_MANIFESTS:
                raise ImageRefused(f"it leads to more than {_MOST_MANIFESTS} manifests")
            _, data = self._remote.manifest(child.digest)
            _check(data, child)
            self.children.append((child, data))
            self.pull(read_manifest(data))

    def _is_taken(self, part: Descriptor) -> bool:
        return self._platform in (EVERY_PLATFORM, part.platform_name) or not part.platform_name


def pull(
    remote: Remote, reference: Reference, layout: Layout, signature_kind: str, platform: str = EVERY_PLATFORM
) -> Pulled:
    """Get the contents of an image; `settle_pulled` has it count.

    platform: of an index what is for that, `OS/ARCHITECTURE`, and what names none. Raises ImageRefused, ImageNotFound,
    RegistryFailed.
    """
    layout.remove_unfinished()
    entry, data = remote.manifest(reference.target)
    algorithm = (reference.digest or "sha256:").partition(":")[0]
    digest = f"{algorithm}:{new_hash(algorithm, data).hexdigest()}"
    for claim, who in ((reference.digest, "asked for"), (_same(entry.digest, algorithm), "what the registry says")):
        if claim and claim != digest:
            raise ImageRefused(f"{reference} is {digest}, not {claim}, which was {who}")
    manifest = read_manifest(data)
    entry = Descriptor(manifest.form, digest, len(data), artifact_type=manifest.kind)
    contents = _Contents(remote, layout, _MOST_BYTES, platform)
    contents.pull(manifest)
    if contents.left_out and not contents.children:
        names = ", ".join(sorted({each.platform_name for each in manifest.manifests or ()}))[:300]
        raise ImageRefused(f"{reference} has nothing for {platform}, but for {names}: --platform says what to take")
    if manifest.artifact_type == AGENT_KIND and manifest.config is not None:
        # What claims to be an agent is checked before it counts.
        match_layers(read_config(layout.read(manifest.config.digest, LONGEST_CONFIG)), manifest)
    signatures = tuple(_pull_signatures(remote, digest, layout, signature_kind))
    return Pulled(entry, data, tuple(contents.children), signatures, frozenset(contents.left_out))


def _same(digest: str, algorithm: str) -> str:
    return digest if digest.startswith(f"{algorithm}:") else ""


def _pull_blob(remote: Remote, descriptor: Descriptor, layout: Layout) -> None:
    algorithm, _, wanted = descriptor.digest.partition(":")
    blobs = layout.blobs(descriptor.digest)
    staged = remote.blob(descriptor, blobs.stage)
    if staged.sha256 != wanted:
        blobs.drop(staged)
        raise ImageRefused(f"the registry gives {algorithm}:{staged.sha256} in place of {descriptor.digest}")
    layout.place(staged, algorithm)


def _check(data: bytes, descriptor: Descriptor) -> None:
    algorithm, _, wanted = descriptor.digest.partition(":")
    if new_hash(algorithm, data).hexdigest() != wanted:
        raise ImageRefused(f"the registry gives something else in place of the manifest {descriptor.digest}")


def _pull_signatures(remote: Remote, digest: str, layout: Layout, kind: str) -> Iterator[tuple[Descriptor, bytes]]:
    """Yield what may be an image's signature, or say where it was built. What is not there, or not whole, is none."""
    data = remote.referrers(digest)
    try:
        listed = _read_index(data)
    except ImageRefused:
        return  # a registry without referrers may answer anything
    signed = [each for each in listed if each.artifact_type == kind][:_MOST_SIGNATURES]
    said = [each for each in listed if each.artifact_type == PROVENANCE_KIND][:_MOST_STATEMENTS]
    for entry in (*signed, *said):
        with suppress(ImageRefused, ImageNotFound):
            _, signature = remote.manifest(entry.digest)
            _check(signature, entry)
            manifest = read_manifest(signature)
            if manifest.subject is not None and manifest.subject.digest == digest and manifest.manifests is None:
                _Contents(remote, layout, _MOST_SIGNED).pull(manifest)
                yield Descriptor(manifest.form, entry.digest, len(signature), artifact_type=manifest.kind), signature


def _read_index(data: bytes) -> tuple[Descriptor, ...]:
    """Return what an index lists. data: empty where there is none. Raises ImageRefused."""
    if not data:
        return ()
    return read_manifest(data).manifests or ()


def settle_pulled(pulled: Pulled, reference: Reference, layout: Layout) -> None:
    """Have a pulled image count under its tag. Raises ImageRefused, OSError."""
    for child, data in reversed(pulled.children):
        layout.settle((), replace(child, annotations={}), data, reference.name, without=pulled.left_out)
    tags = (reference.tag,)
    layout.settle((), pulled.entry, pulled.manifest, reference.name, tags, without=pulled.left_out)
    for signature, data in pulled.signatures:
        layout.settle((), signature, data, reference.name)


def push(remote: Remote, entry: Descriptor, target: str, layout: Layout) -> None:
    """Put an image into a registry, its signatures too. target: the tag. Raises RegistryFailed, ImageRefused."""
    _push_manifest(remote, entry, target, layout)
    signatures = tuple(replace(signature, annotations={}) for signature, _ in layout.referrers(entry.digest))
    # A list: every one is pushed.
    keeps = [_push_manifest(remote, signature, signature.digest, layout) for signature in signatures]
    if not all(keeps):
        _push_referrers(remote, entry.digest, signatures)


def _push_referrers(remote: Remote, digest: str, entries: tuple[Descriptor, ...]) -> None:
    """Tag the list of what is about a manifest, for a registry that keeps none: `sha256-…`."""
    data = remote.referrers(digest)
    before = _read_index(data)
    merged = {entry.digest: entry for entry in (*before, *entries)}
    index = encode(Manifest(2, INDEX, manifests=tuple(merged.values())))
    remote.put_manifest(digest.replace(":", "-"), describe(index, INDEX), index)


def _push_manifest(remote: Remote, entry: Descriptor, target: str, layout: Layout) -> bool:
    data = layout.read(entry.digest, entry.size)
    manifest = read_manifest(data)
    for child in manifest.manifests or ():
        _push_manifest(remote, child, child.digest, layout)
    for descriptor in manifest.blobs:
        stopping.check()
        is_ours = layout.has(descriptor.digest)
        if is_ours and not remote.has_blob(descriptor.digest):
            remote.put_blob(descriptor, partial(layout.blocks, descriptor.digest))
    return remote.put_manifest(target, entry, data)
