"""Whatever codex says, the driver raises nothing and leaves nothing open."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.live.events import ItemEnded, ItemStarted, RequestOpened, RequestResolved
from oulipoly_engine.drivers.base import Resolution

WIRES = Path(__file__).parents[3] / "fixtures" / "wires"
METHODS = [json.loads(line) for line in (WIRES / "codex-0.169.0-methods.jsonl").read_text().splitlines()]
THREAD, TURN = "01a20168-70e5-7342-be6c-a6bdd2ea72f1", "01a20168-711d-78b1-8c77-c95f6c898f24"
ITEM_TYPES = ("agentMessage", "commandExecution", "fileChange", "userMessage", "reasoning", "plan", "exitedReviewMode")

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
IDENTITIES = st.sampled_from(["i1", "i2", "", THREAD, TURN]) | ANY_JSON
ITEMS = st.fixed_dictionaries(
    {"id": IDENTITIES, "type": st.sampled_from(ITEM_TYPES) | ANY_JSON},
    optional=dict.fromkeys(("text", "status", "changes", "content", "command", "summary", "exitCode"), ANY_JSON),
)
TURNS = st.fixed_dictionaries({"id": IDENTITIES}, optional={"status": ANY_JSON, "error": ANY_JSON, "items": ANY_JSON})
KNOWN = {
    "threadId": st.just(THREAD) | ANY_JSON,
    "turnId": st.just(TURN) | ANY_JSON,
    "itemId": IDENTITIES,
    "item": ITEMS | ANY_JSON,
    "turn": TURNS | ANY_JSON,
}


def params_of(method):
    names = [*method["required"], *method["optional"]]
    return st.fixed_dictionaries({}, optional={name: KNOWN.get(name, ANY_JSON) for name in names})


def of_kind(kind):
    return st.sampled_from([one for one in METHODS if one["kind"] == kind])


NOTIFICATIONS = of_kind("ServerNotification").flatmap(
    lambda one: st.fixed_dictionaries({"method": st.just(one["method"]), "params": params_of(one) | ANY_JSON})
)
REQUESTS = of_kind("ServerRequest").flatmap(
    lambda one: st.fixed_dictionaries(
        {"id": st.integers(0, 5) | st.text(max_size=3), "method": st.just(one["method"]), "params": params_of(one)}
    )
)
RESPONSES = st.fixed_dictionaries({"id": st.integers(0, 12)}, optional={"result": ANY_JSON, "error": ANY_JSON})
MESSAGES = NOTIFICATIONS | REQUESTS | RESPONSES | ANY_JSON
ORDERS = st.sampled_from(["send", "steer", "interrupt", "compact", "rename", "answer", "tick"])


def order(driver, name, number):
    match name:
        case "send":
            driver.send(f"t{number}", "x")
        case "steer":
            driver.steer(f"m{number}", "x")
        case "interrupt":
            driver.interrupt()
        case "compact":
            driver.compact(f"t{number}")
        case "rename":
            driver.rename("x")
        case "answer":
            driver.answer("1", Resolution("approve"))
        case "tick":
            driver.tick(float(number * 10))


def leave(peer):
    peer.driver.closed()
    peer.take()
    started = {event.item.id for event in peer.of(ItemStarted)}
    opened = {event.native_id for event in peer.of(RequestOpened)}

    assert started <= {event.item.id for event in peer.of(ItemEnded)}
    assert opened == {event.native_id for event in peer.of(RequestResolved)}


@pytest.fixture
def new_peer(peer):
    return lambda: peer.__init__() or peer


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(st.lists(MESSAGES, max_size=12))
def test_a_running_turn_survives_any_messages(new_peer, messages):
    peer = new_peer()
    peer.open()
    peer.run()
    for message in messages:
        peer.feed(message)
    leave(peer)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(st.lists(MESSAGES | ORDERS, max_size=16))
def test_orders_and_messages_mix_in_any_way(new_peer, steps):
    peer = new_peer()
    peer.open()
    for number, step in enumerate(steps):
        if isinstance(step, str):
            order(peer.driver, step, number)
            peer.take()
        else:
            peer.feed(step)
    leave(peer)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(st.lists(RESPONSES | NOTIFICATIONS, max_size=8))
def test_the_beginning_survives_any_answers(new_peer, messages):
    peer = new_peer()
    peer.begin()
    for message in messages:
        peer.feed(message)
    leave(peer)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_are_taken(new_peer, lines):
    peer = new_peer()
    peer.open()
    for line in lines:
        peer.feed(line)
    leave(peer)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    "method", [one for one in METHODS if one["kind"] != "ClientRequest"], ids=lambda m: m["method"]
)
def test_every_method_of_codex_is_taken_without_params(new_peer, method):
    peer = new_peer()
    peer.open()
    peer.run()
    request = {"id": 3} if method["kind"] == "ServerRequest" else {}
    peer.feed({"method": method["method"], **request})
    leave(peer)
