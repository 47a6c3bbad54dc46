"""Single values changed inside a JSON text: the value is another one, and no other character is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.text.json_splice import elements, put_value, remove_value, to_json, with_values

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


@given(
    value=st.dictionaries(st.text(), VALUES, max_size=3), new=VALUES, indent=st.sampled_from([None, 2]), data=st.data()
)
def test_key_that_is_put_and_taken_away_leaves_the_text_as_it_was(value, new, indent, data):
    text = json.dumps(value, indent=indent)
    path = data.draw(st.sampled_from([("new",), ("outer", "new"), ("outer", "inner", "new")]))
    value.pop("new", None)
    value.pop("outer", None)
    text = json.dumps(value, indent=indent)

    changed = put_value(text, path, new)

    inside = json.loads(changed)
    for key in path:
        inside = inside[key]
    assert (new, text) == (inside, remove_value(changed, path[:1]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{ // why\n  "a": {\n    "b": 1, /* "}" */\n  },\n}\n',
            '{ // why\n  "a": {\n    "b": 1,\n    "n": 2, /* "}" */\n  },\n}\n',
        ),
        ('{"a": {"b": 1}} // end', '{"a": {"b": 1, "n": 2}} // end'),
        ('{\r\n\t"a": {}\r\n}', '{\r\n\t"a": {\r\n\t\t"n": 2\r\n\t}\r\n}'),
        ('{"a": {"n": 1, "n": [1]}}', '{"a": {"n": 1, "n": 2}}'),
        ('{"url": "http://x/,}"}', '{"url": "http://x/,}", "a": {"n": 2}}'),
    ],
)
def test_key_is_put_where_it_belongs_and_comments_stay(text, expected):
    assert expected == put_value(text, ("a", "n"), 2)


def test_first_of_several_keys_is_taken_away():
    assert '{\n  "b": 2 // why\n}' == remove_value('{\n  "a": 1,\n  "b": 2 // why\n}', ("a",))


def test_value_that_is_no_object_takes_no_key():
    with pytest.raises(ValueError, match="'a'"):
        put_value('{"a": 1}', ("a", "n"), 2)
