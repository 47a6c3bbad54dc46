"""The interactive mode of both faces: type into a box, watch an answer come, several turns, `/exit`."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from datetime import datetime
from typing import NamedTuple

from oulipoly_demo.base import answers, claude_files, codex_files, directives, turn
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.conversation import Conversation, Turn
from oulipoly_demo.base.directives import Directives
from oulipoly_demo.base.options import Style
from oulipoly_demo.clis import screen
from oulipoly_demo.clis.keys import Key, KeyReader
from oulipoly_demo.quota import levels

_TICK_S = 0.1
_PATIENCE_S = 2.0  # how long the first Ctrl-C counts
_STDIN, _STDOUT = 0, 1
_HISTORY_LINES = 500
_INTERRUPTED_TEXT = "  Interrupted."
_HELP = (
    "  /quota  the account's windows",
    "  /clear  a new session",
    "  /model NAME  another model",
    "  /exit   leave",
)


class Answering(NamedTuple):
    """An answer under way."""

    prompt: str
    asked: Directives
    began: float  # monotonic seconds
    next_at: float  # monotonic seconds of the next piece
    pieces: tuple[str, ...] = ()  # not yet shown; empty before the answer is composed
    text: str | None = None  # None: still thinking


class Left(Exception):
    """The user is done; carries the exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__()
        self.code = code


def run(context: CliContext, conversation: Conversation, *, model: str, style: Style, first_prompt: str = "") -> int:
    """Talk until the user leaves; says how to resume and returns the exit code."""
    repl = _Repl(context, conversation, model, style)
    conversation.open(context.now())
    try:
        with screen.raw_terminal() as wake:
            code = repl.talk(wake, first_prompt)
        if repl.conversation.turns:
            _say_how_to_resume(context, repl.conversation.session_id)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return 128 + signal.SIGHUP  # the terminal is gone
    finally:
        repl.conversation.close()
    return code


