"""The framed protocol: whole messages out of any pieces, and rubbish refused without harm."""

from itertools import pairwise
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.terminal.protocol import messages as wire

_MESSAGES = st.one_of(
    st.builds(wire.Hello, version=st.integers(0, 9), name=st.text(max_size=20)),
    st.builds(wire.Attach, columns=st.integers(1, 500), rows=st.integers(1, 500)),
    st.builds(wire.TextInput, data=st.binary(max_size=3000)),
    st.builds(wire.KeyInput, name=st.text(max_size=8), text=st.text(max_size=2), mods=st.integers(0, 15)),
    st.builds(wire.PasteInput, text=st.text(max_size=300)),
    st.builds(wire.PictureReceipt, number=st.integers(0, 1 << 50)),
    st.builds(wire.ScrollRequest, delta=st.integers(-1000, 1000)),
    st.builds(wire.Kill, signal=st.integers(0, 64)),
    st.just(wire.RefreshRequest()),
    st.just(wire.LineNumbersRequest()),
    st.builds(wire.LinesRequest, request=st.integers(0, 9), first=st.integers(0, 1 << 50), count=st.integers(0, 1000)),
)


@given(messages=st.lists(_MESSAGES, max_size=12), cuts=st.lists(st.integers(0, 5000), max_size=30))
def test_messages_come_whole_out_of_any_pieces(messages, cuts):
    stream = b"".join(map(wire.encode, messages))
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    decoder = wire.Decoder(wire.FromClient)

    found = [one for start, end in pairwise(edges) for one in decoder.feed(stream[start:end])]

    assert messages == found


@given(rubbish=st.binary(max_size=400))
def test_rubbish_is_refused_or_waited_for_and_never_anything_else(rubbish):
    decoder = wire.Decoder(wire.FromClient)

    try:
        found = decoder.feed(rubbish)
    except wire.WireBroken:
        found = []

    assert all(isinstance(message, wire.Message) for message in found)


@given(message=_MESSAGES, at=st.integers(4, 3000), value=st.integers(0, 255))
def test_changed_byte_gives_a_message_or_a_refusal(message, at, value):
    frame = bytearray(wire.encode(message))
    frame[min(at, len(frame) - 1)] = value

    try:
        found = wire.Decoder(wire.FromClient).feed(frame)
    except wire.WireBroken:
        found = []

    assert len(found) <= 1


@pytest.mark.parametrize(
    "fields",
    [
        ["no-such-message"],
        ["attach", 0, 24],
        ["attach", 80, 24, "asleep"],
        ["typed", "text"],
        ["seen", -1],
        ["seen", 1, "too many"],
        ["kill", 65],
        ["pointed", "poke", 1, 0, 0],
        [],
        {"typed": b""},
        None,
    ],
    ids=str,
)
def test_message_that_breaks_its_shape_is_refused(fields):
    data = msgspec.msgpack.encode(fields)

    with pytest.raises(wire.WireBroken, match="no message of ours"):
        wire.Decoder(wire.FromClient).feed(len(data).to_bytes(4, "big") + data)


def test_too_large_a_frame_is_refused_before_it_has_come():
    with pytest.raises(wire.WireBroken, match="more than the limit of 100"):
        wire.Decoder(wire.FromClient, largest=100).feed((101).to_bytes(4, "big"))


def test_message_too_large_for_a_frame_is_not_sent():
    with pytest.raises(wire.WireBroken, match="larger than the limit"):
        wire.encode(wire.TextInput(bytes(wire.LARGEST + 1)))


def test_messages_of_the_other_end_are_refused():
    with pytest.raises(wire.WireBroken):
        wire.Decoder(wire.FromClient).feed(wire.encode(wire.Exited(0)))


def test_tags_are_those_that_older_hosts_and_clients_know():
    tags = {kind.__struct_config__.tag for union in (wire.FromClient, wire.FromHost) for kind in get_args(union)}

    assert tags == {
        *("hello", "bye", "attach", "typed", "pressed", "pointed", "pasted", "focused", "resized", "seen", "scrolled"),
        *("refresh", "rows-wanted", "number-lines", "lines-wanted", "coloured", "search-wanted", "send-output", "kill"),
        *("end-seen", "state", "picture", "happened", "size-set", "rows-found", "trimmed", "lines-found"),
        *("search-found", "output", "exited", "said"),
    }
