"""The registry that we serve: what the OCI distribution API asks of a layout, without HTTP.

Bytes are kept as they came. An upload lives as long as its process: after a kill its client begins anew.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.blobs.blobs import BLOCK, Writer
from oulipoly_engine.core.images.manifest import LONGEST_MANIFEST, Descriptor, Manifest, read_manifest
from oulipoly_engine.core.images.references import is_digest, is_repository, is_tag
from oulipoly_engine.core.images.refusals import ImageRefused
from oulipoly_engine.records import replace
from oulipoly_engine.registry.layout import REF_NAME, REPOSITORY, Layout, is_tagged
from oulipoly_engine.regular_files import open_regular

_IDLE_S = 3600.0  # after which an upload is given up
_MOST_UPLOADS = 256


class RegistryRefused(Exception):
    """What a client asked for cannot be. code, status: of the distribution specification."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def _unknown(what: str, name: str) -> RegistryRefused:
    return RegistryRefused(404, f"{what.upper()}_UNKNOWN", f"{what.replace('_', ' ')} {name[:200]} is not known here")


class Upload:
    """A content that comes in pieces, one after the other; whoever writes holds `busy`."""

    def __init__(self, repository: str, writer: Writer) -> None:
        self.id = uuid.uuid4().hex
        self.repository = repository
        self.busy = threading.Lock()
        self.touched = time.monotonic()
        self._writer = writer
        self._digest = hashlib.sha256()

    @property
    def size(self) -> int:
        """Return how many bytes there are."""
        return self._writer.size

    def write(self, data: bytes) -> None:
        """Take the next piece. Raises OSError."""
        self._writer.write(data)
        self._digest.update(data)
        self.touched = time.monotonic()

    def end(self, layout: Layout, digest: str) -> None:
        """Have the content count. Raises RegistryRefused where it is not what the digest says, OSError."""
        algorithm, _, wanted = digest.partition(":")
        self._writer.flush(syncs=True)
        actual = self._digest.hexdigest()
        if algorithm != "sha256":
            other = hashlib.new(algorithm)
            with open_regular(self._writer.path) as file:
                for block in read_range(file, 0, self.size):
                    other.update(block)
            actual = other.hexdigest()
        if actual != wanted:
            self.abandon()
            raise RegistryRefused(400, "DIGEST_INVALID", f"the content is {algorithm}:{actual}, not {digest}")
        layout.place(self._writer.end(wanted), algorithm)

    def abandon(self) -> None:
        """Remove what was written."""
        self._writer.abandon()


