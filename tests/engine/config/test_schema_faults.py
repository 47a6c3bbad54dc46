"""A table of pydantic takes plain values, or says at once, in our words, everything that is wrong with them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, Field

from oulipoly_engine.config.base.problem import Fault, Level
from oulipoly_engine.config.schema.accounts import AccountTable
from oulipoly_engine.config.schema.app import AppTable, ThemeTable, ViewTable
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.schema.fields import (
    AboveZero,
    Count,
    Filled,
    Number,
    OneOf,
    Table,
    Text,
    Variable,
    make_whole_check,
)
from oulipoly_engine.config.schema.models import ModelTable
from oulipoly_engine.config.schema.settings import PriceTable, ScriptsTable, SettingsTable


class Wheel(Table):
    size: Number
    spokes: Count | None = None


class Label(Table):
    model_config = ConfigDict(extra="forbid")

    text: Filled | None = None


class Cart(Table):
    later: ClassVar[frozenset[str]] = frozenset({"sail"})
    elsewhere: ClassVar[Mapping[str, str]] = MappingProxyType({"anchor": "boats.toml"})

    name: Filled
    load: AboveZero = 1.5
    horses: list[Text] = Field([])
    spare: Wheel | None = None
    wheels: list[Wheel] = Field([])
    drivers: Annotated[list[Text], Field(min_length=1)] | None = None
    label: Label | None = None
    pace: Annotated[str, OneOf("walk", "trot")] = "walk"
    is_open: bool = False
    notes: Annotated[dict[str, str], make_whole_check("a table of texts")] = Field({})
    variables: dict[Variable, Text] = Field({})

    def refusals(self):
        if len(self.wheels) % 2:
            yield Fault(("wheels",), "one wheel is missing", "add one")
        if self.spare is None:
            yield Fault((), "no spare", "add one")


GOOD = {"name": "c", "spare": {"size": 1}}


def faults(raw, at=()):
    return [(fault.path, fault.message) for fault in check(Cart, raw, at)[1]]


def test_values_and_defaults_are_attributes():
    cart, _ = check(Cart, {"name": "c", "spare": {"size": 3}, "horses": ["h"]})

    assert ("c", 1.5, ["h"], []) == (cart.name, cart.load, cart.horses, cart.wheels)
    assert (3.0, float, None) == (cart.spare.size, type(cart.spare.size), cart.spare.spokes)


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


@pytest.mark.parametrize(
    ("key", "value", "message", "fix"),
    [
        pytest.param("name", 3, "it must be a text in quotes, not the number 3", "write a text in quotes", id="text"),
        pytest.param("load", "1", "it must be a number, not the text '1'", "write a number", id="number as text"),
        pytest.param("is_open", 1, "it must be true or false, without quotes, not the number 1", None, id="truth"),
        pytest.param("is_open", "yes", "it must be true or false, without quotes, not the text 'yes'", None, id="yes"),
        pytest.param("horses", "h", "it must be a list in brackets, not the text 'h'", 'write ["h"]', id="list"),
        pytest.param(
            "horses",
            "a b",
            "it must be a list in brackets, not the text 'a b'",
            "write a list in brackets",
            id="list of words",
        ),
        pytest.param("spare", [], "it must be a table, not an empty list", "write a table", id="table"),
        pytest.param("variables", 1, "it must be a table, not the number 1", "write a table", id="variables"),
        pytest.param("drivers", [], "the list `drivers` is empty", None, id="empty list"),
        pytest.param("pace", "trott", "the text 'trott' is not one of walk, trot", 'write "trot"', id="near word"),
        pytest.param("pace", 4, "the number 4 is not one of walk, trot", "write one of these in quotes", id="no word"),
        pytest.param("notes", {"a": 1}, "it must be a table of texts, not a table", "change it", id="as a whole"),
    ],
)
def test_a_wrong_value_is_told_with_the_way_out(key, value, message, fix):
    table, found = check(Cart, {**GOOD, key: value})

    assert table is None
    assert [((key,), message)] == [(fault.path, fault.message) for fault in found]
    assert fix in (None, found[0].fix)


@pytest.mark.parametrize("value", [1.0, True, "1"], ids=["fraction", "truth", "text"])
def test_a_count_is_a_whole_number_and_nothing_that_looks_like_one(value):
    found = faults({**GOOD, "spare": {"size": 1, "spokes": value}})

    assert [("spare", "spokes")] == [path for path, _ in found]
    assert found[0][1].startswith("it must be a whole number, not ")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_a_number_that_no_float_can_hold_is_refused(value):
    table, found = check(Wheel, {"size": value})

    assert table is None
    assert found[0].message.endswith("is wrong: it should be a finite number")


def test_a_wrong_name_stands_at_its_own_place_even_where_it_is_called_as_pydantic_s_mark():
    wrong_names = {"A=B": "x", "": "x", "[key]=": "x", "\0": "x"}
    wrong_values = {"[key]": 1, "A": 2}

    in_names, in_values = (faults({**GOOD, "variables": raw}) for raw in (wrong_names, wrong_values))

    assert [("variables", name) for name in wrong_names] == [path for path, _ in in_names]
    assert [("variables", name) for name in wrong_values] == [path for path, _ in in_values]


def test_unknown_keys_are_found_in_nested_tables_even_of_wrong_values():
    raw = {"nam": 1, "sail": 2, "spare": {"sise": 1}, "wheels": [{"spoke": 1}, 5]}

    found = [fault for fault in check(Cart, raw)[1] if fault.level is Level.WARNING]

    assert [
        (("nam",), "`nam` is not a known key (did you mean `name"),
        (("sail",), "`sail` has no effect in this version"),
        (("spare", "sise"), "`sise` is not a known key (did you mean `size"),
        (("wheels", 0, "spoke"), "`spoke` is not a known key (did you mean `spokes"),
    ] == [(fault.path, fault.message.partition("`?)")[0]) for fault in found]


@pytest.mark.parametrize("key", ["anchor", "ancor"])
def test_a_key_of_another_file_is_told_with_that_file(key):
    (fault,) = (fault for fault in check(Cart, GOOD | {key: 1})[1] if fault.level is Level.WARNING)

    assert f"`{key}` is not a known key here (did you mean `anchor` of boats.toml?)" == fault.message
    assert "put it into boats.toml as `anchor`" == fault.fix


def test_a_table_may_refuse_unknown_keys():
    table, found = check(Cart, {**GOOD, "label": {"txet": "a"}})

    assert table is None
    assert [(("label", "txet"), Level.ERROR, "rename it to `text`")] == [(f.path, f.level, f.fix) for f in found]


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_TABLES = [AccountTable, ModelTable, SettingsTable, ScriptsTable, PriceTable, AppTable, ViewTable, ThemeTable]


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: table.__name__)
@given(data=st.data())
def test_whatever_is_wrong_is_a_fault_with_a_place_and_a_way_out(table, data):
    known = dict.fromkeys(table.model_fields, _PLAIN)
    raw = data.draw(st.fixed_dictionaries({}, optional=known) | _PLAIN)

    checked, found = check(table, raw, ("here",))

    assert (checked is None) == any(fault.level is Level.ERROR for fault in found)
    assert all(fault.path[0] == "here" and fault.message and fault.fix for fault in found)
    assert not any("Input should" in fault.message for fault in found)
