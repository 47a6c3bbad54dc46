"""Commands by name with arguments: what is typed behind `:`, what it may become, and running it."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.commands.slash.lines import split_words
from oulipoly_engine.errors import ReadOnly
from oulipoly_tui.actions.action import FRAME, STILL_OPENING
from oulipoly_tui.actions.registry import commands, search
from oulipoly_tui.orders.choices import choices_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oulipoly_engine.core.commands.command import Argument, Choices
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.base.app_interface import AppInterface

_OF_SESSIONS = ("session", "sessions")  # arguments that the row under the cursor stands for where nothing is typed
_SEARCHED_FROM = 3  # letters: what fewer find is mostly not meant


@cache
def _map_spellings(own: tuple[Action, ...]) -> dict[str, tuple[str, ...]]:
    """Return what may be typed for which commands' names: a name, or the same without the word for what it acts on."""
    found: dict[str, tuple[str, ...]] = {name: (name,) for name in commands(own)}
    for name in tuple(found):
        short = name.partition(" ")[2]
        if short and found.get(short) != (short,):
            found[short] = (*found.get(short, ()), name)
    return found


def split(text: str, own: tuple[Action, ...] = ()) -> tuple[str, list[str]]:
    """Split what was typed into a command's name and its arguments; quotes hold words together.

    `resume 9e69` gives `session resume`, for there is no other command that ends so. own: the user's own commands.
    """
    text = text.strip().removeprefix(":").strip()
    typed = sorted(_map_spellings(own), key=len, reverse=True)
    begun = next((one for one in typed if text == one or text.startswith(one + " ")), text.partition(" ")[0])
    rest = text[len(begun) :].strip()
    name = meant[0] if len(meant := _map_spellings(own).get(begun, ())) == 1 else begun
    action = commands(own).get(name)
    return name, [*split_words(rest, () if action is None else action.arguments)]


def run(app: AppInterface, name: str, arguments: list[str]) -> str | None:
    """Run a command; return what is wrong with the wish."""
    own = app.keys.own
    action = commands(own).get(name)
    if action is None:
        if meant := _map_spellings(own).get(name):
            return f"{name!r} may be {' or '.join(map(repr, meant))}"
        near = get_close_matches(name, list(commands(own)), n=1)
        return f"there is no command {name!r}" + (f": did you mean {near[0]!r}?" if near else ": see ctrl+p")
    if action.writes and app.options.read_only:
        return ReadOnly(f"run {name!r}").message
    if action.needs_engine and app.engine is None:
        return STILL_OPENING
    needed = sum(not each.is_optional for each in action.arguments)
    if not arguments and needed == 1 and action.arguments[0].name in _OF_SESSIONS:
        selected = app.frame.current.session_in_front
        arguments = [selected] if selected else []
    if not needed <= len(arguments) <= len(action.arguments):
        return f"write {action.usage}"
    if action.custom is not None:
        _run_own(app, action)
        return None
    return function_of(action)(app, arguments) if action.run else _press(app, action)


def _press(app: AppInterface, action: Action) -> str | None:
    """Do what an action's key does in its pane; return why that cannot be."""
    pane = app.frame.find(action.where)
    if pane is None:
        return Need.SESSION.value
    reason = pane.reason_against(action)
    if reason is None:
        pane.find_action(action.method)()
    return reason


def _run_own(app: AppInterface, action: Action) -> None:
    """Run one of the user's own commands on the row of the pane in front, or go where it has one."""
    here = (app.frame.current.id, FRAME)
    same = [one for one in app.keys.own if one.custom == action.custom]
    chosen = next((one for one in same if one.where in here), action)
    app.call_next(app.action_choose, chosen.id)


def function_of(action: Action) -> Callable[[AppInterface, list[str]], str | None]:
    """Import what an action's line runs."""
    module, _, name = action.run.partition(":")
    function: Callable[[AppInterface, list[str]], str | None] = getattr(
        import_module(f"oulipoly_tui.commands.{module}"), name
    )
    return function


def summary(line: str, own: tuple[Action, ...] = ()) -> str:
    """Return what the command of a line does; empty: there is none."""
    action = commands(own).get(split(line, own)[0])
    return "" if action is None else action.does.summary


def completions(text: str, snapshot: Snapshot | None, own: tuple[Action, ...] = ()) -> tuple[str, ...]:
    """Return whole lines that what was typed may become: by the begin, by the last words, else by what it is called."""
    typed = text.strip().removeprefix(":").lstrip()
    name, arguments = split(typed, own)
    action = commands(own).get(name)
    if action is None or (typed == name and not text.endswith(" ")):
        return _complete_name(typed, own)
    ends_open = text.endswith(" ") or not arguments
    texts = complete_words(action.arguments, arguments, snapshot, ends_open=ends_open)
    return tuple(f"{name} {words}" for words in texts)


def complete_words(
    arguments: Sequence[Argument],
    words: Sequence[str],
    snapshot: Snapshot | None,
    *,
    ends_open: bool,
    own: Mapping[Choices, Sequence[str]] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Return what the words behind a command may become, each as one text.

    ends_open: another word begins. own: what only the place knows where they are typed.
    """
    place = len(words) if ends_open else len(words) - 1
    if place >= len(arguments) or snapshot is None:
        return ()
    choices = choices_of(arguments[place], snapshot, own) or ()
    begun = "" if ends_open else words[-1]
    return tuple(" ".join((*words[:place], choice)) for choice in choices if choice.startswith(begun))


def _complete_name(typed: str, own: tuple[Action, ...]) -> tuple[str, ...]:
    lines = {name: name + (" " if action.arguments else "") for name, action in commands(own).items()}
    begun = [line for line in lines.values() if line.startswith(typed) and line.strip() != typed]
    ended = [line for line in lines.values() if typed and line.partition(" ")[2].startswith(typed)]
    if begun or ended or len(typed) < _SEARCHED_FROM:
        return (*begun, *ended)
    return tuple(lines[action.line] for action in search(typed, own) if action.line)
