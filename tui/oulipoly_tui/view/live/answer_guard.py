"""Whether a key may answer a request: it was seen, and the hand has paused. Pure: the time is given."""

from __future__ import annotations

SEEN_S, PAUSE_S = 0.5, 0.5
_TOO_SOON = "too soon: the request has just come up"
_TYPED_ON = "not answered: that key came in the middle of others"


class AnswerGuard:
    """Knows since when the request is seen, and when the last key came.

    What is typed on while a request comes up, held down or pasted as keys comes without a pause, and answers nothing.
    """

    def __init__(self) -> None:
        self._seen_at: float | None = None
        self._shown: str | None = None
        self._key_at = float("-inf")
        self._is_after_pause = True

    def show(self, request_id: str | None, now: float) -> None:
        """Take note of which request is seen."""
        if request_id != self._shown:
            self._shown, self._seen_at = request_id, now

    def cover(self, now: float) -> None:
        """Take note that it was out of sight, or that the keys went elsewhere, until now."""
        self._seen_at = now
        self._key_at, self._is_after_pause = now, False

    def take_key(self, now: float) -> None:
        """Take note of a key."""
        self._is_after_pause = now - self._key_at >= PAUSE_S
        self._key_at = now

    def refuse(self, now: float) -> str | None:
        """Say why nothing is answered now; None: it may be."""
        if self._seen_at is None or now - self._seen_at < SEEN_S:
            return _TOO_SOON
        if not self._is_after_pause and now - self._key_at < PAUSE_S:
            return _TYPED_ON
        return None
