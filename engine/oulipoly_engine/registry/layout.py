"""An OCI image layout that holds many repositories.

    FOLDER/oci-layout            the version
    FOLDER/index.json            one entry a tag, and one for each manifest that has none
    FOLDER/blobs/sha256/HASH     every content, manifests too, byte for byte as it came

`skopeo inspect oci:FOLDER:NAME:TAG` reads it. An entry's annotations say its repository and, for a tag, NAME:TAG.
Contents are placed before the index names them and collected only while the layout is locked and they are old enough,
so that a kill between two steps leaves at most contents that nobody needs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from oulipoly_engine.blobs.blobs import BlobDamaged, Blobs, Form, Staged
from oulipoly_engine.core.images.manifest import INDEX, LONGEST_MANIFEST, Descriptor, Manifest, encode, read_manifest
from oulipoly_engine.core.images.references import is_digest
from oulipoly_engine.core.images.refusals import ContentMissing, ImageNotFound, ImageRefused
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.private_files import make_folder, open_private, sync_folder, write_private
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.records import prepare, replace
from oulipoly_engine.regular_files import read_regular

REF_NAME = "org.opencontainers.image.ref.name"
REPOSITORY = "io.oulipoly.repository"
_PATIENCE_S = 10.0  # for the index, which another process changes in milliseconds
_YOUNG_S = 24 * 3600.0  # contents that no manifest names yet may be part of a push or a pull that is under way
_LONGEST_INDEX = 64 << 20  # bytes
_ALGORITHMS = ("sha256", "sha512")


class Layout:
    """One layout, which need not be there yet. Safe to use from several threads and processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._blobs = {name: Blobs(folder / "blobs" / name, Form(is_flat=True, algorithm=name)) for name in _ALGORITHMS}
        self._known: tuple[object, tuple[Descriptor, ...]] = (None, ())

    def blobs(self, digest: str = "sha256:") -> Blobs:
        """Return where contents of the digest's algorithm lie; nothing may be added to it but by `settle`."""
        return self._blobs[digest.partition(":")[0]]

    def path(self, digest: str) -> Path:
        """Return where a content lies. Raises ImageRefused for what is not a digest."""
        if not is_digest(digest):
            raise ImageRefused(f"{digest[:80]!r} is not a digest")
        return self.blobs(digest).path(digest.partition(":")[2])

    def has(self, digest: str) -> bool:
        """Tell whether a content is there."""
        return self.path(digest).is_file()

    def read(self, digest: str, limit: int) -> bytes:
        """Return a content of at most `limit` bytes, checked. Raises ImageRefused, ImageNotFound."""
        if not self.has(digest):
            raise ImageNotFound(f"the content {digest} is not there: pull or build the image again")
        try:
            return self.blobs(digest).read(digest.partition(":")[2], limit)
        except BlobDamaged as error:
            raise _refuse_damaged(digest, error) from error

    def blocks(self, digest: str) -> Iterator[bytes]:
        """Yield a content in blocks, checked behind the last. Raises ImageRefused."""
        try:
            yield from self.blobs(digest).blocks(digest.partition(":")[2])
        except BlobDamaged as error:
            raise _refuse_damaged(digest, error) from error

    def place(self, staged: Staged, algorithm: str = "sha256") -> None:
        """Give a staged content its name. Raises OSError."""
        blobs = self._blobs[algorithm]
        make_folder(blobs.folder)
        try:
            blobs.place(staged)
        finally:
            blobs.drop(staged)

    def entries(self) -> tuple[Descriptor, ...]:
        """Return all entries of the index. Raises ImageRefused where it cannot be read."""
        path = self.folder / "index.json"
        try:
            status = path.stat()
            mark = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._known[0] == mark:
                return self._known[1]
            index = msgspec.json.decode(read_regular(path, _LONGEST_INDEX), type=prepare(Manifest))
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ImageRefused(
                f"{path} cannot be read: {why}: move its folder away, and get the images anew"
            ) from error
        self._known = (mark, index.manifests or ())
        return self._known[1]

    def tags(self) -> Mapping[str, Descriptor]:
        """Return each NAME:TAG with what it means, in order."""
        return dict(sorted((entry.annotations[REF_NAME], entry) for entry in self.entries() if is_tagged(entry)))

    def find(self, repository: str, target: str) -> Descriptor | None:
        """Return what a tag or a digest of a repository means, or nothing."""
        for entry in self.entries():
            is_named = entry.annotations.get(REF_NAME) == f"{repository}:{target}"
            if is_named or (entry.digest == target and entry.annotations.get(REPOSITORY) == repository):
                return entry
        return None

    def referrers(self, digest: str, repository: str = "") -> Iterator[tuple[Descriptor, Manifest]]:
        """Yield the manifests that are about another one. repository: theirs; empty: all."""
        seen = set()
        for entry in self.entries():
            is_ours = not repository or entry.annotations.get(REPOSITORY) == repository
            if is_ours and entry.digest not in seen and self.has(entry.digest):
                seen.add(entry.digest)
                manifest = read_manifest(self.read(entry.digest, LONGEST_MANIFEST))
                if manifest.subject is not None and manifest.subject.digest == digest:
                    yield entry, manifest

    def settle(
        self,
        contents: Iterable[bytes],
        manifest: Descriptor,
        data: bytes,
        repository: str,
        tags: Iterable[str] = (),
        *,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """Write contents and a manifest over them, and have tags of a repository mean it; without one it is listed too.

        without: digests of manifests that an index may lack. Raises ContentMissing where the manifest names a content
        that is not there, OSError.
        """
        with self._changing():
            self._add("sha256:", contents)
            self._check_complete(read_manifest(data), without)
            self._add(manifest.digest, (data,))
            bare = replace(manifest, annotations={REPOSITORY: repository})
            named = [replace(bare, annotations=bare.annotations | {REF_NAME: f"{repository}:{tag}"}) for tag in tags]
            self._put(named or [bare])

    def _add(self, digest: str, contents: Iterable[bytes]) -> None:
        blobs = self.blobs(digest)
        try:
            for content in contents:
                blobs.add(content)
            blobs.settle()
        finally:
            blobs.abandon()

    def _check_complete(self, manifest: Manifest, without: frozenset[str]) -> None:
        parts = (part for part in manifest.manifests or () if part.digest not in without)
        for descriptor in (*manifest.blobs, *parts):
            # Layers that may not be handed on lie elsewhere.
            is_elsewhere = bool(descriptor.urls) or "nondistributable" in descriptor.media_type
            if not is_elsewhere and not self.has(descriptor.digest):
                raise ContentMissing(f"its manifest names {descriptor.digest}, which is not there")

    def _put(self, entries: Iterable[Descriptor]) -> None:
        """Put entries into the index, in place of those of the same tag."""
        new = list(entries)
        names = {entry.annotations[REF_NAME] for entry in new if is_tagged(entry)}
        kept = [entry for entry in self.entries() if entry.annotations.get(REF_NAME) not in names]
        for moved in [entry for entry in self.entries() if entry not in kept]:
            # A manifest that loses its tag stays reachable by its digest.
            bare = replace(moved, annotations={REPOSITORY: moved.annotations.get(REPOSITORY, "")})
            if not any(_is_same(bare, entry) for entry in (*kept, *new)):
                kept.append(bare)
        kept = [entry for entry in kept if is_tagged(entry) or not any(_is_same(entry, other) for other in new)]
        self._write([*kept, *new])

    def tag(self, source: Descriptor, repository: str, tag: str) -> None:
        """Have a tag mean what another one means."""
        with self._changing():
            if not self.has(source.digest):
                raise ImageNotFound(f"{source.digest} is not there any more")
            self._put([replace(source, annotations={REPOSITORY: repository, REF_NAME: f"{repository}:{tag}"})])

    def untag(self, repository: str, tag: str) -> bool:
        """Remove a tag; what it means stays, by its digest. Returns whether it was there."""
        with self._changing():
            entry = self.find(repository, tag)
            if entry is None or not is_tagged(entry):
                return False
            left = [each for each in self.entries() if each.annotations != entry.annotations]
            bare = replace(entry, annotations={REPOSITORY: repository})
            is_named = any(_is_same(bare, each) for each in left)
            self._write(left if is_named else [*left, bare])
            return True

    def remove(self, is_removed: Callable[[Descriptor], bool], *, keeps_rest: bool = False) -> tuple[Descriptor, ...]:
        """Remove entries, what is about them, and contents that nobody needs; return the entries.

        keeps_rest: what is about them stays, and contents until they are old: their owner removes each by itself.
        """
        with self._changing():
            entries = self.entries()
            removed = [entry for entry in entries if is_removed(entry)]
            left = [entry for entry in entries if entry not in removed]
            gone = {entry.digest for entry in removed} - {entry.digest for entry in left}
            orphaned = set() if keeps_rest else set(gone)
            for digest in [*orphaned]:
                about = {entry.digest for entry, _ in self.referrers(digest)}
                left = [entry for entry in left if entry.digest not in about or is_tagged(entry)]
                orphaned |= about - {entry.digest for entry in left}
            if removed:
                self._write(left)
                self._collect(orphaned)
            return tuple(removed)

    def remove_blob(self, digest: str) -> bool:
        """Remove a content that no manifest needs; return whether it was removed."""
        with self._changing():
            if digest in self._reachable():
                return False
            self.blobs(digest).remove(digest.partition(":")[2])
            return True

    def remove_unfinished(self) -> None:
        """Remove what killed writers have left; what somebody writes is locked, and stays."""
        for blobs in self._blobs.values():
            blobs.collect(lambda _: True)

    def _reachable(self) -> set[str]:
        """Return the digests of all that the index leads to."""
        digests: set[str] = set()
        waiting = [entry.digest for entry in self.entries()]
        while waiting:
            digest = waiting.pop()
            if digest in digests or not self.has(digest):
                continue
            digests.add(digest)
            manifest = self._read_if_whole(digest)
            digests.update(each.digest for each in manifest.blobs)
            waiting += [each.digest for each in manifest.manifests or ()]
        return digests

    def _read_if_whole(self, digest: str) -> Manifest:
        """Return a manifest; one that is damaged needs nothing."""
        with suppress(ImageRefused):
            return read_manifest(self.read(digest, LONGEST_MANIFEST))
        return Manifest(2)

    def _collect(self, orphaned: set[str]) -> None:
        """Remove what is not needed: what manifests that are gone needed, and what is old."""
        doomed = set(orphaned)
        for digest in orphaned:
            if self.has(digest):
                doomed.update(each.digest for each in self._read_if_whole(digest).blobs)
        kept = self._reachable()
        oldest = time.time() - _YOUNG_S
        for algorithm, blobs in self._blobs.items():

            def is_kept(value: str, algorithm: str = algorithm, blobs: Blobs = blobs) -> bool:
                digest = f"{algorithm}:{value}"
                is_young = digest not in doomed and blobs.path(value).stat().st_mtime > oldest
                return digest in kept or is_young

            blobs.collect(is_kept)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep others from changing the index for the block. Raises RequestRefused."""
        with hold_lock(self.folder / ".lock", _PATIENCE_S) as is_ours:
            if not is_ours:
                raise RequestRefused(f"another process changes {self.folder}: try again when it has ended")
            marker = self.folder / "oci-layout"
            if not marker.exists():
                write_private(marker, b'{"imageLayoutVersion":"1.0.0"}')
            yield

    def _write(self, entries: Iterable[Descriptor]) -> None:
        data = encode(Manifest(2, INDEX, manifests=tuple(entries)))
        fresh = self.folder / ".index.json.new"  # the lock is ours
        with os.fdopen(open_private(fresh, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.folder / "index.json")
        sync_folder(self.folder)


def _refuse_damaged(digest: str, error: BlobDamaged) -> ImageRefused:
    return ImageRefused(f"the content {digest} is damaged ({error}): remove the image, and get it anew")


def is_tagged(entry: Descriptor) -> bool:
    """Tell whether an entry of an index is that of a tag."""
    return REF_NAME in entry.annotations


def _is_same(entry: Descriptor, other: Descriptor) -> bool:
    is_of_one = entry.annotations.get(REPOSITORY) == other.annotations.get(REPOSITORY)
    return is_of_one and entry.digest == other.digest
