"""Lines out of a stream that is cut anywhere (contract, vector 42)."""

from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.text.lines import LineSplitter, Oversized


def split(data, *, limit, step):
    splitter = LineSplitter(limit)
    lines = [line for start in range(0, len(data), step) for line in splitter.feed(data[start : start + step])]
    return lines, splitter.rest()


@given(st.integers(1, 60))
def test_an_oversized_line_is_left_out_and_the_next_is_whole(step):
    data = b'{"result":"this frame is oversized"}\n{}\n'

    lines, rest = split(data, limit=16, step=step)

    assert [Oversized(37, b"}"), b"{}"] == lines
    assert b"" == rest


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b" "))), st.binary(), st.integers(1, 9))
def test_lines_are_the_same_however_the_stream_is_cut(lines, tail, step):
    tail = tail.replace(b"\n", b" ")
    data = b"".join(line + b"\n" for line in lines) + tail

    assert (lines, tail) == split(data, limit=10_000, step=step)


def test_a_line_that_just_fits_is_kept():
    assert ([b"x" * 15, Oversized(17, b"y")], b"") == split(b"x" * 15 + b"\n" + b"y" * 16 + b"\n", limit=16, step=5)


def test_the_end_of_an_unfinished_line_can_be_looked_at_without_taking_it():
    splitter = LineSplitter(100)
    lines = list(splitter.feed(b"done\nname? "))

    assert (b"name? ", b"? ") == (splitter.unfinished(), splitter.unfinished(2))
    assert [b"done", b"name? me"] == lines + list(splitter.feed(b"me\n"))
