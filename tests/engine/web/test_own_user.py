"""A process of the same user needs no token on this computer; nobody else is let in by that."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading

import pytest
from starlette.testclient import TestClient

from oulipoly_engine.web.access import gate
from oulipoly_engine.web.access.gate import Gate, Serving
from oulipoly_engine.web.access.own_user import find_owner, is_own_user
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.serve import start

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose a connection is")


@linux
@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_connection_of_our_own_is_told_from_any_other(family, address):
    with socket.socket(family) as listener, socket.socket(family) as client:
        listener.bind((address, 0))
        listener.listen()
        client.connect(listener.getsockname())
        served, _ = listener.accept()
        with served:
            ours, theirs = served.getsockname()[:2], served.getpeername()[:2]
            assert is_own_user(theirs, ours)
            assert not is_own_user((theirs[0], theirs[1] ^ 1), ours)
            assert not is_own_user(("192.0.2.1", theirs[1]), ours)
            assert not is_own_user(theirs, ("not an address", 80))


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_a_connection_of_another_user_is_not_ours():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        words = ["/bin/bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]}; read -r _"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, user=65534, group=65534, extra_groups=[]) as other:
            served, _ = listener.accept()
            with served:
                assert not is_own_user(served.getpeername(), served.getsockname())
            other.stdin.close()


ROW = "  1: 0100007F:{local:04X} 0100007F:{remote:04X} {state} 0:0 00:0 0 {user} 0 {inode} 1\n"
HEADING = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


@pytest.mark.parametrize(
    ("state", "user", "inode", "owner"),
    [("01", 1000, 77, 1000), ("01", 0, 77, 0), ("01", 0, 0, None), ("05", 0, 0, None), ("06", 0, 0, None)],
    ids=["held", "held by root", "closed in its queue", "FIN_WAIT2", "TIME_WAIT"],
)
def test_a_connection_that_nobody_holds_has_no_owner_although_the_system_says_root(state, user, inode, owner):
    ours = ROW.format(local=8787, remote=40000, state="01", user=0, inode=1)
    theirs = ROW.format(local=40000, remote=8787, state=state, user=user, inode=inode)

    assert owner == find_owner([HEADING, ours, theirs], ("127.0.0.1", 40000), ("127.0.0.1", 8787))


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="root's alone are the connections that nobody holds")
async def test_who_closes_after_the_check_of_the_header_is_not_taken_for_root(engine):
    served = []

    async def app(*_):
        served.append("a request")

    with socket.socket() as listener, socket.socket() as client:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client.connect(listener.getsockname())
        connection, _ = listener.accept()
        ends = {"client": client.getsockname(), "server": connection.getsockname()}
        answers = []

        async def receive():
            client.close()
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message):
            answers.append(message)

        scope = {"type": "http", "method": "POST", "path": "/sessions", "query_string": b"", **ends}
        scope |= {"headers": [(b"host", b"localhost"), (b"content-length", b"2")]}
        with connection:
            await Gate(app, engine, Serving(trusts_own_user=True))(scope, receive, send)

    assert (401, []) == (answers[0]["status"], served)


@pytest.fixture
def port(live):
    """Serve a demo world as `agents serve` does; return the port."""
    with start(live.open_engine(), address="127.0.0.1", port=0) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        yield server.port
        server.stop()
        thread.join()


def ask(port, path, **headers):
    """Return an answer's status."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def read(port, path):
    """Return an answer's JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    told = json.load(connection.getresponse())
    connection.close()
    return told


@linux
def test_a_script_of_ours_needs_no_token_and_a_wrong_or_passed_on_one_does(port):
    assert 200 == ask(port, "/sessions")
    assert "sessions" in read(port, "/health")
    assert 401 == ask(port, "/sessions", Authorization="Bearer nobody.nothing")
    assert 401 == ask(port, "/sessions", **{"X-Forwarded-For": "192.0.2.7"})
    assert 421 == ask(port, "/sessions", Host="evil.example")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "same-origin", "sec-fetch-dest": "empty"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "image"}, 401),
        ({"sec-fetch-site": "same-site", "sec-fetch-dest": "empty"}, 401),
    ],
    ids=["a program", "typed", "our own page", "a link that was followed", "a picture of a page", "another port"],
)
def test_what_another_site_s_page_asks_for_is_not_the_own_user_s(engine, monkeypatch, headers, status):
    """A browser is a process of the user's too, and sends what any page tells it."""
    monkeypatch.setattr(gate, "is_own_user", lambda *_: True)
    app = make_app(engine, Serving(trusts_own_user=True))

    assert status == TestClient(app, "http://localhost").get("/me", headers=headers).status_code
