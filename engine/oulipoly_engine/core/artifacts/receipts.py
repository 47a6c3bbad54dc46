"""What an invocation has handed back to its caller: the receipt of one version of an artifact. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated

import msgspec

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.artifacts.addresses import RETURN, Address, parse_returned
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.errors import ArtifactMisused
from oulipoly_engine.records import Record, prepare

SCHEMA_VERSION = 1


class ReturnedArtifact(Record):
    """One receipt; the bytes themselves lie in the artifact store."""

    version_id: str  # store://return/<uuid>/<percent-encoded name>/<version>
    name: str
    workflow_run_id: str  # with the next two: the address in the artifact store
    artifact_name: str
    version: int  # from 1
    sha256: str  # 64 hexadecimal digits
    content_len: int  # bytes
    format_hint: str | None
    verdict_line: str | None  # what its maker says of it, in one line
    source: Mapping[str, object]  # {"kind": "inline_bytes"}, or {"kind": "scratchpad", "name": .., "version": ..}
    returned_at: datetime

    def document(self, producer_uuid: str) -> dict[str, object]:
        """Return it as JSON. producer_uuid: the invocation that has handed it back."""
        return {
            "version_id": self.version_id,
            "name": self.name,
            "store_address": {
                "workflow_run_id": self.workflow_run_id,
                "artifact_name": self.artifact_name,
                "version": self.version,
            },
            "sha256": self.sha256,
            "content_len": self.content_len,
            "format_hint": self.format_hint,
            "verdict_line": self.verdict_line,
            "source": dict(self.source),
            "producer_invocation_uuid": producer_uuid,
            "returned_at": to_text(self.returned_at),
        }

    def shown(self, producer_uuid: str) -> dict[str, object]:
        """Return its document as results and `trace --json` show it, without secrets in what its maker says of it."""
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, and few runs hand anything back

        verdict = None if self.verdict_line is None else redact(self.verdict_line)
        return self.document(producer_uuid) | {"verdict_line": verdict}

    def line(self) -> str:
        """Return it as one line of text; what its maker wrote cannot drive the terminal, nor begin another line."""
        return self._line(self.sha256)

    def short_line(self) -> str:
        """Return it as `line`, with its size and the beginning of its hash."""
        return self._line(f"{self.sha256[:12]} {size_text(self.content_len)}")

    def _line(self, what: str) -> str:
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - as above
        from oulipoly_engine.core.transcripts.sanitize import readable  # noqa: PLC0415 - as above, 5 ms

        said = f"  {self.verdict_line}" if self.verdict_line else ""
        return " ".join(readable(redact(f"{self.name} v{self.version} {what}{said}")).splitlines())

    @property
    def address(self) -> Address:
        """Return where it lies in the artifact store."""
        return Address(self.workflow_run_id, self.artifact_name, self.version)


def receipt_line(returned: ReturnedArtifact, producer_uuid: str) -> bytes:
    """Return the line that goes to the return channel, with its newline."""
    body = {"schema_version": SCHEMA_VERSION} | returned.document(producer_uuid)
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class _StoreAddress(msgspec.Struct, forbid_unknown_fields=True):
    workflow_run_id: str
    artifact_name: str
    version: int


class _InlineBytes(msgspec.Struct, tag_field="kind", tag="inline_bytes"):
    pass


class _Scratchpad(msgspec.Struct, tag_field="kind", tag="scratchpad"):
    name: str
    version: Annotated[int, msgspec.Meta(ge=1)]


class _Receipt(msgspec.Struct):
    """What a line of the channel has; what a later version adds is not looked at."""

    schema_version: int
    version_id: str
    name: str
    store_address: _StoreAddress
    sha256: str
    content_len: int
    source: _InlineBytes | _Scratchpad
    producer_invocation_uuid: str
    returned_at: str
    format_hint: str | None = None
    verdict_line: str | None = None


_DECODER = msgspec.json.Decoder(prepare(_Receipt))


def parse_receipts(lines: Iterable[bytes], uuid: str) -> tuple[ReturnedArtifact, ...]:
    """Read the lines of an invocation's return channel. Raises ArtifactMisused, which names the line and the field.

    Every receipt must be this invocation's own, and say the same place by its address and by its id; nothing is
    returned twice.
    """
    found: dict[str, ReturnedArtifact] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = _parse(line, uuid)
        except (ValueError, RecursionError, ArtifactMisused) as error:  # msgspec's errors are ValueErrors
            message = f"line {number} of the return channel is not a receipt: {str(error)[:300]}"
            raise ArtifactMisused(message) from error
        if one.version_id in found:
            raise ArtifactMisused(f"line {number} of the return channel returns {one.version_id} a second time")
        found[one.version_id] = one
    return tuple(found.values())


def _parse(line: bytes, uuid: str) -> ReturnedArtifact:
    read = _DECODER.decode(line)
    if read.schema_version != SCHEMA_VERSION:
        raise ValueError(f"schema_version is {read.schema_version}, and {SCHEMA_VERSION} is known")
    if read.producer_invocation_uuid.lower() != uuid:
        raise ValueError(f"producer_invocation_uuid is {read.producer_invocation_uuid[:80]!r}, and this run is {uuid}")
    at = read.store_address
    address = parse_returned(read.version_id)
    if address != Address(at.workflow_run_id, at.artifact_name, at.version) or read.name != address.name:
        raise ValueError(f"store_address and name do not say what version_id says: {read.version_id[:200]}")
    if address.run != RETURN + uuid:
        raise ValueError(f"version_id is another run's: {read.version_id[:200]}")
    if len(read.sha256) != _HASH_DIGITS or set(read.sha256) - set("0123456789abcdef"):
        raise ValueError(f"sha256 is not 64 hexadecimal digits: {read.sha256[:80]!r}")
    return ReturnedArtifact(
        version_id=read.version_id,
        name=read.name,
        workflow_run_id=at.workflow_run_id,
        artifact_name=at.artifact_name,
        version=at.version,
        sha256=read.sha256,
        content_len=read.content_len,
        format_hint=read.format_hint,
        verdict_line=read.verdict_line,
        source=msgspec.to_builtins(read.source),
        returned_at=from_text(read.returned_at),
    )


_HASH_DIGITS = 64
