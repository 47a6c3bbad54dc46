"""Collect what a child does besides drawing, until it is asked for; bounded, because a child may do it for ever."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from oulipoly_engine.terminal.protocol.cell_text import clean_label
from oulipoly_engine.terminal.protocol.screen import SideEffects

_LABEL = 1024  # characters of a title, a notice or a folder
_KEPT = 16  # notices and copies between two questions; the newest win
COPY_BYTES = 4 << 20  # of one OSC 52 text
PROGRESS_ENDED = -1  # progress: there is none any more


class SideEffectLog:
    """The side effects since the last call of `take`."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.bells = 0
        self.progress: int | None = None
        self._title: str | None = None
        self._folder: str | None = None
        self._copied: list[str] = []
        self._notices: list[str] = []
        self._replies: list[bytes] = []

    def set_title(self, text: str) -> None:
        """Set the title."""
        self._title = clean_label(text, _LABEL)

    def set_folder(self, uri: str) -> None:
        """Set the folder from OSC 7, unless it is another machine's."""
        parts = urlsplit(uri) if uri.isprintable() and "[" not in uri else None
        if parts is None or parts.scheme not in {"file", "kitty-shell-cwd"}:
            return
        if parts.netloc in {"", "localhost", os.uname().nodename}:
            path = unquote(parts.path) if parts.scheme == "file" else parts.path
            if path.startswith("/") and path.isprintable() and len(path) <= _LABEL:
                self._folder = path

    def add_copy(self, text: str) -> None:
        """Add a text for the clipboard."""
        self._copied = [*self._copied[1 - _KEPT :], text]

    def add_notice(self, *parts: str) -> None:
        """Add a notice, made of a title and a text, or of one of them."""
        text = clean_label(": ".join(part for part in parts if part), _LABEL)
        if text:
            self._notices = [*self._notices[1 - _KEPT :], text]

    def add_reply(self, data: bytes) -> None:
        """Add an answer to one of its queries."""
        self._replies.append(data)

    def take(self) -> SideEffects:
        """Return everything and forget it."""
        effects = SideEffects(
            self._title,
            self._folder,
            self.bells,
            tuple(self._copied),
            tuple(self._notices),
            b"".join(self._replies),
            self.progress,
        )
        self._forget()
        return effects
