"""What outlives a crash: the ring of output and the dumps."""

from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.terminal.host.crash_buffer import Memory


@given(pieces=st.lists(st.binary(max_size=150), max_size=20), position=st.integers(0, 400))
def test_ring_gives_what_was_printed_since_a_position_or_the_lines_that_are_left(pieces, position):
    memory = Memory(ring=256, dump_slot=64)
    for piece in pieces:
        memory.append(piece)
    everything = b"".join(pieces)
    position = min(position, len(everything))

    data, is_whole = memory.output_since(position)

    memory.close()
    assert len(everything) == memory_total(pieces)
    if is_whole:
        assert everything[position:] == data
    else:
        assert everything.endswith(data)
        assert position < len(everything) - 256


def memory_total(pieces):
    return sum(map(len, pieces))


def test_lost_output_begins_after_the_end_of_a_line():
    memory = Memory(ring=16, dump_slot=64)
    memory.append(b"0123456789\x1b[31mred\nline")

    assert (b"line", False) == memory.output_since(0)


def test_last_dump_and_its_position_come_back():
    memory = Memory(ring=64, dump_slot=64)
    assert memory.dump() is None
    memory.append(b"abc")
    assert memory.keep_dump(b"first")
    memory.append(b"def")
    assert memory.keep_dump(b"second")

    assert (b"second", 6) == memory.dump()
    assert (b"", True) == memory.output_since(6)


def test_dump_that_was_torn_gives_the_one_before():
    memory = Memory(ring=64, dump_slot=64)
    memory.keep_dump(b"first")
    memory.keep_dump(b"second")
    memory._map[memory._place(0)] ^= 0xFF  # the second lies in slot 0

    assert (b"first", 0) == memory.dump()


def test_dump_larger_than_its_slot_is_not_kept():
    memory = Memory(ring=64, dump_slot=8)
    memory.keep_dump(b"small")

    assert not memory.keep_dump(b"far too large")

    assert (b"small", 0) == memory.dump()


def test_size_is_remembered():
    memory = Memory(ring=64, dump_slot=8)
    memory.size = 120, 40

    assert (120, 40) == memory.size
