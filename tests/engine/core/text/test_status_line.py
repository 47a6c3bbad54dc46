"""Templates of a status line."""

from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.text.status_line import fill, strangers

VALUES = {"worst": "ada 5h 94 %", "next:opus": "bob", "attention_mark": ""}


def test_placeholders_are_filled_in_and_braces_can_be_written():
    assert "{ada 5h 94 %} bob" == fill("{{{worst}}} {next:opus}", VALUES)


def test_a_slip_stays_as_it_is_written_and_can_be_named():
    assert "{wurst} ada 5h 94 % {next:}" == fill("{wurst} {worst} {next:}", VALUES)
    assert ("wurst", "next:") == strangers("{wurst} {worst} {next:} {wurst}", VALUES)


def test_empty_values_leave_no_gap():
    assert "a b" == fill("a {attention_mark} b", VALUES)


@given(st.text(max_size=60))
def test_any_template_gives_one_line_that_can_be_printed(template):
    line = fill(template, {"worst": "a\nb\x1b[31m"})

    assert line.isprintable()
