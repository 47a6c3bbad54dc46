"""What is taken out of everything that the set-up agent's model gets, and that is shown of what it did."""

from __future__ import annotations

from oulipoly_engine.config.base import mask
from oulipoly_engine.core.text.redact import REDACTED, redact, redact_strictly

_SHORTEST = 6  # characters; a shorter word would take innocent text along


class Secrets:
    """The redactor, and the keys that were typed in this set-up, whatever they look like."""

    def __init__(self) -> None:
        self._typed: list[str] = []

    def add(self, secret: str) -> None:
        """Remember what was typed."""
        if len(secret.strip()) >= _SHORTEST:
            self._typed.append(secret.strip())

    def clean(self, text: str) -> str:
        """Return a text without secrets."""
        return redact(self._without_typed(text))

    def clean_output(self, text: str) -> str:
        """Return what a program wrote without secrets, and without anything else that looks drawn.

        Of a CLI's file of JSON, which models like to look at, what stands behind a flag in a list is taken out too.
        """
        is_json = text.lstrip().startswith("{")
        return redact_strictly(mask.lines(self._without_typed(text), [text]) if is_json else self._without_typed(text))

    def _without_typed(self, text: str) -> str:
        for secret in self._typed:
            text = text.replace(secret, REDACTED)
        return text
