"""One version of an artifact, and how it is told. Pure."""

from __future__ import annotations

import os
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.artifacts.addresses import Address
from oulipoly_engine.core.text.control_characters import replace_hidden
from oulipoly_engine.records import Record

_LONGEST_FILE_NAME = 200  # bytes, of the 255 that file systems take
_LONGEST_SUFFIX = 20


class Removal(Record):
    """Who removed a version, when and why."""

    at: datetime
    actor: str
    reason: str


class NewVersion(Record):
    """What is to be stored, but for its content."""

    address: Address  # without a version
    producer: str | None = None  # the UUID of the invocation that made it
    format_hint: str | None = None
    verdict_line: str | None = None  # what its maker says of it, in one line
    predecessor: int | None = None  # the version that it was made from: nobody may have stored another one since
    labels: tuple[str, ...] = ()


class Version(Record):
    """What is known of a stored one."""

    address: Address  # with its version
    sha256: str  # 64 hexadecimal digits
    content_len: int  # bytes
    created_at: datetime
    producer: str | None = None
    format_hint: str | None = None
    verdict_line: str | None = None
    predecessor: int | None = None
    removal: Removal | None = None
    labels: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """Return which version it is, from 1."""
        return self.address.version or 0

    @property
    def file_name(self) -> str:
        """Return what a file of it may be called: one part of a path, of signs that are seen, never hidden."""
        shown = replace_hidden(self.address.name, lambda _: "_").replace("/", "_").replace("\\", "_")
        shown = shown.strip().lstrip(".-~ ")
        encoded = os.fsencode(shown)
        if len(encoded) > _LONGEST_FILE_NAME:
            stem, suffix = os.path.splitext(encoded)  # noqa: PTH122 - of bytes
            suffix = suffix if len(suffix) <= _LONGEST_SUFFIX else b""
            shown = (stem[: _LONGEST_FILE_NAME - len(suffix)] + suffix).decode(errors="ignore")
        return shown or "artifact"

    def document(self) -> dict[str, object]:
        """Return it as JSON shows it, by the names of the contract's columns; what is said of it without secrets."""
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - a put prints next to nothing

        def shown(text: str | None) -> str | None:
            return None if text is None else redact(text)

        gone = self.removal
        return {
            "address": self.address.text,
            "workflow_run_id": self.address.run,
            "artifact_name": self.address.name,
            "version": self.number,
            "producer_invocation_uuid": self.producer,
            "sha256": self.sha256,
            "content_len": self.content_len,
            "format_hint": shown(self.format_hint),
            "verdict_line": shown(self.verdict_line),
            "predecessor_version": self.predecessor,
            "created_at": to_text(self.created_at),
            "labels": [*self.labels],
            "tombstone": None
            if gone is None
            else {"tombstoned_at": to_text(gone.at), "actor": shown(gone.actor), "reason": shown(gone.reason)},
        }
