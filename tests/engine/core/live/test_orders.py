"""Orders over the wire: hosts and clients of other releases read them, and rubbish is told as such."""

from typing import get_args

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.service.live.protocol import OrderFrame

WRITTEN = {  # as hosts and clients of the first release have it
    orders.AskStatus(): ("status", {}),
    orders.AskClients(tell=True): ("clients", {"tell": True}),
    orders.AskClients(()): ("clients", {"names": ()}),
    orders.Send("x", if_idle=True): ("send", {"text": "x", "if_idle": True}),
    orders.Steer("x", "t"): ("steer", {"text": "x", "turn_id": "t"}),
    orders.Review("branch", "main"): ("review", {"kind": "branch", "value": "main"}),
    orders.SetModel("m", "high"): ("set_model", {"model": "m", "effort": "high"}),
    orders.ChangeQueue("move", "m", place=3): ("queue", {"act": "move", "message_id": "m", "place": 3}),
    orders.Close(if_idle=True): ("close", {"if_idle": True}),
}


@pytest.mark.parametrize("order", WRITTEN, ids=orders.verb_of)
def test_an_order_is_written_as_the_first_release_wrote_it_and_read_again(order):
    assert WRITTEN[order] == orders.write_order(order)
    assert order == orders.read_order(*WRITTEN[order])


def test_each_order_has_a_verb_of_its_own():
    kinds = get_args(orders.AnyOrder)
    assert len(kinds) == len({kind.__struct_config__.tag for kind in kinds})


def test_who_has_written_an_order_is_no_part_of_it():
    frame = OrderFrame.wrap(1, orders.Interrupt(), by_person=True)
    assert (True, orders.Interrupt()) == (frame.is_by_person, frame.order)


def test_what_a_later_release_adds_to_an_order_is_left_out():
    assert orders.Send("x") == orders.read_order("send", {"text": "x", "of_tomorrow": 1})


@pytest.mark.parametrize(
    ("verb", "fields", "told"),
    [("burn", {}, "there is no order 'burn'"), ("send", {}, "`text`"), ("queue", {"act": 7}, "str")],
)
def test_what_is_no_order_is_told(verb, fields, told):
    with pytest.raises(UsageInvalid, match=told):
        orders.read_order(verb, fields)
