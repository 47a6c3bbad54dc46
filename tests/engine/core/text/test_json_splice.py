"""Single values changed inside a JSON text: the value is another one, and no other character is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.text.json_splice import elements, to_json, with_values

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))


def paths(value, path=()):
    """List the paths of everything inside a value, itself included."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in paths(item, (*path, key)))]


def put(value, path, new):
    """Return a value with another one at a path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


@given(value=VALUES, new=LEAVES, indent=st.sampled_from([None, 0, 3]), data=st.data())
def test_value_at_any_place_becomes_the_new_one(value, new, indent, data):
    path = data.draw(st.sampled_from(paths(value)))

    changed = with_values(json.dumps(value, indent=indent), {path: to_json(new)})

    assert put(value, path, new) == json.loads(changed)


def test_of_a_repeated_key_the_last_one_counts():
    assert '{"a": 1, "b": 2, "a": 9}' == with_values('{"a": 1, "b": 2, "a": 3}', {("a",): "9"})


def test_several_places_at_once_and_the_texts_of_a_list():
    text = ' {"a" : [1, {"b":"c"} ], "d":null}'

    assert ' {"a" : [7, {"b":"x"} ], "d":[]}' == with_values(text, {("d",): "[]", ("a", 0): "7", ("a", 1, "b"): '"x"'})
    assert ["1", '{"b":"c"}'] == elements(text, ("a",))


@pytest.mark.parametrize("path", [("x",), ("a", 5), ("d", "e")])
def test_place_that_is_not_there_is_an_error(path):
    with pytest.raises(KeyError):
        with_values('{"a": [1], "d": null}', {path: "1"})
