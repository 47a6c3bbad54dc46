"""What happens reaches everybody who listens: each event once, in order, from any number on; and nobody else."""

import asyncio
import json
import socket
import threading
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from types import SimpleNamespace

import httpx
import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import Numbered, SessionClosed
from oulipoly_engine.facade.live.sessions import HostUnreachable
from oulipoly_engine.service.live.event_retention import shorten_session
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.web.api import streams
from oulipoly_engine.web.serve import start


def pair(engine, *scopes):
    """Return the header that shows the token of a new device, and its id."""
    made = engine.web.redeem(engine.web.make_code("a test", scopes or ("view", "answer", "operate")).code, "", "here")
    return {"authorization": f"Bearer {made.token}"}, made.device.device_id


class Stream:
    """An event stream, read in a thread."""

    def __init__(self, url, headers, after=None):
        self.events, self.kept, self.numbers, self.ended = [], [], [], threading.Event()
        self._headers = headers | {"accept": "text/event-stream"}
        self._headers |= {} if after is None else {"last-event-id": str(after)}
        self._url, self._client = url, httpx.Client(timeout=60, trust_env=False)
        self._socket = None
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        try:
            with self._client.stream("GET", self._url, headers=self._headers) as answer:
                self._socket = answer.extensions["network_stream"].get_extra_info("socket")
                for line in answer.iter_lines():
                    if line.startswith("id: "):
                        self.numbers.append(int(line[4:]))
                    elif line.startswith("data: "):
                        self.events.append(json.loads(line[6:]))
                        if len(self.kept) < len(self.numbers):
                            self.kept.append(self.events[-1])
        except httpx.HTTPError:
            pass
        finally:
            self.ended.set()

    def until(self, kind, count=1, within_s=60.0, is_it=lambda _event: True):
        """Wait for so many events of a kind and return the last of them."""
        deadline = time.monotonic() + within_s
        while len(found := [one for one in [*self.events] if one["type"] == kind and is_it(one)]) < count:
            assert time.monotonic() < deadline, [one["type"] for one in self.events]
            time.sleep(0.01)
        return found[count - 1]

    def close(self):
        """End it."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # a close alone waits for the thread that reads
        self._thread.join(60)
        self._client.close()


@contextmanager
def listening(*arguments, **more):
    """Listen for the length of a block."""
    stream = Stream(*arguments, **more)
    try:
        yield stream
    finally:
        stream.close()


@pytest.fixture
def talk(served, live):
    """A session that a device has begun, by REST; gives the client, its header and the session's id."""
    headers, device = pair(live.engine)
    with httpx.Client(base_url=served.url, headers=headers, timeout=60, trust_env=False) as client:
        wish = {"repo_path": str(live.root), "use_worktree": False, "agent_id": "demo-live"}
        made = client.post("/sessions", json=wish | {"initial_message": "hello [[approve:ls]]"})
        assert 200 == made.status_code, made.text
        yield client, headers, device, made.json()["id"]


def test_each_event_comes_once_and_in_order_wherever_one_begins(served, live, talk):
    client, headers, _, session = talk
    url = f"{served.url}/sessions/{session}/events"
    with listening(url, headers) as first:
        asked = first.until("request_opened")
        with listening(url, headers, after=4) as late, listening(f"{served.url}/events", headers) as hints:
            hints.until("resync")
            answer = client.post(f"/requests/{asked['request_id']}", json={"decision": "approve"})
            assert 200 == answer.status_code
            late.until("request_resolved")
            assert "a test" == late.until("request_resolved")["by"]
            for one in (first, late):
                one.until("turn_ended")
            assert asked["request_id"] == hints.until("request_settled")["request_id"]
            assert (1, 3) == served.app.state.hub.count()  # one thread for both who watch the session
    kept = client.get(f"/sessions/{session}/events").json()

    assert [*range(1, len(first.numbers) + 1)] == first.numbers
    assert [*range(5, len(late.numbers) + 5)] == late.numbers
    assert first.kept == kept["events"][: len(first.kept)]
    assert late.kept == kept["events"][4 : 4 + len(late.kept)]
    page = client.get(f"/sessions/{session}/events", params={"after": 3, "limit": 2}).json()
    assert ([4, 5], 5, True) == ([one["seq"] for one in page["events"]], page["after"], page["more"])


