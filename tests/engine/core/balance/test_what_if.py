"""What-if texts, and what they change of a pool's candidates."""

import pytest

from oulipoly_engine.core.balance.decision import Candidate
from oulipoly_engine.core.balance.what_if import FORMS, Supposition, parse, suppose
from oulipoly_engine.core.quota.windows import QuotaState
from oulipoly_engine.errors import UsageInvalid

POOL = ("a", "b")


def candidates(**of_a):
    return (Candidate(0, "a", QuotaState("a"), **of_a), Candidate(1, "b", QuotaState("b")))


def supposed(*texts, **of_a):
    return suppose(candidates(**of_a), parse(texts, POOL))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pin=b", Supposition("pin", "b")),
        ("drain=a", Supposition("drain", "a")),
        ("undrain=a", Supposition("undrain", "a")),
        ("reserve=a:15", Supposition("reserve", "a", 0.15)),
        ("reserve=a:0", Supposition("reserve", "a", 0.0)),
        ("reserve=a:99%", Supposition("reserve", "a", 0.99)),
        ("turns=+40", Supposition("turns", None, 40.0)),
        ("turns=a:+40", Supposition("turns", "a", 40.0)),
        ("turns=0", Supposition("turns", None, 0.0)),
        ("turns=a:1000000", Supposition("turns", "a", 1_000_000.0)),
        ("turns=1000000", Supposition("turns", None, 1_000_000.0)),
        ("turns=a:0", Supposition("turns", "a", 0.0)),
    ],
)
def test_every_form_is_understood_up_to_its_limits(text, expected):
    assert (expected,) == parse([text], POOL)


@pytest.mark.parametrize(
    "text",
    [
        "pin",
        "boost=a",
        "drain=a:1",
        "pin=a:",
        "reserve=a",
        "reserve=a:-1",
        "reserve=a:99.5",
        "reserve=a:many",
        "turns=-1",
        "turns=1000001",
        "turns=a:-1",
        "turns=a:1000001",
        "turns=nan",
    ],
)
def test_what_is_no_what_if_is_refused_with_the_forms(text):
    with pytest.raises(UsageInvalid) as caught:
        parse([text], POOL)

    assert f"{text!r} is not a what-if: write {FORMS}" == caught.value.message


@pytest.mark.parametrize("text", ["pin=c", "reserve=c:5", "turns=c:5", "drain="])
def test_account_outside_the_pool_is_refused_naming_the_pool(text):
    name = text.partition("=")[2].partition(":")[0]

    with pytest.raises(UsageInvalid) as caught:
        parse([text], POOL)

    assert f"{text!r}: no account {name!r} in this pool, which has a, b" == caught.value.message


def test_pin_leaves_the_pinned_accounts_alone_in_the_choice():
    assert ["b"] == [candidate.account for candidate in supposed("pin=b")]
    assert ["a", "b"] == [candidate.account for candidate in supposed("pin=b", "pin=a")]


@pytest.mark.parametrize(("text", "before", "after"), [("drain=a", False, True), ("undrain=a", True, False)])
def test_drain_and_undrain_touch_the_named_account_only(text, before, after):
    assert [after, False] == [candidate.drained for candidate in supposed(text, drained=before)]


def test_reserve_replaces_the_account_s_own():
    assert [0.2, 0.0] == [candidate.reserve for candidate in supposed("reserve=a:20", reserve=0.5)]


@pytest.mark.parametrize(("text", "expected"), [("turns=+5", [8, 5]), ("turns=a:+5", [8, 0])], ids=["all", "one"])
def test_turns_are_added_to_those_since_the_reading(text, expected):
    assert expected == [candidate.turns_since_refresh for candidate in supposed(text, turns_since_refresh=3)]


def test_suppositions_work_together_and_the_last_of_a_kind_counts():
    first, second = supposed("drain=a", "reserve=a:10", "reserve=a:30", "turns=+1", "turns=a:+2", "undrain=a")

    assert (False, 0.3, 3) == (first.drained, first.reserve, first.turns_since_refresh)
    assert (False, 0.0, 1) == (second.drained, second.reserve, second.turns_since_refresh)


def test_nothing_supposed_changes_nothing():
    assert candidates() == supposed()
