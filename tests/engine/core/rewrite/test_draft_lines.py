"""A transcript as a draft: what is changed changes, and all other bytes stay."""

import pytest

from oulipoly_engine.core.rewrite.draft_lines import Draft, raw_lines

THREE = b'{"n":1}\n{"n":2}\n{"n":3}\n'


def appended(data, **values):
    draft = Draft(data)
    draft.insert(draft.end, values)
    return draft.data()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a\n"]),
        (b"\n\na\r\nb", [b"\n", b"\n", b"a\r\n", b"b"]),
        ("a\u2028b\x0bc\n".encode(), ["a\u2028b\x0bc\n".encode()]),
    ],
    ids=["nothing", "no end", "one", "blank and without end", "other ends of lines are none"],
)
def test_lines_are_those_of_a_binary_file(data, expected):
    assert expected == raw_lines(data)


@pytest.mark.parametrize("data", [b"", THREE, THREE.removesuffix(b"\n"), b"\xef\xbb\xbf" + THREE, b"\n\r\n {} \r\n"])
def test_untouched_draft_keeps_every_byte(data):
    assert data == Draft(data).data()


def test_documents_are_numbered_by_line_and_blank_ones_are_left_out():
    assert [(1, {"n": 1}), (4, {"n": 4})] == list(Draft(b'{"n":1}\n\n \r\n{"n":4}').documents())


@pytest.mark.parametrize(("data", "expected"), [(b"", 1), (b"{}", 2), (b"{}\n\n", 3)])
def test_end_lies_behind_the_last_line(data, expected):
    assert expected == Draft(data).end


def test_text_of_a_line_has_no_end_and_no_mark():
    draft = Draft(b'\xef\xbb\xbf{"n":1}\r\n{"n":2}\n')

    assert ['{"n":1}', '{"n":2}'] == [draft.text(1), draft.text(2)]


def test_changed_line_keeps_its_end_and_its_mark():
    draft = Draft('\ufeff{"n":1}\r\n{"n":2}\n'.encode())
    draft.change(1, {("n",): '"Tür"'})

    assert '\ufeff{"n":"Tür"}\r\n{"n":2}\n'.encode() == draft.data()
    assert [(1, {"n": "Tür"}), (2, {"n": 2})] == list(draft.documents())


def test_line_can_be_changed_twice():
    draft = Draft('{"a":"ö","b":2}\n'.encode())
    draft.change(1, {("a",): '"äöü"'})
    draft.change(1, {("b",): "3"})

    assert '{"a":"äöü","b":3}\n'.encode() == draft.data()


def test_change_of_nothing_touches_not_even_a_blank_line():
    draft = Draft(b"\n")
    draft.change(1, {})

    assert b"\n" == draft.data()


def test_place_that_a_line_does_not_have_is_refused():
    with pytest.raises(KeyError):
        Draft(THREE).change(2, {("m",): "1"})


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, b'{"n":2}\n{"n":3}\n'), (2, b'{"n":1}\n{"n":3}\n'), (3, b'{"n":1}\n{"n":2}\n')],
)
def test_removed_line_goes_with_its_end_and_is_still_read(number, expected):
    draft = Draft(THREE)
    draft.remove(number)

    assert expected == draft.data()
    assert 3 == len(list(draft.documents()))


def test_objects_stand_before_their_line_in_the_order_in_which_they_came():
    draft = Draft(THREE)
    draft.insert(3, {"x": "ä"})
    draft.insert(3, {"x": 2})

    assert '{"n":1}\n{"n":2}\n{"x":"ä"}\n{"x":2}\n{"n":3}\n'.encode() == draft.data()


def test_object_takes_the_place_of_a_removed_line():
    draft = Draft(THREE)
    draft.insert(2, {"x": 1})
    draft.remove(2)

    assert b'{"n":1}\n{"x":1}\n{"n":3}\n' == draft.data()


@pytest.mark.parametrize("data", [b'{"n":1}', b'{"n":1}\n'], ids=["without end", "with its end"])
def test_last_line_gets_an_end_before_another_is_appended(data):
    assert b'{"n":1}\n{"x":1}\n' == appended(data, x=1)


def test_first_line_of_an_empty_transcript_can_be_added():
    assert b'{"x":1}\n' == appended(b"", x=1)


def test_half_of_a_pair_of_surrogates_is_changed_and_added_as_its_escape():
    draft = Draft(b'{"n":1}\n')
    draft.insert(1, {"x": "\ud83d"})

    assert b'{"x":"\\ud83d"}\n{"n":1}\n' == draft.data()
