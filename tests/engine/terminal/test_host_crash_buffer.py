"""What outlives a crash: the ring of output and the dumps."""

from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.terminal.host.crash_buffer import CrashBuffer


@given(pieces=st.lists(st.binary(max_size=150), max_size=20), position=st.integers(0, 400))
def test_ring_gives_what_was_printed_since_a_position_or_the_lines_that_are_left(pieces, position):
    crash_buffer = CrashBuffer(ring=256, dump_slot=64)
    for piece in pieces:
        crash_buffer.append(piece)
    everything = b"".join(pieces)
    position = min(position, len(everything))

    data, is_whole = crash_buffer.output_since(position)

    crash_buffer.close()
    assert len(everything) == memory_total(pieces)
    if is_whole:
        assert everything[position:] == data
    else:
        assert everything.endswith(data)
        assert position < len(everything) - 256


def memory_total(pieces):
    return sum(map(len, pieces))


def test_lost_output_begins_after_the_end_of_a_line():
    crash_buffer = CrashBuffer(ring=16, dump_slot=64)
    crash_buffer.append(b"0123456789\x1b[31mred\nline")

    assert (b"line", False) == crash_buffer.output_since(0)


def test_last_dump_and_its_position_come_back():
    crash_buffer = CrashBuffer(ring=64, dump_slot=64)
    assert crash_buffer.dump() is None
    crash_buffer.append(b"abc")
    assert crash_buffer.keep_dump(b"first")
    crash_buffer.append(b"def")
    assert crash_buffer.keep_dump(b"second")

    assert (b"second", 6) == crash_buffer.dump()
    assert (b"", True) == crash_buffer.output_since(6)


def test_output_that_was_not_drawn_yet_is_not_in_the_dump():
    crash_buffer = CrashBuffer(ring=64, dump_slot=64)
    crash_buffer.append(b"drawn, not")
    crash_buffer.keep_dump(b"dump", undrawn=3)

    assert (b"dump", 7) == crash_buffer.dump()
    assert (b"not", True) == crash_buffer.output_since(7)


def test_dump_that_was_torn_gives_the_one_before():
    crash_buffer = CrashBuffer(ring=64, dump_slot=64)
    crash_buffer.keep_dump(b"first")
    crash_buffer.keep_dump(b"second")
    crash_buffer._map[crash_buffer._place(0)] ^= 0xFF  # the second lies in slot 0

    assert (b"first", 0) == crash_buffer.dump()


def test_dump_larger_than_its_slot_is_not_kept():
    crash_buffer = CrashBuffer(ring=64, dump_slot=8)
    crash_buffer.keep_dump(b"small")

    assert not crash_buffer.keep_dump(b"far too large")

    assert (b"small", 0) == crash_buffer.dump()


def test_size_is_remembered():
    crash_buffer = CrashBuffer(ring=64, dump_slot=8)
    crash_buffer.size = 120, 40

    assert (120, 40) == crash_buffer.size