class ServedRegistry:
    """One layout as a registry. Safe to use from several threads; every method blocks and raises RegistryRefused."""

    def __init__(self, folder: Path) -> None:
        self._layout = Layout(folder)
        self._layout.remove_unfinished()
        self._uploads: dict[str, Upload] = {}
        self._lock = threading.Lock()  # of the table of uploads

    def repositories(self) -> list[str]:
        """Return the names of all repositories, in order."""
        return sorted({entry.annotations.get(REPOSITORY, "") for entry in self._layout.entries()} - {""})

    def tags(self, repository: str) -> list[str]:
        """Return the tags of a repository, in order."""
        entries = self._entries(repository)
        if not entries:
            raise _unknown("name", repository)
        begin = len(repository) + 1
        return sorted(entry.annotations[REF_NAME][begin:] for entry in entries if is_tagged(entry))

    def _entries(self, repository: str) -> list[Descriptor]:
        check_name(repository)
        return [entry for entry in self._layout.entries() if entry.annotations.get(REPOSITORY) == repository]

    def blob_size(self, digest: str) -> int:
        """Return the bytes of a content."""
        check_digest(digest)
        try:
            return self._layout.path(digest).stat().st_size
        except OSError as error:
            raise _unknown("blob", digest) from error

    def open_blob(self, digest: str) -> BinaryIO:
        """Return a content's file."""
        self.blob_size(digest)
        try:
            return open_regular(self._layout.path(digest), follows_links=False, buffering=0)
        except OSError as error:
            raise _unknown("blob", digest) from error

    def has_blob(self, digest: str) -> bool:
        """Tell whether a content is there. Its age begins anew: a manifest will name it soon."""
        check_digest(digest)
        try:
            os.utime(self._layout.path(digest))
        except OSError:
            return False
        return True

    def remove_blob(self, digest: str) -> None:
        """Remove a content that no manifest needs."""
        self.blob_size(digest)
        if not self._layout.remove_blob(digest):
            raise RegistryRefused(405, "UNSUPPORTED", f"a manifest needs {digest}: delete that first")

    def begin_upload(self, repository: str) -> Upload:
        """Begin an upload. Raises OSError."""
        check_name(repository)
        with self._lock:
            self._give_up_idle()
            if len(self._uploads) >= _MOST_UPLOADS:
                raise RegistryRefused(429, "TOOMANYREQUESTS", f"{_MOST_UPLOADS} uploads are under way: try again later")
            upload = Upload(repository, self._layout.blobs().open_writer())
            self._uploads[upload.id] = upload
            return upload

    def _give_up_idle(self) -> None:
        oldest = time.monotonic() - _IDLE_S
        for upload in [each for each in self._uploads.values() if each.touched < oldest and not each.busy.locked()]:
            del self._uploads[upload.id]
            upload.abandon()

    def upload(self, repository: str, upload_id: str) -> Upload:
        """Return an upload that is under way."""
        upload = self._uploads.get(upload_id)
        if upload is None or upload.repository != repository:
            raise _unknown("blob_upload", upload_id)
        return upload

    def end_upload(self, upload: Upload, digest: str) -> None:
        """Have an upload's content count. Raises OSError."""
        check_digest(digest)
        self._forget(upload)
        upload.end(self._layout, digest)

    def cancel_upload(self, upload: Upload) -> None:
        """Give an upload up."""
        self._forget(upload)
        upload.abandon()

    def _forget(self, upload: Upload) -> None:
        with self._lock:
            if self._uploads.pop(upload.id, None) is None:
                raise _unknown("blob_upload", upload.id)

    def manifest(self, repository: str, target: str) -> tuple[Descriptor, bytes]:
        """Return a manifest by its tag or digest, as it came."""
        check_name(repository)
        entry = self._layout.find(repository, target)
        if entry is None:
            raise _unknown("manifest", f"{repository}:{target}")
        try:
            return entry, self._layout.read(entry.digest, LONGEST_MANIFEST)
        except ImageRefused as error:
            raise RegistryRefused(500, "UNKNOWN", error.message) from error

    def put_manifest(
        self, repository: str, target: str, data: bytes, media_type: str, tags: Sequence[str] = ()
    ) -> tuple[Descriptor, Manifest]:
        """Keep a manifest, byte for byte. target: a tag or its digest. tags: further ones. Raises OSError."""
        check_name(repository)
        by_digest = ":" in target
        if by_digest:
            check_digest(target)
        for tag in (*tags, *(() if by_digest else (target,))):
            if not is_tag(tag):
                raise RegistryRefused(400, "TAG_INVALID", f"{tag[:200]!r} is not a tag")
        algorithm = target.partition(":")[0] if by_digest else "sha256"
        digest = f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"
        if by_digest and digest != target:
            raise RegistryRefused(400, "DIGEST_INVALID", f"the manifest is {digest}, not {target}")
        try:
            manifest = read_manifest(data)
        except ImageRefused as error:
            raise RegistryRefused(400, "MANIFEST_INVALID", error.message) from error
        media_type = media_type.partition(";")[0].strip()
        if manifest.media_type and media_type and manifest.media_type != media_type:
            what = f"Content-Type is {media_type[:200]}, and its mediaType {manifest.media_type[:200]}"
            raise RegistryRefused(400, "MANIFEST_INVALID", what)
        kind = media_type or manifest.form
        entry = Descriptor(kind, digest, len(data), artifact_type=manifest.kind)
        names = tags if by_digest else (*tags, target)
        try:
            self._layout.settle((), entry, data, repository, names)
        except ImageRefused as error:
            raise RegistryRefused(400, "MANIFEST_BLOB_UNKNOWN", error.message) from error
        return entry, manifest

    def remove_manifest(self, repository: str, target: str) -> None:
        """Remove a tag, or a manifest with all its tags in a repository."""
        check_name(repository)
        if ":" not in target:
            if not self._layout.untag(repository, target):
                raise _unknown("manifest", f"{repository}:{target}")
            return
        check_digest(target)

        def is_meant(entry: Descriptor) -> bool:
            return entry.digest == target and entry.annotations.get(REPOSITORY) == repository

        if not self._layout.remove(is_meant, keeps_rest=True):
            raise _unknown("manifest", f"{repository}@{target}")

    def referrers(self, repository: str, digest: str, kind: str = "") -> Iterator[Descriptor]:
        """Yield what is about a manifest, with the annotations of each. kind: an artifact type; empty: all."""
        check_name(repository)
        check_digest(digest)
        for entry, manifest in self._layout.referrers(digest, repository):
            if not kind or manifest.kind == kind:
                annotations: Mapping[str, str] = manifest.annotations
                yield replace(entry, annotations=dict(annotations), artifact_type=manifest.kind)


def check_name(repository: str) -> None:
    """Raise RegistryRefused for what cannot be a repository."""
    if not is_repository(repository):
        raise RegistryRefused(400, "NAME_INVALID", f"{repository[:200]!r} is not a repository's name")


def check_digest(digest: str) -> None:
    """Raise RegistryRefused for what is not a digest."""
    if not is_digest(digest):
        raise RegistryRefused(400, "DIGEST_INVALID", f"{digest[:200]!r} is not a digest, such as sha256: and 64 digits")


def read_range(file: BinaryIO, begin: int, size: int) -> Iterator[bytes]:
    """Yield so many bytes of a file from a place on, in blocks."""
    file.seek(begin)
    left = size
    while left and (data := file.read(min(left, BLOCK))):
        left -= len(data)
        yield data