class _Repl:
    def __init__(self, context: CliContext, conversation: Conversation, model: str, style: Style) -> None:
        self.conversation = conversation
        self._context = context
        self._model = model
        self._style = style
        self._painter = screen.Painter(_STDOUT)
        self._keys = KeyReader()
        self._entry = ""
        self._tail = ""
        self._finished: list[str] = []  # lines that go above the live area with the next drawing
        self._history: list[str] = []
        self._answering: Answering | None = None
        self._warned_at = -_PATIENCE_S
        self._exit_code = 0

    def talk(self, wake: int, first_prompt: str) -> int:
        """Run until the user leaves; wake: readable when a signal came."""
        self._greet()
        try:
            if first_prompt:
                self._submit(first_prompt)
            while True:
                self._draw()
                self._wait(wake)
                self._advance()
        except Left as left:
            self._draw()
            self._painter.finish()
            return left.code

    def _greet(self) -> None:
        vendor = self._context.vendor.capitalize()
        self._show(f"Demo {vendor}: made-up answers, no model is asked. /help tells what can be typed.")
        self._show("")
        for past_turn in self.conversation.turns:
            self._show_turn(past_turn)

    def _wait(self, wake: int) -> None:
        timeout = _TICK_S if self._answering is not None or self._is_warned() else None
        if self._answering is not None:
            timeout = min(_TICK_S, max(0.0, self._answering.next_at - time.monotonic()))
        ready, _, _ = select.select([_STDIN, wake], [], [], timeout)
        if wake in ready:
            self._take_signals(os.read(wake, 64))
        if _STDIN in ready:
            raw = os.read(_STDIN, 4096)
            if not raw:
                raise Left(128 + signal.SIGHUP)  # the terminal is gone
            for key in self._keys.feed(raw):
                self._press(key)

    def _take_signals(self, numbers: bytes) -> None:
        for number in numbers:
            if number == signal.SIGINT:
                self._stop()
            elif number in (signal.SIGTERM, signal.SIGHUP):
                raise Left(128 + number)
            elif number == signal.SIGWINCH:
                self._redraw()

    def _press(self, key: Key) -> None:
        match key.name:
            case "ctrl-c":
                self._stop()
            case "escape" if self._answering is not None:
                self._interrupt()
            case "ctrl-d" if not self._entry and self._answering is None:
                raise Left(self._exit_code)
            case "enter" if self._answering is None:
                self._submit(self._entry)
            case "text":
                self._entry += key.text
            case "newline":
                self._entry += "\n"
            case "backspace":
                self._entry = self._entry[:-1]
            case "ctrl-u":
                self._entry = ""
            case "ctrl-w":
                self._entry = self._entry.rstrip().rpartition(" ")[0]
            case "up":
                self._entry = next(
                    (past_turn.text for past_turn in reversed(self.conversation.turns) if past_turn.role == "user"), ""
                )
            case "ctrl-l":
                self._redraw()

    def _stop(self) -> None:
        if self._answering is not None:
            self._interrupt()
        elif self._entry:
            self._entry = ""
        elif self._is_warned():
            raise Left(self._exit_code)
        else:
            self._warned_at = time.monotonic()

    def _is_warned(self) -> bool:
        return time.monotonic() - self._warned_at < _PATIENCE_S

    def _submit(self, text: str) -> None:
        prompt, self._entry = text.strip(), ""
        if not prompt:
            return
        if prompt.startswith("/"):
            self._command(prompt)
            return
        self._show_turn(Turn("user", prompt))
        self.conversation.begin(prompt, self._model, self._context.now())
        asked = directives.parse(prompt, self._context.account)
        began = time.monotonic()
        self._answering = Answering(prompt, asked, began, began + self._context.thinking_s + asked.sleep_s)

    def _command(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        match name:
            case "/exit" | "/quit":
                raise Left(self._exit_code)
            case "/quota" | "/usage":
                for tier in self._context.meter.read(self._context.now()):
                    self._show(f"  {tier.label:<7} {_bar(tier.spent / tier.capacity)} {_tier_text(tier)}")
            case "/clear":
                self.conversation.close()
                self.conversation = self._new_conversation()
                self.conversation.open(self._context.now())
                self._show("  A new session.")
            case "/model" if argument:
                self._model = turn.model_name(self._context.vendor, argument.strip())
            case _:
                for line_ in _HELP:
                    self._show(line_)
        self._show("")

    def _new_conversation(self) -> Conversation:
        if self._context.vendor == "claude":
            return claude_files.start(self._context, entrypoint="cli")
        return codex_files.start(self._context, source="cli", now=self._context.now())

    def _advance(self) -> None:
        now = time.monotonic()
        at = self._answering
        if at is None or now < at.next_at:
            return
        if at.text is None:
            self._begin_answer(at)
        elif at.pieces:
            self._stream(at.pieces[0])
            self._answering = at._replace(pieces=at.pieces[1:], next_at=now + self._context.pace_s)
        else:
            self._end_answer(at, at.text)

    def _begin_answer(self, at: Answering) -> None:
        if at.asked.stderr is not None:
            self._show(at.asked.stderr)
        failure = turn.refusal(self._context, at.asked)
        if failure is not None:
            self.conversation.fail(failure, self._context.now())
            self._show(f"  ⎿ {failure.text}")
            self._show("")
            self._answering = None
            return
        text = turn.compose(at.asked, self.conversation.turns, self._style)
        self._tail = "● "
        self._answering = at._replace(text=text, pieces=answers.chunks(text), next_at=time.monotonic())

    def _end_answer(self, at: Answering, text: str) -> None:
        turn.settle(self._context, self.conversation, at.prompt, text, self._model)
        self._stream("\n\n")
        self._tail = ""
        self._answering = None
        if at.asked.exit_code is not None:
            self._exit_code = at.asked.exit_code
            raise Left(self._exit_code)

    def _interrupt(self) -> None:
        self.conversation.interrupt(self._context.now())
        if self._tail:
            self._show(self._tail)
        self._tail, self._answering = "", None
        self._show(_INTERRUPTED_TEXT)
        self._show("")

    def _stream(self, piece: str) -> None:
        *lines, self._tail = (self._tail + piece).split("\n")
        for line in lines:
            self._show(line)

    def _show_turn(self, past_turn: Turn) -> None:
        mark = "> " if past_turn.role == "user" else "● "
        for line in (mark + past_turn.text).split("\n"):
            self._show(line)
        self._show("")

    def _show(self, line: str) -> None:
        safe = "".join(character if character.isprintable() or character == "\t" else "�" for character in line)
        self._finished.append(safe.replace("\t", "    "))

    def _draw(self) -> None:
        fresh, self._finished = self._finished, []
        self._history = [*self._history, *fresh][-_HISTORY_LINES:]
        self._painter.draw(screen.frame(self._view()), tuple(fresh))

    def _redraw(self) -> None:
        self._history = [*self._history, *self._finished][-_HISTORY_LINES:]
        self._finished = []
        columns, rows = os.get_terminal_size(_STDOUT)
        picture = screen.frame(self._view())
        height_left = max(0, rows - len(picture.rows))
        wrapped = [row for line in self._history for row in screen.wrap(line, max(1, columns))]
        self._painter.redraw(picture, tuple(wrapped[-height_left:]) if height_left else ())

    def _view(self) -> screen.View:
        columns = os.get_terminal_size(_STDOUT).columns or 80
        hint = "Press Ctrl-C again to exit" if self._is_warned() else ""
        return screen.View(
            self._entry, self._tail, self._busy(), hint, self._status(), columns, colour=self._context.colour
        )

    def _busy(self) -> str:
        if self._answering is None:
            return ""
        elapsed = time.monotonic() - self._answering.began
        mark = screen.SPINNER[int(elapsed / _TICK_S) % len(screen.SPINNER)]
        doing = "Thinking" if self._answering.text is None else "Answering"
        return f"{mark} {doing}… ({int(elapsed)}s · esc to interrupt)"

    def _status(self) -> str:
        tiers = self._context.meter.read(self._context.now())
        windows = " · ".join(f"{tier.label} {_tier_text(tier)}" for tier in tiers)
        return f" {self._model} · {self._context.account} · {windows} · demo"


def _tier_text(tier: levels.Tier) -> str:
    reset = ""
    if tier.resets_at is not None:
        local = datetime.fromtimestamp(tier.resets_at).astimezone()
        reset = f" → {local:%H:%M}" if tier.length_s < 86400 else f" → {local:%a %H:%M}"
    return f"{levels.used_percent(tier):.1f}%{reset}"


def _bar(used: float) -> str:
    full = round(20 * used)
    return "█" * full + "░" * (20 - full)


def _say_how_to_resume(context: CliContext, session_id: str) -> None:
    if context.vendor == "claude":
        text = f"Resume this session with:\n{context.account} --resume {session_id}\n"
    else:
        text = f"To continue this session, run:\n  {context.account} resume {session_id}\n"
    os.write(_STDOUT, text.encode())
