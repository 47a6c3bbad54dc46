"""How artifacts are named: one address for each, and nothing that a terminal or a path could mistake."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oulipoly_engine.core.artifacts.addresses import Address, parse, returns_of, scratchpad_of
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import ArtifactMisused

UUID = "550e8400-e29b-41d4-a716-446655440000"
TEXTS = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=40).filter(str.strip)
RUNS = TEXTS.filter(lambda text: not text.startswith(("scratchpad:", "return:"))) | st.sampled_from(
    [returns_of(UUID), scratchpad_of(UUID)]
)


@given(RUNS, TEXTS, st.none() | st.integers(1, 10**17))
def test_an_address_is_read_as_it_was_written(run, name, version):
    address = Address(run, name, version)

    assert set(address.text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:%")
    assert address == parse(address.text)


@given(RUNS, TEXTS, st.none() | st.integers(1, 10**17))
@example("store:", "/x@y", 1)
@example("-a/b", "100%41\u202e@2", None)
def test_the_short_form_that_listings_show_is_read_as_the_same_address(run, name, version):
    address = Address(run, name, version)

    assert address.short == visible_line(address.short).lstrip("- ")
    assert address == parse(address.short)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("plan/todo.md", Address("plan", "todo.md")),
        ("plan/a/b.md@3", Address("plan", "a/b.md", 3)),
        ("plan/todo@approved", Address("plan", "todo", label="approved")),
        ("a%2Fb/c%40d@1", Address("a/b", "c@d", 1)),
        (f"return:{UUID}/x@2", Address(returns_of(UUID), "x", 2)),
        ("plan/..", Address("plan", "..")),
        ("план/план", Address("план", "план")),
    ],
)
def test_the_short_form(text, address):
    assert address == parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "plan", "plan/", "/x", "plan/x@0", "plan/x@-1", "plan/x@1x", "plan/x@a b", "return:nope/x", "plan/a\x1bb",
        "plan/a%0Ab", f"plan/{'x' * 1025}", "plan/\ud800", "store://", "store://run/x", "store://other/x/1",
        f"store://return/{UUID}/name/0", f"store://return/{UUID}/name/1/2", f"store://return/{UUID.upper()}/name/1",
        "store://run/a/%6e/1", "store://run/a/%2e%2e/01", "store://return/nope/name/1", "store://run/a/%ff/1",
        "plan/%ff",
    ],
)  # fmt: skip
def test_what_is_not_an_address_is_refused(text):
    with pytest.raises(ArtifactMisused) as refused:
        parse(text)
    assert len(refused.value.message) < 400
