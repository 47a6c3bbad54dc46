"""The palette (`ctrl+p`): every action once, those that work now first, and every command with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape

from oulipoly_engine.core.commands.table import every
from oulipoly_engine.records import Record
from oulipoly_tui.actions.action import ANYWHERE, FRAME, LISTS, Action
from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.base.table import PANES
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.orders.choices import choices_of
from oulipoly_tui.screens.command_line import ask

if TYPE_CHECKING:
    from textual.fuzzy import Matcher

    from oulipoly_engine.core.commands.command import Command
    from oulipoly_tui.base.app_interface import AppInterface


_TITLES = {pane.id: pane.title for pane in PANES}
_ELSEWHERE = 0.01  # the score of what is done in a shell: below all that is done here
_LEAST_TYPED = 3  # letters, before that is looked for
_DESTROYING = 0.5  # of what resembles as well: an innocent word and enter destroy nothing


class Offer(Record):
    """One line of the palette."""

    text: str
    help: str
    act: Callable[[], Any]
    action: Action
    is_discovered: bool = True  # shown before anything is typed


class Commands(Provider):
    """Offers what the registry has."""

    async def discover(self) -> Hits:
        """Offer everything."""
        for one in offers(self._app):
            if one.is_discovered:
                yield DiscoveryHit(Content(one.text), one.act, one.text, escape(one.help))

    async def search(self, query: str) -> Hits:
        """Offer what resembles the query, and what is called so: by label, synonym, description or id."""
        matcher = self.matcher(query)
        for one in offers(self._app):
            score, term = weigh(matcher, one.text, one.action)
            if score > 0:
                text = highlight(matcher, one.text) if matcher.match(one.text) > 0 else Content(one.text)
                note = f"{one.help} · {term}" if term else one.help
                yield Hit(score, text, one.act, one.text, escape(note))
        for command in list_shell_commands(query):
            line = f"agents {command.name}"
            act = partial(self._app.say, f"In a shell: {line}")
            yield Hit(_ELSEWHERE, line, act, line, escape(f"in a shell: {command.summary}"))

    @property
    def _app(self) -> AppInterface:
        return app_of(self)


def list_shell_commands(query: str) -> tuple[Command, ...]:
    """Return the commands that this app does not have and that a query finds by name, label or synonym."""
    wanted = query.lower().strip()
    own = {action.does.name for action in ACTIONS}
    return tuple(
        command
        for command in every()
        if len(wanted) >= _LEAST_TYPED and command.name not in own
        if any(wanted in term.lower() for term in (command.name, command.label, *command.synonyms))
    )


def highlight(matcher: Matcher, text: str) -> Content:
    """Return a text with what the query matches marked; Textual's own way would read it as markup."""
    _, offsets = matcher.fuzzy_search.match(matcher.query, text)
    content = Content(text)
    for offset in offsets:
        if not text[offset].isspace():
            content = content.stylize(matcher.match_style, offset, offset + 1)
    return content


def palette() -> CommandPalette:
    """Return the palette's screen."""
    return CommandPalette(providers=[Commands], placeholder="a command, an account, a key …")


def offers(app: AppInterface) -> Iterator[Offer]:
    """Yield what can be chosen: what has a key that does something now, the commands, then what belongs elsewhere."""
    works = [one for one in app.works_now() if not one.by_key]
    for one in works:
        press = partial(app.call_later, app.action_press, one.id)
        # Numbers lead to the panes, and each pane's title has its own: they need not be offered unasked.
        yield Offer(one.description, _tell_key(one), press, one, not one.method.startswith("pane("))
    done = {one.custom for one in works if one.custom is not None}
    others = {one.custom: one for one in reversed(app.keys.own) if one.custom not in done}
    offered = {one.id for one in works}
    for one in (*ACTIONS, *others.values()):
        if one.line and not (one.writes and app.options.read_only):
            if one.id not in offered or any(not argument.is_optional for argument in one.arguments):
                yield from _of_line(app, one)
            offered.add(one.id)
    yield from (_elsewhere(app, one) for one in ACTIONS if _is_elsewhere(app, one) and one.id not in offered)


def _is_elsewhere(app: AppInterface, action: Action) -> bool:
    """Tell whether an action has its key where the user is not, or does nothing now; those of lists are no search's."""
    if action.where in (ANYWHERE, LISTS):
        return False
    return not (action.writes and app.options.read_only) and (action.where == FRAME or app.has_pane(action.where))


def _elsewhere(app: AppInterface, action: Action) -> Offer:
    """Offer to be led to where an action is done: nothing is done to a row that nobody has looked at.

    What answers a request is not done from the palette, which lies over it: its key is told.
    """
    row = app.keys.find(action.id) or action
    if action.where not in (FRAME, app.frame.current.id):
        note = f"in {_TITLES[action.where]}, {_tell_key(row)}"
    elif (reason := app.reason_against(row)) is not None:
        note = f"not now: {reason}"
    else:
        note = f"with what is asked in view, {_tell_key(row)}"
    return Offer(action.description, note, partial(app.call_later, app.action_choose, action.id), row, False)


def _tell_key(action: Action) -> str:
    return f"key {format_first_key(action.keys)}" if action.keys else "menu (.)"


def _of_line(app: AppInterface, action: Action) -> Iterator[Offer]:
    needed = [each for each in action.arguments if not each.is_optional]
    summary = action.does.summary
    choices = choices_of(needed[0], app.snapshot) if len(needed) == 1 and app.snapshot is not None else None
    if not needed:
        yield Offer(action.line, summary, partial(app.order, action.line), action)
    elif choices is not None:
        for choice in choices:
            act = partial(app.order, action.line, (choice,))
            yield Offer(f"{action.line} {choice}", summary, act, action)
    else:
        act = partial(ask, app, action.line + " ")
        yield Offer(f"{action.usage} …", summary, act, action)


def weigh(matcher: Matcher, text: str, action: Action) -> tuple[float, str]:
    """Return how well an offer fits what was typed, and the name of its action that fits better than its text does."""
    by_text, (by_term, term) = matcher.match(text), best_term(matcher, action)
    score = max(by_text, by_term) * (_DESTROYING if action.destroys else 1)
    return score * _closeness(matcher.query.lower(), action), term if by_term > by_text else ""


def _closeness(typed: str, action: Action) -> float:
    """Return by how much more a name counts that is what was typed, or has a word that begins so.

    "kill" means the kill of a program, not s*kill*s.
    """
    if typed == action.label.lower():
        return 4
    if typed in (synonym.lower() for synonym in action.synonyms):
        return 3
    words = " ".join((action.label, *action.synonyms)).lower().split()
    return 2 if any(word.startswith(typed) for word in words) else 1


def best_term(matcher: Matcher, action: Action) -> tuple[float, str]:
    """Return how well one of an action's names holds what was typed, and which does."""
    wanted = matcher.query.lower()
    found = [(matcher.match(term), term) for term in action.terms if wanted in term.lower()]
    return max(found, default=(0.0, ""))