def test_a_session_goes_on_whose_texts_entries_hold(served, live, talk):
    client, headers, _, session = talk
    url = f"{served.url}/sessions/{session}/events"
    with listening(url, headers) as stream:
        asked = stream.until("request_opened")["request_id"]
        client.post(f"/requests/{asked}", json={"decision": "approve"})
        stream.until("turn_ended")
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    before = client.get(f"/sessions/{session}/events").json()["events"]

    with closing(open_store(live.engine.paths.state_db)) as store:
        shorten_session(store, session)

    with listening(url, headers) as stream:
        answer = client.post(f"/sessions/{session}/messages", json={"content": "and now"})
        assert 200 == answer.status_code, answer.text
        stream.until("turn_ended", 2)
    left = [each for each in before if each["seq"] in stream.numbers]
    assert left == stream.kept[: len(left)]
    assert {"item_started", "diff_updated"} >= {each["type"] for each in before if each not in left}
    assert [*range(before[-1]["seq"], stream.numbers[-1] + 1)] == stream.numbers[len(left) - 1 :]
    items = live.rows("SELECT event FROM live_events WHERE seq < ? AND type = 'item_ended'", before[-1]["seq"])
    assert "hello [[approve:ls]]" not in str(items)


def test_who_writes_and_who_watches_is_told_to_who_listens(served, live, talk):
    client, headers, _, session = talk
    url = f"{served.url}/sessions/{session}/events"
    with listening(url, headers) as stream:
        stream.until("request_opened")
        with live.live.acting_as("ann@desk", is_person=True).connect(session) as desk:
            desk.follow(0)
            desk.order(orders.Rename("a name"))
            told = stream.until("clients_changed", is_it=lambda one: one["controller"] == "ann@desk")
            live.live.acting_as("ben's phone", is_person=True).order(session, orders.Rename("b"), starts=False)
            taken = stream.until("control_changed")
            shown = client.get(f"/sessions/{session}").json()

    assert ["a test", "ann@desk"] == told["attached"] == shown["attached"]
    assert ("ben's phone", "ann@desk") == (taken["by"], taken["before"])
    assert taken in stream.kept
    assert told not in stream.kept
    assert "ben's phone" == shown["controller"]


def test_nobody_who_listens_leaves_no_thread(served, live, talk):
    _, headers, _, session = talk
    with listening(f"{served.url}/sessions/{session}/events", headers) as stream:
        stream.until("request_opened")
    deadline = time.monotonic() + 60
    while served.app.state.hub.count() != (0, 0):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    while [one for one in threading.enumerate() if one.name.startswith("follow ")]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_revoked_device_hears_nothing_more(served, live, talk):
    _, headers, device, session = talk
    with listening(f"{served.url}/sessions/{session}/events", headers) as stream:
        stream.until("request_opened")
        live.engine.web.revoke(device)

        assert stream.ended.wait(60)


def test_denying_is_always_allowed_and_approving_is_not(served, live, talk):
    client, headers, _, session = talk
    viewer, _ = pair(live.engine, "view")
    with listening(f"{served.url}/sessions/{session}/events", headers) as stream:
        asked = stream.until("request_opened")["request_id"]
        refused = client.post(f"/requests/{asked}", json={"decision": "approve"}, headers=viewer)
        answer = {"call_id": asked, "decision": "approve"}
        assert 403 == client.post(f"/sessions/{session}/approvals", json=answer, headers=viewer).status_code
        unread = client.post(f"/requests/{asked}", json={"decision": "approve", "digest": "of another"})
        denied = client.post(f"/requests/{asked}", json={"decision": "deny"}, headers=viewer)
        second = client.post(f"/requests/{asked}", json={"decision": "approve"})

    assert (403, 409, 200) == (refused.status_code, unread.status_code, denied.status_code)
    assert (409, True) == (second.status_code, "a test" in second.json()["error"]["message"])
    assert 409 == client.post(f"/sessions/{session}/approvals", json=answer).status_code


