"""The table of keys: no clash in any preset, users' own keys, what they get wrong, what the footer shows."""

import importlib.util
import sys
from pathlib import Path

import pytest

from oulipoly_tui.actions.action import FRAME
from oulipoly_tui.base.table import PANES
from oulipoly_tui.keys.keymap import TABLE, format_key, format_keys, resolve
from oulipoly_tui.keys.names import read_key
from oulipoly_tui.view.frame.footer import hints, line
from oulipoly_tui.view.frame.help import help_rows
from oulipoly_tui.view.terminal.repl import inside
from oulipoly_tui.view.transcript.spans import cells, plain


@pytest.mark.parametrize("preset", ["default", "vim", "emacs"])
def test_no_preset_gives_one_key_two_meanings(preset):
    assert () == resolve(preset).clashes


def test_the_readme_lists_the_keys_that_there_are():
    path = Path(__file__).parents[3] / "scripts" / "readme_keys.py"
    spec = importlib.util.spec_from_file_location("readme_keys", path)
    script = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(script)
    finally:
        sys.path[:] = before

    assert 0 == script.main(["--check"])
    assert all(f"`{row.id}`" in script.section() for row in TABLE)


def test_ids_are_unique_and_name_their_place():
    ids = [row.id for row in TABLE]

    assert len(ids) == len(set(ids))
    assert all(row.id.startswith(f"{row.where}.") for row in TABLE)


def test_keys_that_terminals_and_tmux_eat_are_not_used_alone():
    eaten = {"ctrl+s", "ctrl+q", "ctrl+b", "ctrl+z", "ctrl+i", "ctrl+m", "ctrl+h", "ctrl+c"}

    assert [] == [row.id for row in TABLE if set(row.keys.split(",")) <= eaten]


def test_a_user_s_own_key_takes_the_place_of_ours():
    keys = resolve("default", {"pools.drain": "ctrl+d, F5"})

    assert "ctrl+d,f5" == keys.changed["pools.drain"]


def test_none_takes_a_key_away():
    keys = resolve("default", {"pools.drain": "none"})

    assert keys.find("pools.drain") is None
    assert "none" == keys.changed["pools.drain"]


def test_a_clash_of_a_user_s_keys_is_told_with_both_meanings():
    keys = resolve("default", {"pools.drain": "w"})

    assert [("w", {"pools.drain", "pools.why"})] == [(one.key, {one.first, one.second}) for one in keys.clashes]


def test_an_unknown_id_comes_with_the_nearest_one():
    slips = resolve("default", {"pools.drian": "x"}).slips

    assert [("[keys] has 'pools.drian', which is not an action", "write 'pools.drain'")] == [
        (one.cause, one.fix) for one in slips
    ]


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("pgdn", "pagedown"),
        ("PgUp", "pageup"),
        ("esc", "escape"),
        ("↓", "down"),
        ("?", "question_mark"),
        (",", "comma"),
        ("+", "plus"),
        ("Ctrl+G", "ctrl+g"),
        ("^x", "ctrl+x"),
        ("ctrl+]", "ctrl+right_square_bracket"),
        ("shift+ctrl+left", "ctrl+shift+left"),
        ("shift+g", "G"),
        ("alt+G", "alt+shift+g"),
        ("Alt+G", "alt+g"),
        ("section_sign", "section_sign"),
        ("F5, f5", "f5"),
        ("None", "none"),
    ],
)
def test_a_key_is_understood_as_people_write_it(written, key):
    assert key == resolve("default", {"frame.help": written}).changed["frame.help"]


def test_every_key_of_ours_is_understood_by_both_its_names():
    ours = {key for row in TABLE for keys in (row.keys, row.emacs) if keys for key in keys.split(",")}

    assert [] == [key for key in ours if (read_key(key), read_key(format_key(key))) != (key, key)]


def test_a_key_that_is_none_is_told_and_the_preset_s_stays():
    keys = resolve("default", {"frame.help": "notakey!!", "frame.menu": "escpae, f6"})

    assert "question_mark,f1" == keys.find("frame.help").keys
    assert "f6" == keys.find("frame.menu").keys
    assert [
        "[keys] gives frame.help the key 'notakey!!', which there is not",
        "[keys] gives frame.menu the key 'escpae', which there is not",
    ] == [one.cause for one in keys.slips]
    assert "write 'escape'" == keys.slips[1].fix


def test_a_key_by_its_shown_name_clashes_with_ours():
    keys = resolve("default", {"frame.settings": "esc"})

    assert [("escape", {"frame.back", "frame.settings"})] == [
        (one.key, {one.first, one.second}) for one in keys.clashes
    ]


def test_read_only_takes_every_writing_key_away():
    keys = resolve(read_only=True)

    assert [] == [row.id for row in keys.rows if row.writes]
    assert keys.find("pools.why") is not None


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_the_footer_never_leaves_its_line_and_keeps_the_help(width):
    found = hints((*resolve().of("pools"), *resolve().of(FRAME)), width)

    assert cells(plain(line(found))) <= width
    assert "frame.help" in [hint.id for hint in found]


def test_hints_stand_where_they_are_drawn():
    found = hints(resolve().of("pools"), 300)
    text = plain(line(found))

    assert [hint.label for hint in found] == [
        text[hint.start : hint.end].split(maxsplit=1)[1].strip() for hint in found
    ]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("W", {"pools.what_if", "pools.why"}, id="a key, in either case"),
        pytest.param("ctrl+p", {"frame.palette"}, id="a chord"),
        pytest.param("reserve", {"pools.reserve"}, id="a word"),
    ],
)
def test_help_finds_by_key_and_by_word(wanted, expected):
    rows = help_rows(resolve(), "pools", (), wanted)

    assert expected <= {row.key for row in rows if row.is_selectable}
    assert len(rows) < len(help_rows(resolve(), "pools", (), ""))


def test_help_of_what_there_is_not_is_empty():
    assert () == help_rows(resolve(), "pools", (), "undraining")


def test_every_key_is_shown_in_the_help():
    rows = help_rows(resolve(), "pools", (), "")

    assert {row.id for row in TABLE} <= {row.key for row in rows}
    assert all(format_keys(row.keys) for row in TABLE)


def test_every_pane_has_a_number_of_its_own():
    assert len(PANES) == len({pane.number for pane in PANES})


def test_every_hint_inside_a_terminal_says_how_it_is_reached():
    rows = (*inside(("ctrl+right_square_bracket",), is_copying=False), *inside((), is_copying=True))

    assert [] == [row.label for row in rows if not row.keys and "click" not in row.label]


def test_a_way_out_of_the_app_always_stays():
    out = ("frame.palette", "frame.command", "frame.quit")
    keys = resolve("default", dict.fromkeys(out, "none"))

    assert "q" == keys.find("frame.quit").keys
    assert ["[keys] takes the keys of all that leads out"] == [slip.cause[:43] for slip in keys.slips]
    assert all(() == resolve("default", dict.fromkeys({*out} - {one}, "none")).slips for one in out)
