"""The registry of actions: complete, each fact once, found by every name, and asking before anything is destroyed."""

from collections import Counter
from importlib import import_module

import pytest
from textual.actions import parse
from textual.fuzzy import Matcher

from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import ANYWHERE, FRAME, LISTS, find_term
from oulipoly_tui.actions.registry import ACTIONS, commands, search
from oulipoly_tui.base.table import PANES
from oulipoly_tui.commands import palette
from oulipoly_tui.keys.keymap import TABLE, resolve
from oulipoly_tui.orders import line
from oulipoly_tui.orders.choices import CHOICES
from oulipoly_tui.view.frame.help import help_rows
from oulipoly_tui.widgets.lines import VirtualList

PLACES = {FRAME, LISTS, *(entry.id for entry in PANES)}
HITS = {
    "kill": "repl.kill",
    "undo": "sessions.undo",
    "logs": "frame.log",
    "new session": "live.new",
    "approve": "live.approve",
    "close tab": "repl.close",
    "what-if": "pools.what_if",
    "zoom": "frame.zoom",
    "rename account": "pools.rename",
}
NAMED = [(action, name) for action in ACTIONS for name in (action.label, *action.synonyms)]


def test_every_action_has_what_it_is_told_by():
    assert [] == [action.id for action in ACTIONS if not (action.id and action.description and action.synonyms)]
    assert {1, 2, 3, 4} >= {len(action.label.split()) for action in ACTIONS}
    assert [] == [action.id for action in ACTIONS if action.description.endswith(".")]


def test_what_stands_in_no_table_is_the_app_s_own_and_changes_nothing():
    of_table = [action.does for action in ACTIONS if action.does.name]

    assert of_table == [find(command.name) for command in of_table]
    assert [] == [action.id for action in ACTIONS if not action.does.name and (action.writes or action.does.scope)]


def test_ids_are_unique():
    assert [] == [identity for identity, times in Counter(action.id for action in ACTIONS).items() if times > 1]


def test_every_key_and_every_command_belongs_to_one_action():
    names = [action.line for action in ACTIONS if action.line]

    assert [] == [name for name, times in Counter(names).items() if times > 1]
    assert set(names) == set(commands())
    assert [action for action in ACTIONS if action.keys] == list(TABLE)
    assert [] == [action.id for action in ACTIONS if not action.keys and not action.line]


def test_what_has_keys_has_a_place_and_a_method_there():
    assert {(True, True, True), (False, False, False)} == {
        (bool(action.keys), bool(action.method), action.where in PLACES) for action in ACTIONS
    }
    assert {ANYWHERE} == {action.where for action in ACTIONS if not action.keys}


async def test_what_keys_call_is_there(app_world, running):
    async with running(reads_quota=False) as (app, _):
        of_frame = set(app.key_actions.of_frame)

    panes = {one.id: getattr(import_module(one.module), one.class_name)() for one in PANES}
    called = {(action.where, parse(action.method)[1]) for action in TABLE}
    lines = {(action.where, action.method) for action in TABLE if action.run}
    assert of_frame == {name for where, name in called if where == FRAME}
    assert [] == [name for where, name in called if where == LISTS and not hasattr(VirtualList, f"action_{name}")]
    assert [] == [
        (where, name) for where, name in called - lines if where in panes and not panes[where].has_action(name)
    ]


def test_what_stands_in_the_footer_has_a_key():
    assert [] == [action.id for action in ACTIONS if action.weight is not None and not action.keys]


@pytest.mark.parametrize("name", commands())
def test_what_a_command_runs_is_there(name):
    action = commands()[name]

    assert callable(line.function_of(action)) if action.run else action.keys
    assert {one.choices for one in action.arguments} <= {None, *CHOICES}


def test_each_name_finds_its_action():
    for in_case in (str.lower, str.upper):
        assert [] == [(action.id, name) for action, name in NAMED if find_term(action, in_case(name)) is None]


def test_a_name_s_words_are_found_in_any_order():
    assert "pools.drain" in [action.id for action in search("using stop")]
    assert () == search("undraining")


def test_the_palette_tells_of_commands_that_only_a_shell_has():
    found = [palette.list_shell_commands(word) for word in ("extension", "package", "rename")]
    names = {command.name for commands in found for command in commands}

    assert {"ext list", "pkg install"} <= names
    assert "session name" not in names  # the app has it


def test_the_palette_ranks_an_action_by_each_of_its_names():
    ranked = {(action.id, name): palette.best_term(Matcher(name), action) for action, name in NAMED}

    assert [] == [of for of, (score, term) in ranked.items() if score <= 0 or of[1].lower() not in term.lower()]


def test_the_help_finds_by_synonym():
    rows = help_rows(resolve(), "pools", (), "cordon")

    assert ["pools.drain"] == [row.key for row in rows if row.is_selectable]


def test_the_line_completes_by_synonym_where_no_name_is_meant():
    assert "account drain " in line.completions("cordon", None)
    assert ("account drain ", "account disable ") == line.completions("account d", None)


def test_what_is_offered_is_no_markup_when_it_is_searched():
    text = "session resume [account] [/x]"

    shown = palette.highlight(Matcher("resume"), text)

    assert text == shown.plain
    assert {"r", "e", "s", "u", "m"} == {text[at] for span in shown.spans for at in range(span.start, span.end)}


def test_found_by_says_what_was_meant():
    drain = next(action for action in ACTIONS if action.id == "pools.drain")

    assert ("drain", "stop using", None) == tuple(find_term(drain, wanted) for wanted in ("dra", "stop", "zzz"))


async def test_the_palette_has_each_action_of_each_pane_once_and_its_first_hit_is_what_the_word_means(
    app_world, running, settled, screen_text
):
    async with running((100, 30), reads_quota=False) as (app, pilot):
        counts = Counter(offer.action.id for offer in palette.offers(app) if not offer.text.startswith(_commands()))
        with_keys = {one.id for one in ACTIONS if one.keys and one.where != LISTS}
        notes = {offer.action.id: offer.help for offer in palette.offers(app)}
        assert with_keys <= set(notes)
        assert [] == [identity for identity, count in counts.items() if count > 1]
        assert "in Live, key a" == notes["live.approve"]
        assert notes["pools.stop"].startswith("not now: ")

        await pilot.press("ctrl+p", *"cordon")  # a synonym
        await settled(pilot, lambda: any("account drain bob" in text for text in screen_text(app)))
        await settled(pilot, lambda: any("cordon" in text and "key d" in text for text in screen_text(app)))
        await pilot.press("escape")
        await settled(pilot, lambda: app.screen is app.frame)

        for digit, entry in enumerate(PANES, start=1):
            await pilot.press(str(digit))
            await settled(pilot, lambda pane=entry.id: app.frame.current.id == pane)
            offers = tuple(palette.offers(app))
            assert HITS == {typed: _find_first_hit(typed, offers) for typed in HITS}, entry.id


def _find_first_hit(typed, offers):
    matcher = Matcher(typed)
    return max(offers, key=lambda offer: palette.weigh(matcher, offer.text, offer.action)[0]).action.id


def _commands():
    return tuple(f"{one.line} " for one in ACTIONS if one.line)
