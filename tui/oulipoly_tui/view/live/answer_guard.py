"""Whether a key may answer a request: it was seen, and the hand has paused. Pure: the time is given."""

from __future__ import annotations

SEEN_S, PAUSE_S = 0.5, 0.5
HELD_S = 1.0  # a key that is held down comes again after 660 ms at most, then many times a second
_TOO_SOON = "too soon after it came up or got the keys: press it again"
_TYPED_ON = "not answered: that key came in the middle of others"


class AnswerGuard:
    """Knows since when the request is seen, and when the last key came.

    What is typed on while a request comes up, held down or pasted as keys comes without a pause, and answers nothing.
    """

    def __init__(self) -> None:
        self._seen_at: float | None = None
        self._shown: str | None = None
        self._key = ""
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

    def take_key(self, key: str, now: float) -> None:
        """Take note of a key, at the time when it was pressed: it may be heard much later."""
        self._is_after_pause = now - self._key_at >= (HELD_S if key == self._key else PAUSE_S)
        self._key, self._key_at = key, now

    def refuse_key(self) -> str | None:
        """Say why the key that came last answers nothing; None: it may."""
        if self._is_unseen(self._key_at):
            return _TOO_SOON
        return None if self._is_after_pause else _TYPED_ON

    def refuse(self, now: float) -> str | None:
        """Say why nothing is answered now but by a key; None: it may be."""
        if self._is_unseen(now):
            return _TOO_SOON
        return _TYPED_ON if now - self._key_at < PAUSE_S else None

    def _is_unseen(self, now: float) -> bool:
        return self._seen_at is None or now - self._seen_at < SEEN_S
