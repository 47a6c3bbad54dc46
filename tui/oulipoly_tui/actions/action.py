"""One thing that a user can do, with every fact that is told of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.command import SESSION, Argument, Command
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import CustomCommand

STILL_OPENING = "still opening: try again in a moment"  # the engine, which most of it needs
FRAME = "frame"  # works wherever no question is open
LISTS = "lists"  # works in every list
LIVE = "live"  # the pane of one live session
ANYWHERE = ""  # has no key: it is written on the line or chosen in the palette


class Action(Record):
    """A command of the table, or a move of the app's own, as the app offers it: its keys, its place, its line.

    Its keys work in the place `where`, unless it `writes` in read-only mode, and unless the place says why not:
    `KeyActions.reason_against` asks the pane or the frame. Its line works everywhere: in read-only mode where it
    does not write, and once the engine is open where it needs that.
    """

    id: str  # "pools.drain": what app.toml calls it
    does: Command
    where: str = ANYWHERE  # FRAME, LISTS or a pane's id: where its keys work
    keys: str = ""  # Textual's names by comma, of the preset `default`
    emacs: str | None = None  # other keys of that preset
    method: str = ""  # what its keys call: of the pane, of the list, of `KeyActions.of_frame`; without one, its line
    weight: int | None = None  # 0..9: a narrow footer drops low ones first; None: never in the footer
    line: str = ""  # how it is called on the `:` line, in one to three words; "": it is not written there
    # What its line runs, `module:function` below oulipoly_tui.commands; "": what its key does. Gets the app and the
    # arguments, returns what is wrong.
    run: str = ""
    needs_engine: bool = True  # its line does
    note: str = ""  # what its keys do beyond that, after a semicolon
    custom: CustomCommand | None = None  # the user's own that it is; it runs instead of a method
    by_key: bool = False  # what it is about must be in sight: no menu offers it, the palette tells its key

    @property
    def label(self) -> str:
        """Return what menus and the footer call it."""
        return self.does.label

    @property
    def synonyms(self) -> tuple[str, ...]:
        """Return what others call it."""
        return self.does.synonyms

    @property
    def writes(self) -> bool:
        """Return whether it is not there in read-only mode."""
        return self.does.writes

    @property
    def destroys(self) -> bool:
        """Return whether it asks first."""
        return self.does.destroys

    @property
    def description(self) -> str:
        """Return what its keys do, as a sentence without its full stop."""
        return f"{self.does.sentence}; {self.note}" if self.note else self.does.sentence

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Return what its line takes; where one session is open, it is about that."""
        return tuple(each for each in self.does.arguments if self.where != LIVE or each != SESSION)

    @property
    def usage(self) -> str:
        """Return how its line is written."""
        words = (f"[{each.name}]" if each.is_optional else f"<{each.name}>" for each in self.arguments)
        return " ".join((self.line, *words))

    @property
    def terms(self) -> tuple[str, ...]:
        """Return what it is found by."""
        names = (self.line,) if self.line else ()
        return (self.label, *self.synonyms, *names, self.description, self.id)


def offer(  # noqa: PLR0913, RUF100 - the facts of an action
    id: str,
    does: Command,
    *,
    keys: str = "",
    emacs: str | None = None,
    method: str = "",
    weight: int | None = None,
    line: str = "",
    run: str = "",
    needs_engine: bool = True,
    note: str = "",
    by_key: bool = False,
) -> Action:
    """Return an action by what its other facts do not tell.

    Its keys work in the place that its id begins with, and call what the id ends with. Its line is the command's name.
    """
    place, _, name = id.partition(".")
    return Action(
        id,
        does,
        place if keys else ANYWHERE,
        keys=keys,
        emacs=emacs,
        method=method or (name if keys else ""),
        weight=weight,
        line=line or (does.name if run else ""),
        run=run,
        needs_engine=needs_engine,
        note=note,
        by_key=by_key,
    )


def own(label: str, summary: str, synonyms: tuple[str, ...] = (), arguments: tuple[Argument, ...] = ()) -> Command:
    """Return what is the app's own business, as scrolling or zooming: it changes nothing, and no other face has it."""
    return Command("", label, summary, arguments, synonyms)


def find_term(action: Action, wanted: str) -> str | None:
    """Return by what a search finds an action, the label first; None: it does not.

    What is wanted stands in it as it is typed, or each of its words begins one, in any order and case.
    """
    typed = wanted.lower().strip()
    return next((term for term in action.terms if _holds(term.lower(), typed)), None)


def _holds(term: str, typed: str) -> bool:
    return typed in term or all(any(word.startswith(begun) for word in term.split()) for begun in typed.split())
