"""Repetitions are bounded and cut apart, and nothing else of the output is changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.terminal.emulators.ghostty.repeats import cut_at_repeats

BYTES = st.lists(
    st.sampled_from([b"\x1b[", b"\x9b", b"9", b"0", b"12", b"b", b"x", b";", b"\x07", "\u76db".encode()])
).map(b"".join)


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (b"", []),
        (b"plain \x1b[31mred\x1b[9b", [b"plain \x1b[31mred\x1b[9b"]),
        (b"x\x1b[80bend", [b"x\x1b[80b", b"end"]),
        (b"x\x1b[999bx\x1b[65535b", [b"x\x1b[999b", b"x\x1b[999b"]),
        (b"x\x1b[000080bend", [b"x\x1b[000080b", b"end"]),
        (b"x\x1b[65\x07535bend", [b"x\x1b[\x07999b", b"end"]),
        (b"x\x1b^\x9b65535b", [b"x\x1b^\x9b999b"]),
        ("\u76db12345b".encode(), ["\u76db12345b".encode()]),
        (b"12345b \x1b[12345m \x1b[1;2345b", [b"12345b \x1b[12345m \x1b[1;2345b"]),
    ],
    ids=["none", "small", "cut", "bounded", "zeros", "control-inside", "c1", "utf-8", "other"],
)
def test_repetitions_are_bounded_and_cut_apart(data, pieces):
    assert pieces == list(cut_at_repeats(data))


@given(BYTES)
def test_what_repeats_little_is_the_same_in_pieces(data):
    joined = b"".join(cut_at_repeats(data))

    assert joined == b"".join(cut_at_repeats(joined))
    assert len(joined) <= len(data)
    if b"999" not in joined:
        assert data == joined
