"""The palette (`ctrl+p`): the keys that work now, and every command with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape

from oulipoly_engine.records import Record
from oulipoly_tui.actions.action import Action, Command
from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.commands.choices import choices_of
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.screens.command_line import ask

if TYPE_CHECKING:
    from textual.fuzzy import Matcher

    from oulipoly_tui.app_interface import AppInterface


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

    @property
    def _app(self) -> AppInterface:
        app: Any = self.app
        return app  # type: ignore[no-any-return]


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
    """Yield what can be chosen: what has a key that does something now, then the commands."""
    works = [one for one in app.works_now() if not one.by_key]
    for one in works:
        press = partial(app.call_later, app.action_press, one.id)
        # Numbers lead to the panes, and each pane's title has its own: they need not be offered unasked.
        yield Offer(one.description, _tell_key(one), press, one, not one.method.startswith("pane("))
    done = {one.custom for one in works if one.custom is not None}
    others = {one.custom: one for one in reversed(app.keys.own) if one.custom not in done}
    for one in (*ACTIONS, *others.values()):
        if one.command is not None and not (one.writes and app.options.read_only):
            yield from _of_command(app, one, one.command)


def _tell_key(action: Action) -> str:
    return f"key {format_first_key(action.keys)}" if action.keys else "menu (.)"


def _of_command(app: AppInterface, action: Action, command: Command) -> Iterator[Offer]:
    needed = [one for one in command.arguments if not one.is_optional]
    choices = choices_of(needed[0], app.snapshot) if len(needed) == 1 and app.snapshot is not None else None
    if not needed:
        yield Offer(command.name, action.command_summary, partial(app.order, command.name), action)
    elif choices is not None:
        for choice in choices:
            act = partial(app.order, command.name, (choice,))
            yield Offer(f"{command.name} {choice}", action.command_summary, act, action)
    else:
        act = partial(ask, app, command.name + " ")
        yield Offer(f"{command.usage} …", action.command_summary, act, action)


def weigh(matcher: Matcher, text: str, action: Action) -> tuple[float, str]:
    """Return how well an offer fits what was typed, and the name of its action that fits better than its text does."""
    by_text, (by_term, term) = matcher.match(text), best_term(matcher, action)
    score = max(by_text, by_term) * (_DESTROYING if action.destroys else 1)
    return score, term if by_term > by_text else ""


def best_term(matcher: Matcher, action: Action) -> tuple[float, str]:
    """Return how well one of an action's names holds what was typed, and which does."""
    wanted = matcher.query.lower()
    found = [(matcher.match(term), term) for term in action.terms if wanted in term.lower()]
    return max(found, default=(0.0, ""))
