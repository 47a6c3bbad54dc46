"""Events that go to everybody: none is longer than a frame."""

import msgspec
import pytest

from oulipoly_engine.core.live.events import LONGEST, FileChange, Item, ItemDelta, ItemEnded, Notice, TurnEnded, fit

MIB = 1 << 20


@pytest.mark.parametrize(
    "event",
    [
        ItemEnded(Item("i", "command", text="\0" * 6 * MIB)),
        ItemEnded(Item("i", "file_change", changes=(FileChange("a", diff="d" * 9 * MIB),) * 3)),
        TurnEnded("completed", "m" * 9 * MIB, reply="🐢" * 9 * MIB, turn_id="t"),
        ItemDelta("i", "x" * 20 * MIB),
    ],
    ids=["controls", "diffs", "reply", "delta"],
)
def test_a_long_event_is_cut_and_says_so(event):
    cut = fit(event)

    encoded = msgspec.json.encode(cut)
    assert (type(event), True) == (type(cut), MIB < len(encoded) <= LONGEST)
    assert b"characters were cut off]" in encoded
    assert cut == fit(cut)


def test_an_event_of_too_many_pieces_becomes_a_notice():
    event = ItemEnded(Item("i", "plan", steps=(("a" * 1000, "pending"),) * 20_000))

    assert "oversized" == fit(event).code
    assert fit(Notice("short")) == Notice("short")
