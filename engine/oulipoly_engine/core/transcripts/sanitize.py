"""Make a transcript's text fit to be shown: secrets out, control characters visible. Pure."""

from __future__ import annotations

import re

from oulipoly_engine.core.text.control_characters import visible_text
from oulipoly_engine.core.text.redact import REDACTED, redact
from oulipoly_engine.core.transcripts.dialogue import Entry, Findings
from oulipoly_engine.records import replace

_COLOUR = re.compile(r"\x1b\[[0-9;:?]{0,64}[A-Za-z]|\x1b\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)")


class Visible:
    """Prepares texts and counts the secrets that were taken out."""

    def __init__(self, *, redacting: bool = True) -> None:
        self.redacting = redacting
        self.secrets = 0

    def text(self, raw: str) -> str:
        """Return a text as it may be shown."""
        text = readable(raw)
        if not self.redacting:
            return text
        shown = redact(text)
        if shown != text:
            self.secrets += max(shown.count(REDACTED) - text.count(REDACTED), 1)
        return shown

    def entry(self, entry: Entry) -> Entry:
        """Return an entry as it may be shown."""
        parts = tuple(replace(part, text=self.text(part.text), label=self.text(part.label)) for part in entry.parts)
        model = None if entry.model is None else self.text(entry.model)
        role = readable(entry.role)
        return replace(
            entry, role=role, at=self.text(entry.at), parts=parts, entry_id=self.text(entry.entry_id), model=model
        )

    def findings(self, found: Findings) -> Findings:
        """Return what was found as it may be shown."""
        return replace(
            found,
            models=[self.text(model) for model in found.models],
            workspaces=[self.text(folder) for folder in found.workspaces],
            first_at=self.text(found.first_at),
            last_at=self.text(found.last_at),
            forked_from=self.text(found.forked_from),
        )


def readable(text: str) -> str:
    """Return a text without terminal colours, its other control characters as visible ones."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return visible_text(text)