def test_a_server_that_comes_again_finds_everything(served, live, talk):
    _, headers, _, session = talk
    with listening(f"{served.url}/sessions/{session}/events", headers) as stream:
        asked = stream.until("request_opened")
        served.stop()
        assert stream.ended.wait(60)
    again = start(live.engine, address="127.0.0.1", port=0)
    with again:
        thread = threading.Thread(target=again.run)
        thread.start()
        try:
            with listening(f"{again.url}/sessions/{session}/events", headers, after=stream.numbers[-1]) as rest:
                body = {"decision": "approve"}
                place = f"{again.url}/requests/{asked['request_id']}"
                answer = httpx.post(place, json=body, headers=headers, timeout=60, trust_env=False)
                assert 200 == answer.status_code
                rest.until("turn_ended")
                assert [*range(stream.numbers[-1] + 1, rest.numbers[-1] + 1)] == rest.numbers
        finally:
            again.stop()
            thread.join(60)


def test_who_listens_to_a_session_that_has_no_process_hears_it_come(served, live, talk):
    client, headers, _, session = talk
    live.request(session)  # its turn is under way, and ends with its process
    client.post(f"/sessions/{session}/cancel")
    live.until_closed(session)
    with listening(f"{served.url}/sessions/{session}/events", headers) as stream:
        stream.until("session_closed")
        before = len([one for one in stream.events if one["type"] == "turn_ended"])
        assert 200 == client.post(f"/sessions/{session}/messages", json={"content": "go on"}).status_code
        stream.until("turn_ended", before + 1)

    assert [*range(1, len(stream.numbers) + 1)] == stream.numbers


async def test_who_does_not_keep_up_is_dropped():
    listener = streams.Listener("a device")
    listener.hear([(number, True, b"{}") for number in range(streams.MOST_WAITING)])
    assert streams.MOST_WAITING == len(await listener.take(1))
    listener.hear([(0, True, b"{}")] * (streams.MOST_WAITING + 1))

    with pytest.raises(streams.Dropped):
        await listener.take(1)


class LateFollower:
    """The events of a session without a process, whose following thread begins only once a listener has read them."""

    def __init__(self):
        self.kept = [Numbered(1, "2026-11-28T08:00:00Z", SessionClosed("closed"))]
        self.was_read = threading.Event()

    def events(self, _session_id, _after, limit):
        self._wait_in_thread()
        return self.kept[-limit:]

    def connect(self, _session_id):
        self._wait_in_thread()
        raise HostUnreachable("it has no process")

    def events_after(self, _session_id, after, _limit):
        page = [event for event in self.kept if event.seq > after]
        if not self.was_read.is_set():
            self.kept.append(Numbered(2, "2026-11-28T08:00:01Z", SessionClosed("closed")))
            self.was_read.set()
        return page

    def _wait_in_thread(self):
        if threading.current_thread().name.startswith("follow"):
            assert self.was_read.wait(60)


async def test_an_event_between_the_reading_of_the_store_and_the_following_reaches_its_listener():
    live = LateFollower()
    engine = SimpleNamespace(live=live)
    listener = streams.Listener("a device")
    seen = b""
    async with asyncio.timeout(60):
        async for data in streams.follow(
            streams.Hub(engine), "s1", partial(live.events_after, "s1"), listener, 0, 60.0
        ):
            seen += data
            if b"id: 2" in seen:
                break

    assert [b"id: 1", b"id: 2"] == [line for line in seen.splitlines() if line.startswith(b"id: ")]
