"""What an invocation has handed back to its caller: the receipt of one version of an artifact. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.records import Record


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
        """Return it as `trace --json` shows it. producer_uuid: the invocation that has handed it back."""
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

    def line(self) -> str:
        """Return it as one line of text; what its maker wrote cannot drive the terminal, nor begin another line."""
        from oulipoly_engine.core.transcripts.sanitize import readable  # noqa: PLC0415 - 5 ms, and few runs hand anything back

        said = f"  {self.verdict_line}" if self.verdict_line else ""
        return " ".join(readable(f"{self.name} v{self.version} {self.sha256}{said}").splitlines())
