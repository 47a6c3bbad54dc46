"""Any line-oriented CLI: what it prints is the answer, which ends at a marker line, a pause or its prompt. Pure.

It has no words for anything else: no approvals, no interrupt, no session to resume. A message is one line to it, so
that line breaks become blanks.
"""

from __future__ import annotations

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    Item,
    Notice,
    SessionFailed,
    SessionOpened,
    TurnEnd,
    TurnEnded,
    TurnStarted,
)
from oulipoly_engine.drivers.base import Capabilities, Driver, Opening
from oulipoly_engine.drivers.json_values import without_halves
from oulipoly_engine.drivers.turn_items import TurnItems

_QUIET_S = 0.8  # after its last output (spec: 0.5 to 0.8)
_PROMPT_S = (
    0.15  # the same behind a prompt; more output than one reading gives may come behind what only looks like one
)
_PROMPTS = ("> ", "$ ", "# ", "\u276f ")


class PlainDriver(Driver):
    """One process that reads lines and prints lines."""

    kind = "plain"
    resumes = False

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self.capabilities = Capabilities()
        self._marker = opening.marker.strip()
        self._items = TurnItems(self._say)
        self._turn_id = ""  # of the turn that runs
        self._has_turns = False  # one was sent
        self._message = ""  # the item's id
        self._count = 0
        self._partial = ""  # behind the last newline
        self._told = ""  # as much of it as was told already, or was there before the turn
        self._has_output = False  # in this turn
        self._is_fresh = False  # something came since the last tick
        self._since = 0.0

    @classmethod
    def words(cls, opening: Opening) -> tuple[str, ...]:
        """Return the words that make the program read lines, and the user's own."""
        return (*opening.start_words, *opening.args)

    def begin(self) -> None:
        """Say that it is ready: nobody can tell otherwise."""
        if self.opening.resume:
            text = "a plain session ends with its process, and cannot be resumed or forked"
            self._say(SessionFailed(failures.THREAD_LOST, text))
            return
        self._say(SessionOpened(self.opening.new_id, self.opening.model))

    def send(self, turn_id: str, text: str) -> None:
        """Begin a turn."""
        self._begin(turn_id)
        self._has_turns = True
        self._items.add(Item(f"user/{turn_id}", "user_message", "completed", text))
        self._write(" ".join(without_halves(text).split("\n")).encode() + b"\n")

    def interrupt(self) -> None:
        """Say that it cannot be done. Raises NotSupported."""
        raise self._unable("interrupt a turn: cancel the session")

    def receive(self, line: bytes) -> None:
        """Take one line of the answer."""
        text = line.decode("utf-8", "replace").removesuffix("\r").removeprefix(self._told)
        self._partial = self._told = ""
        if self._marker and text.strip() == self._marker:
            if self._turn_id:
                self._end("completed")
            return
        if not self._turn_id and not self._has_turns:
            if text.strip():
                self._say(Notice(text, "info", "banner"))
            return
        self._append(f"{text}\n")

    def receive_partial(self, text: bytes) -> None:
        """Take what stands behind the last newline: a prompt, or the beginning of a line."""
        partial = text.decode("utf-8", "replace")
        if partial == self._partial:
            return
        self._partial = partial
        if self._turn_id and partial != self._told:
            self._has_output = self._is_fresh = True

    def tick(self, now: float) -> float | None:
        """End the turn when nothing more comes."""
        if not self._turn_id or not self._has_output or self._marker:
            return None
        if self._is_fresh:
            self._is_fresh, self._since = False, now
        left = self._since + (_PROMPT_S if self._is_prompt() else _QUIET_S) - now
        if left > 0:
            return left
        self._end("completed")
        return None

    def closed(self) -> None:
        """Take the end of stdout."""
        self._tell_partial()
        self._items.end_all("interrupted")

    def _begin(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._has_output = self._is_fresh = False
        self._message, self._told = "", self._partial
        self._say(TurnStarted())

    def _append(self, text: str) -> None:
        if not self._turn_id:  # it goes on after a pause, or says something by itself
            self._count += 1
            self._begin(f"own-{self._count}")
        if not self._message:
            self._message = f"message/{self._turn_id}"
            self._items.start(Item(self._message, "agent_message"))
        self._items.append(self._message, text)
        self._has_output = self._is_fresh = True

    def _is_prompt(self) -> bool:
        return self._partial.endswith(_PROMPTS)

    def _tell_partial(self) -> None:
        """Tell the beginning of a line that is not finished and is no prompt."""
        rest = self._partial.removeprefix(self._told)
        if self._turn_id and rest.strip() and not self._is_prompt():
            self._append(rest)
        self._told = self._partial

    def _end(self, status: TurnEnd) -> None:
        self._tell_partial()
        ended = self._items.end(self._message) if self._message else None
        self._items.end_all("interrupted")
        self._turn_id = ""
        self._say(TurnEnded(status, reply=ended.text.strip() if ended else ""))
