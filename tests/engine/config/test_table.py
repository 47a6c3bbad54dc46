"""A table of typed keys takes plain values, or says at once everything that is wrong with them."""

import pytest

from oulipoly_engine.config.problem import Fault
from oulipoly_engine.config.table import (
    Key,
    Refused,
    Table,
    above_zero,
    count,
    filled,
    items,
    number,
    optional,
    read_table,
    section,
    sections,
    text,
    unknown_keys,
)


class Wheel(Table):
    size = Key(number)
    spokes = optional(count)


class Cart(Table):
    later = frozenset({"sail"})

    name = Key(filled)
    load = Key(above_zero, 1.5)
    horses = items(text)
    spare = section(Wheel)
    wheels = sections(Wheel)

    def refusals(self):
        if len(self.wheels) % 2:
            yield Fault(("wheels",), "one wheel is missing", "add one")
        if self.spare is None:
            yield Fault((), "no spare", "add one")


def faults(raw, at=()):
    with pytest.raises(Refused) as refused:
        read_table(Cart, raw, at)
    return [(fault.path, fault.message) for fault in refused.value.faults]


def test_values_and_defaults_are_attributes():
    cart = read_table(Cart, {"name": "c", "spare": {"size": 3}, "horses": ["h"]}, ())

    assert ("c", 1.5, ["h"], ()) == (cart.name, cart.load, cart.horses, cart.wheels)
    assert (3.0, float, None) == (cart.spare.size, type(cart.spare.size), cart.spare.spokes)


def test_two_tables_of_a_kind_keep_their_own_values():
    first, second = (read_table(Wheel, {"size": size}, ()) for size in (1, 2))

    assert (1.0, 2.0) == (first.size, second.size)


def test_every_fault_is_told_at_once_in_the_order_of_the_keys():
    raw = {"wheels": [{"size": True}, 4, {"spokes": -1}], "horses": ["a", 1, "\0"], "load": 0}

    assert [
        (("c", "name"), "`name` is missing"),
        (("c", "load"), "the number 0 is wrong: it should be greater than 0"),
        (("c", "horses", 1), "it must be a text in quotes, not the number 1"),
        (("c", "horses", 2), "it holds a NUL character, which no program can be given"),
        (("c", "wheels", 0, "size"), "it must be a number, not true"),
        (("c", "wheels", 1), "it must be a table, not the number 4"),
        (("c", "wheels", 2, "size"), "`size` is missing"),
        (("c", "wheels", 2, "spokes"), "the number -1 is wrong: it should be greater than or equal to 0"),
    ] == faults(raw, ("c",))


def test_keys_that_do_not_fit_together_are_told_one_at_a_time_and_only_when_each_is_right():
    assert [(("c", "wheels"), "one wheel is missing")] == faults({"name": "c", "wheels": [{"size": 1}]}, ("c",))
    assert [(("c",), "no spare")] == faults({"name": "c"}, ("c",))
    assert [(("name",), "it is blank")] == faults({"name": " ", "wheels": [{"size": 1}]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_a_number_that_no_float_can_hold_is_refused(value):
    with pytest.raises(Refused) as refused:
        read_table(Wheel, {"size": value}, ())

    assert refused.value.faults[0].message.endswith("is wrong: it should be a finite number")


def test_unknown_keys_are_found_in_nested_tables_even_of_wrong_values():
    raw = {"nam": 1, "sail": 2, "spare": {"sise": 1}, "wheels": [{"spoke": 1}, 5]}

    found = [(fault.path, fault.message.partition("`?)")[0]) for fault in unknown_keys(Cart, raw)]

    assert [
        (("nam",), "`nam` is not a known key (did you mean `name"),
        (("sail",), "`sail` has no effect in this version"),
        (("spare", "sise"), "`sise` is not a known key (did you mean `size"),
        (("wheels", 0, "spoke"), "`spoke` is not a known key (did you mean `spokes"),
    ] == found
