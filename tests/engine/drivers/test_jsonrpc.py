"""One end of a conversation in JSON lines: what a line says, who is answered how often (contract, vectors 1 to 11)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.drivers import jsonrpc
from oulipoly_engine.drivers.jsonrpc import Endpoint, Notification, Response, ServerRequest, Undecodable, decode

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture
def endpoint():
    return Endpoint(has_version=False)


@pytest.fixture
def settled():
    return []


def written(endpoint):
    return [json.loads(line) for line in endpoint.take().splitlines()]


def note(settled, name):
    return lambda result, failure: settled.append((name, result, failure and failure.kind))


def test_unknown_fields_of_a_response_are_kept():
    line = b'{"id":0,"result":{"userAgent":"codex","platformFamily":"unix"},"future":true}'

    received = decode(line)

    assert isinstance(received, Response)
    assert (0, None) == (received.id, received.failure)
    assert received.raw["future"] is True


def test_native_error_keeps_code_and_data():
    line = b'{"id":10,"error":{"code":123,"message":"Something went wrong","data":{"retry":false}},"retryable":false}'

    failure = decode(line).failure

    assert ("native", 123, {"retry": False}) == (failure.kind, failure.code, failure.data)


def test_method_without_id_is_a_notification():
    line = b'{"method":"item/future_event","params":{"item":{"id":"i1"}},"future":1}'

    assert Notification("item/future_event", {"item": {"id": "i1"}}) == decode(line)


def test_method_with_id_is_a_request():
    line = b'{"method":"command/approval/request","id":17,"params":{"requestId":"r1"},"future":"x"}'

    assert ServerRequest(17, "command/approval/request", {"requestId": "r1"}) == decode(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "empty-line"),
        (b" \t\r", "empty-line"),
        (b"not json", "malformed-json"),
        (b"\xff\xfe", "malformed-json"),
        (b'{"id":' + b"9" * 5000 + b',"result":1}', "malformed-json"),
        (b"[" * 100_000, "malformed-json"),
        (b"[1]", "expected-object"),
        (b"{}", "unknown-shape"),
        (b'{"id":1}', "unknown-shape"),
        (b'{"method":7,"id":1}', "unknown-shape"),
        (b'{"id":1,"result":1,"error":{"message":"x"}}', "invalid-message"),
        (b'{"id":true,"result":1}', "invalid-message"),
        (b'{"result":1}', "invalid-message"),
    ],
)
def test_a_line_that_is_no_message_is_named(line, why):
    assert why == decode(line).why


def test_only_the_beginning_of_a_broken_line_is_kept():
    assert 400 == len(decode("ä".encode() * 1_000_000).text)


@given(ANY_JSON)
def test_any_json_is_decoded(value):
    line = json.dumps(value).encode()

    assert isinstance(decode(line), Response | ServerRequest | Notification | Undecodable)


@given(st.binary())
def test_any_bytes_are_decoded(line):
    assert decode(line) is not None


def test_replies_in_another_order_reach_their_callers(endpoint, settled):
    endpoint.request("a", {}, note(settled, "a"))
    endpoint.request("b", {}, note(settled, "b"))

    endpoint.receive(b'{"id":1,"result":"for b"}')
    endpoint.receive(b'{"id":0,"result":"for a"}')

    assert [("b", "for b", None), ("a", "for a", None)] == settled


def test_ids_count_from_zero_and_no_version_is_told(endpoint, settled):
    endpoint.request("a", {"x": 1}, note(settled, "a"))
    endpoint.notify("b")

    assert [{"id": 0, "method": "a", "params": {"x": 1}}, {"method": "b"}] == written(endpoint)


def test_version_is_told_where_it_is_asked_for(settled):
    endpoint = Endpoint(has_version=True)
    endpoint.notify("b")

    assert [{"jsonrpc": "2.0", "method": "b"}] == written(endpoint)


def test_late_reply_is_ignored_and_later_requests_work(endpoint, settled):
    endpoint.request("slow", {}, note(settled, "slow"), patience_s=0.05)
    endpoint.tick(1000.0)
    endpoint.tick(1000.05)
    endpoint.receive(b'{"id":0,"result":"late"}')
    endpoint.request("next", {}, note(settled, "next"))
    endpoint.receive(b'{"id":1,"result":"in time"}')

    assert [("slow", None, "timeout"), ("next", "in time", None)] == settled


def test_patience_begins_with_the_first_tick(endpoint, settled):
    endpoint.request("a", {}, note(settled, "a"), patience_s=2.0)

    assert 2.0 == endpoint.tick(50_000.0)
    assert 0.5 == endpoint.tick(50_001.5)
    assert [] == settled


def test_a_long_pause_before_a_request_does_not_shorten_its_patience(endpoint, settled):
    endpoint.tick(10.0)
    endpoint.request("a", {}, note(settled, "a"), patience_s=2.0)

    assert 2.0 == endpoint.tick(10_000.0)
    assert [] == settled


def test_end_of_the_connection_settles_all_that_is_open(endpoint, settled):
    endpoint.request("a", {}, note(settled, "a"))
    endpoint.request("b", {}, note(settled, "b"))

    endpoint.close()

    assert [("a", None, "closed"), ("b", None, "closed")] == settled


def test_a_request_that_is_open_twice_is_refused(endpoint):
    endpoint.receive(b'{"id":7,"method":"ask"}')

    assert endpoint.receive(b'{"id":7,"method":"ask"}') is None
    assert jsonrpc.INVALID == written(endpoint)[0]["error"]["code"]
    assert endpoint.is_open(7)


def test_a_request_is_answered_once(endpoint):
    endpoint.receive(b'{"id":"x","method":"ask"}')

    assert endpoint.answer("x", {"decision": "accept"})
    assert not endpoint.answer("x", {"decision": "decline"})
    assert not endpoint.refuse("x", jsonrpc.UNKNOWN_METHOD, "no")
    assert [{"id": "x", "result": {"decision": "accept"}}] == written(endpoint)


def test_a_request_that_was_taken_back_is_not_answered(endpoint):
    endpoint.receive(b'{"id":1,"method":"ask"}')
    endpoint.forget(1)

    assert not endpoint.answer(1, {})
    assert b"" == endpoint.take()
