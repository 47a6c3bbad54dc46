"""Questions on a terminal: shown on stderr, answered by a line; a wrong answer asks again."""

from __future__ import annotations

import os
import select
import shlex
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import Declined, RunnerError, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import interruptible, page, window_size

if TYPE_CHECKING:
    from argparse import Namespace

    from oulipoly_engine.cli.base.parser import Parser

_UNASKED = ("json", "list", "dry_run", "signal")  # a script that reads JSON, who only looks, or says what is sent
LOOK_S = 0.3  # between two looks whether a question was answered elsewhere
_PAUSE_S = 1.0  # what is typed on so long answers nothing else
_LONGEST_LINE = 4096  # bytes; a terminal hands over no longer ones


class Questions:
    """Asks whoever sits at the terminal, or nobody where there is none."""

    def __init__(self, *, is_agreed: bool) -> None:
        """is_agreed: every yes or no is yes, as `--yes` says."""
        self.is_agreed = is_agreed
        self.offer: Callable[[str], Iterator[str]] | None = None  # what a begun line may become, at the tab key
        self.look: Callable[[], None] | None = None  # is called while somebody is waited for, and may end that
        self.can_ask = sys.stdin is not None and sys.stdin.isatty() and diagnostics.is_terminal()

    def ask(self, question: str, default: str, check: Callable[[str], object], help_text: str) -> str:
        """Return an answer that a check takes; empty is the default. Without a terminal the default is returned.

        check: raises RunnerError for what cannot be. help_text: what `?` and `help` answer.
        """
        while self.can_ask:
            answer = self._read(f"{question} [{default}]: " if default else f"{question}: ") or default
            if answer in ("?", "help"):
                diagnostics.note(help_text)
                continue
            try:
                check(answer)
            except RunnerError as error:
                diagnostics.note(error.message)
                continue
            return answer
        check(default)
        return default

    def confirm_changes(self, diff: str, question: str) -> bool:
        """Show changes, and return whether somebody says yes; what does not fit on the screen can be paged through.

        diff: without secrets. Raises UsageInvalid as `confirm`.
        """
        output.write_block(diff)
        if self.is_agreed or not self.can_ask:
            return self.confirm(question)
        columns, rows = window_size()
        lines = diff.splitlines()
        if sum(1 + len(line) // max(1, columns) for line in lines) < rows:
            return self.confirm(question)
        diagnostics.note(f"These {len(lines)} lines do not fit on the screen: d shows them page by page.")
        return self.confirm(question, more=lambda: self._page(lines))

    def _page(self, lines: Sequence[str]) -> None:
        if not page(lines):
            diagnostics.note("There is no pager: install less, or name another one in PAGER.")

    def confirm(self, question: str, *, is_default: bool = False, more: Callable[[], None] | None = None) -> bool:
        """Return whether somebody says yes. Raises UsageInvalid where nobody can be asked.

        is_default: whether an empty answer is a yes. more: shows what it is about once more; `d` asks for it.
        """
        if self.is_agreed:
            return True
        if not self.can_ask:
            raise UsageInvalid(f"{question} There is no terminal to ask on: --yes says yes")
        while True:
            answer = self._read(f"{question} ({'Y/n' if is_default else 'y/n'}) ").lower()
            if answer in ("y", "yes", "n", "no", ""):
                return answer.startswith("y") if answer else is_default
            if more is not None and answer == "d":
                more()
                continue
            diagnostics.note("Say y or n.")

    def name(self, question: str, wanted: str) -> bool:
        """Return whether somebody types a name, for what cannot be undone. Raises UsageInvalid as `confirm`."""
        if self.is_agreed:
            return True
        if not self.can_ask:
            raise UsageInvalid(f"{question} There is no terminal to ask on: --yes says yes")
        return self._read(f"{question} Type {wanted} to go on: ") == wanted

    @staticmethod
    def drop_typed_ahead() -> None:
        """Forget what was typed before the next question, which must not be answered by it."""
        termios.tcflush(0, termios.TCIFLUSH)

    def line(self, question: str) -> str:
        """Return one line as it is typed, without blanks around it. Raises RequestRefused at the terminal's end."""
        return self._read(question)

    def message(self, question: str) -> str:
        """Return one line as `line` does; the arrow keys edit it, and bring back those of this process."""
        if not sys.stdout.isatty():
            return self._read(question)
        import readline  # noqa: PLC0415 - changes `input`; 5 ms, only who talks line by line needs it

        offer = self.offer
        if offer is not None:
            readline.set_completer_delims("")  # a whole line is completed
            offers: list[str] = []

            def complete(begun: str, place: int) -> str | None:
                if not place:
                    offers[:] = offer(begun)
                return offers[place] if place < len(offers) else None

            readline.set_completer(complete)
            readline.parse_and_bind("tab: complete")
        try:
            with interruptible() as guard, guard.arming():
                line = os.fsencode(input(question))
        except EOFError as error:
            raise Declined("the input has ended") from error
        except UnicodeDecodeError as error:
            line = error.object
        return line.decode("utf-8", "replace").strip()

    def secret(self, question: str) -> str:
        """Return one line that the terminal does not show. Raises RequestRefused at the terminal's end."""
        attributes = termios.tcgetattr(0)
        silent = [*attributes]
        silent[3] &= ~termios.ECHO
        try:
            termios.tcsetattr(0, termios.TCSAFLUSH, silent)
            return self._read(question)
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, attributes)
            diagnostics.write_block("\n")

    @staticmethod
    def _look(look: Callable[[], None]) -> None:
        try:
            look()
        except RunnerError:
            diagnostics.write_block("\n")
            time.sleep(_PAUSE_S)
            termios.tcflush(0, termios.TCIFLUSH)
            raise

    def _read(self, question: str) -> str:
        diagnostics.write_block(question)
        with interruptible() as guard, guard.arming():  # else nothing ends a read before its line
            while self.look is not None and not select.select([0], [], [], LOOK_S)[0]:
                self._look(self.look)
            line = os.read(0, _LONGEST_LINE)
        if not line:
            diagnostics.write_block("\n")
            raise Declined("the question was not answered, so nothing was changed")
        return line.decode("utf-8", "replace").strip()


def parse_agreed(parser: Parser, name: str, arguments: Sequence[str]) -> Namespace:
    """Parse the arguments of a command, and ask at a terminal before it does what no other command takes back.

    Scripts are not asked: not all of theirs is a terminal, or they want JSON. Raises Declined where a person says no.
    """
    command = find(name)
    if not command.destroys or command.undo:
        return parser.parse(arguments)
    parser.add_argument("-y", "--yes", action="store_true", help="do it without a question")
    options = parser.parse(arguments)
    questions = Questions(is_agreed=options.yes)
    is_person = questions.can_ask and output.is_terminal()
    is_asked = is_person and not any(getattr(options, word, False) for word in _UNASKED)
    of = f": {visible_line(shlex.join(arguments))}" if arguments else ""
    if is_asked and not questions.confirm(f"{command.sentence}{of}?"):
        raise Declined("nothing was changed")
    return options


def split_names(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas or blanks between them."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def join_names(names: Sequence[str]) -> str:
    """Return names for a sentence."""
    return ", ".join(names) or "none"
