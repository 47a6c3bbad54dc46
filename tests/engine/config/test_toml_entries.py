"""Tables in double brackets: added and removed with every comment where it belongs."""

import tomllib

import pytest

from oulipoly_engine.config.toml import toml_edit

ONE, TWO = '[[c]]\nn = "a" # first\n', '# the second\n[[c]]\nn = "b"\n'
KEYS = '# my keys\n[keys]\na = "b"\n# end\n'


@pytest.mark.parametrize(
    ("text", "place", "after"),
    [
        (f"{ONE}\n{TWO}\n{KEYS}", 0, f"\n{TWO}\n{KEYS}"),
        (f"{ONE}\n{TWO}\n{KEYS}", 1, f"{ONE}\n# the second\n\n{KEYS}"),
        (f"{ONE}\n{KEYS}", 0, f"\n{KEYS}"),
        (f"{KEYS}\n{ONE}# tail\n", 0, f"{KEYS}\n# tail\n"),
        ('c = [{n = "a"}, {n = "b"}]\n', 0, 'c = [{n = "b"}]\n'),
    ],
    ids=["first", "last", "only", "at the end", "in braces"],
)
def test_one_is_removed(text, place, after):
    document = toml_edit.parse(text)
    toml_edit.remove_entry(document, "c", place)

    assert after == toml_edit.render(document)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", '[[c]]\nn = "x"\n'),
        (f"{ONE}\n{KEYS}", f'{ONE}\n[[c]]\nn = "x"\n\n{KEYS}'),
        (KEYS, f'{KEYS}\n[[c]]\nn = "x"\n'),
        ('c = [{n = "a"}]\n', 'c = [{n = "a"}, {n = "x"}]\n'),
        (f"c = []\n{KEYS}", f'{KEYS}\n[[c]]\nn = "x"\n'),
    ],
    ids=["empty file", "behind others", "the first", "in braces", "an empty list"],
)
def test_one_is_added(text, after):
    document = toml_edit.parse(text)
    toml_edit.add_entry(document, "c", {"n": "x"})

    assert after == toml_edit.render(document)
    assert "x" == tomllib.loads(after)["c"][-1]["n"]
