"""One thing that a user can do, with every fact that is told of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import CustomCommand

FRAME = "frame"  # works wherever no question is open
LISTS = "lists"  # works in every list
ANYWHERE = ""  # has no key: it is written on the line or chosen in the palette

Choices = Literal["accounts", "models", "themes", "export formats", "views", "runs"]


class Argument(Record):
    """One argument of a command."""

    name: str
    choices: Choices | None = None  # None: anything
    is_rest: bool = False  # takes all words that are left, as one text
    is_optional: bool = False


class Command(Record):
    """How an action is written on the `:` line, and what runs then."""

    name: str  # one to three words
    run: str  # `module:function`, imported when it runs; gets the app and the arguments, returns what is wrong
    arguments: tuple[Argument, ...] = ()
    summary: str = ""  # where the description speaks of the row under the cursor: what it does with its arguments
    needs_engine: bool = True

    @property
    def usage(self) -> str:
        """Return how it is written."""
        words = (f"[{one.name}]" if one.is_optional else f"<{one.name}>" for one in self.arguments)
        return " ".join((self.name, *words))


class Action(Record):
    """One thing that a user can do.

    Its keys work in the place `where`, unless it `writes` in read-only mode, and unless the place says why not:
    `KeyActions.reason_against` asks the pane or the frame. Its command works everywhere: in read-only mode where it
    does not write, and once the engine is open where it needs that.
    """

    id: str  # "pools.drain": what app.toml calls it
    label: str  # at most four words; for the menu, and for the footer where it has a weight
    description: str  # one sentence without its full stop
    where: str = ANYWHERE  # FRAME, LISTS or a pane's id: where its keys work
    synonyms: tuple[str, ...] = ()  # what others call it: palette, menu, help and line find it by them
    keys: str = ""  # Textual's names by comma, of the preset `default`
    vim: str | None = None  # other keys of that preset
    emacs: str | None = None
    method: str = ""  # what its keys call: of the pane, of the list, or of `KeyActions.of_frame`
    weight: int | None = None  # 0..9: a narrow footer drops low ones first; None: never in the footer
    command: Command | None = None
    writes: bool = False  # not there in read-only mode
    custom: CustomCommand | None = None  # the user's own that it is; it runs instead of a method
    destroys: bool = False  # what it ends or replaces is gone for the user, or back by undo alone: it asks first
    by_key: bool = False  # what it is about must be in sight: no menu offers it, the palette tells its key

    @property
    def command_summary(self) -> str:
        """Return what is said beside its command."""
        return self.description if self.command is None else self.command.summary or self.description

    @property
    def terms(self) -> tuple[str, ...]:
        """Return what it is found by."""
        name = () if self.command is None else (self.command.name,)
        return (self.label, *self.synonyms, *name, self.description, self.command_summary, self.id)


def find_term(action: Action, wanted: str) -> str | None:
    """Return by what a search finds an action, the label first; None: it does not.

    What is wanted stands in it as it is typed, or each of its words begins one, in any order and case.
    """
    typed = wanted.lower().strip()
    return next((term for term in action.terms if _holds(term.lower(), typed)), None)


def _holds(term: str, typed: str) -> bool:
    return typed in term or all(any(word.startswith(begun) for word in term.split()) for begun in typed.split())
