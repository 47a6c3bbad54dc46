"""The receipts in a return channel: appended by a run's programs, and read by its runner when the CLI has ended.

Contract: section 14. Nothing is believed that the artifact store does not bear out.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine import variables
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address, check_uuid
from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact, parse_receipts, receipt_line
from oulipoly_engine.core.artifacts.versions import Version
from oulipoly_engine.errors import ArtifactMisused, ArtifactStoreUnusable
from oulipoly_engine.regular_files import check_regular, read_regular
from oulipoly_engine.service.artifacts.artifact_store import opened

_LARGEST = 8 << 20  # bytes of a channel: some 10,000 receipts


def read_receipts(channel: Path, uuid: str, store: Path) -> tuple[ReturnedArtifact, ...]:
    """Return what a run has handed back. store: the artifact store, which has to bear out every receipt.

    Raises ArtifactError, which says what is wrong with which receipt.
    """
    receipts = parse_receipts(_read_lines(channel), uuid)
    if receipts:
        with opened(store, SystemClock()) as lent:  # a clock that nobody asks: nothing is written
            for one in receipts:
                version = lent.file.find(one.address)
                _compare(one, version, uuid)
                if not lent.is_there(version):
                    raise ArtifactMisused(f"the content of {one.version_id} is not in the artifact store")
    return receipts


def _read_lines(channel: Path) -> list[bytes]:
    try:
        return read_regular(channel, _LARGEST, follows_links=False).split(b"\n")
    except OSError as error:
        raise ArtifactStoreUnusable(f"the return channel cannot be read: {error.strerror or error}") from error


def _compare(one: ReturnedArtifact, version: Version, uuid: str) -> None:
    """Refuse a receipt that says anything else than the store."""
    for name, said, stored in (
        ("sha256", one.sha256, version.sha256),
        ("content_len", one.content_len, version.content_len),
        ("format_hint", one.format_hint, version.format_hint),
        ("verdict_line", one.verdict_line, version.verdict_line),
        ("producer_invocation_uuid", uuid, version.producer),
    ):
        if said != stored:
            message = f"the receipt of {one.version_id} says {name} {said!r:.80}, and the artifact store {stored!r:.80}"
            raise ArtifactMisused(message)


def find_channel(environ: Mapping[str, str], given: str | None) -> Path:
    """Return the return channel of the run that we are in. Raises ArtifactMisused where there is none to write to."""
    text = given or environ.get(variables.RETURN_CHANNEL)
    if not text:
        name = variables.RETURN_CHANNEL
        raise ArtifactMisused(f"nobody waits for what is returned: {name} is not set, and no --return-channel is given")
    path = Path(text)
    try:
        check_regular(path.stat(), path)
    except (OSError, ValueError) as error:
        raise ArtifactMisused(f"the return channel {path} is not there: its run has ended, or never was") from error
    return path


def append_receipt(channel: Path, version: Version, source: Mapping[str, object], uuid: str) -> ReturnedArtifact:
    """Tell the caller of a version that was stored for it. Raises ArtifactStoreUnusable."""
    address: Address = version.address
    returned = ReturnedArtifact(
        version_id=address.text,
        name=address.name,
        workflow_run_id=address.run,
        artifact_name=address.name,
        version=version.number,
        sha256=version.sha256,
        content_len=version.content_len,
        format_hint=version.format_hint,
        verdict_line=version.verdict_line,
        source=source,
        returned_at=version.created_at,
    )
    line = receipt_line(returned, check_uuid(uuid))
    try:
        descriptor = os.open(channel, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # programs of one run may return at once
            before = os.fstat(descriptor).st_size
            if os.write(descriptor, line) != len(line):
                os.ftruncate(descriptor, before)  # half a line would spoil the receipts of others
                raise OSError(0, "its disk is full")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        message = f"the return channel {channel} takes no receipt: {error.strerror or error}"
        raise ArtifactStoreUnusable(message) from error
    return returned
