"""The user's own programs need no token by a socket of theirs; nobody is let in by an address of this computer."""

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.variables import PARENT_INVOCATION
from oulipoly_engine.web import own_socket
from oulipoly_engine.web.connections import Connections, Limits
from oulipoly_engine.web.own_socket import OwnSocket
from oulipoly_engine.web.serve import start


@contextmanager
def served(live, **how):
    """Serve a demo world as `agents serve` does."""
    with start(live.open_engine(), **({"address": "127.0.0.1", "port": 0} | how)) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


@pytest.fixture
def server(live):
    """A server over a demo world."""
    with served(live) as server:
        yield server


def connect(path):
    """Return a connection to a Unix socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(path))
    return connection


def by_socket(path, method, address, body=None, **headers):
    """Return an answer's status and JSON, asked by the own user's socket."""
    with closing(http.client.HTTPConnection("localhost")) as connection:
        connection.sock = connect(path)
        return exchange(connection, method, address, body, headers)


def by_address(port, method, address, body=None, **headers):
    """Return the same, asked by the address of this computer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        return exchange(connection, method, address, body, headers)


def exchange(connection, method, address, body, headers):
    """Return an answer's status and JSON."""
    typed = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, address, None if body is None else json.dumps(body), headers | typed)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_a_program_of_ours_needs_no_token_by_the_socket_and_a_wrong_or_passed_on_one_does(server):
    path = server.own_path
    status, me = by_socket(path, "GET", "/me")

    assert (200, "own-user") == (status, me["device_id"])
    assert "sessions" in by_socket(path, "GET", "/health")[1]
    assert 401 == by_socket(path, "GET", "/sessions", Authorization="Bearer nobody.nothing")[0]
    assert 401 == by_socket(path, "GET", "/sessions", **{"X-Forwarded-For": "192.0.2.7"})[0]
    assert 421 == by_socket(path, "GET", "/sessions", Host="evil.example")[0]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "/sessions", None), ("GET", "/me", None), ("POST", "/sessions", {"repo_path": "/"})],
)
def test_nobody_is_the_own_user_by_the_address_of_this_computer(server, method, path, body):
    """What `ssh -R` or a proxy of the same user passes on looks just like a program of theirs."""
    assert 401 == by_address(server.port, method, path, body)[0]


def test_the_health_that_everybody_may_ask_for_tells_nothing_about_sessions(server):
    assert "sessions" not in by_address(server.port, "GET", "/health")[1]


def test_only_the_user_reaches_the_socket(server):
    path = server.own_path

    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert 0o700 == stat.S_IMODE(path.parent.stat().st_mode)


def test_another_user_s_connection_is_refused_and_its_place_comes_free(tmp_path, monkeypatch):
    with closing(OwnSocket(tmp_path / "run", 8787)) as listener:
        listener.setblocking(True)
        listener.connections = Connections(Limits(1, 1), proxies=None, only_proxies=False)
        with monkeypatch.context() as patched, connect(listener.path) as theirs:
            patched.setattr(own_socket, "is_same_user", lambda _: False)
            with pytest.raises(ConnectionAbortedError):
                listener.accept()
            assert b"" == theirs.recv(1)
        with connect(listener.path), listener.accept()[0]:
            pass


def test_it_is_reached_while_others_hold_every_place(live, monkeypatch):
    monkeypatch.setattr("oulipoly_engine.web.serve.find_limits", lambda: Limits(1, 1))
    with served(live) as server, socket.create_connection(("127.0.0.1", server.port)):
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            by_address(server.port, "GET", "/health")
        assert 200 == by_socket(server.own_path, "GET", "/sessions")[0]


def test_it_speaks_no_tls_where_the_network_has_to(live):
    with served(live, address="0.0.0.0") as server:
        assert server.url.startswith("https://")
        assert 200 == by_socket(server.own_path, "GET", "/sessions")[0]


def test_two_servers_at_one_port_of_two_addresses_have_a_socket_each(tmp_path):
    with closing(OwnSocket(tmp_path / "run", 8787)) as first, closing(OwnSocket(tmp_path / "run", 8787)) as second:
        assert "008787.sock" == first.path.name
        assert first.path != second.path
        connect(first.path).close()
        connect(second.path).close()

    assert [] == [*(tmp_path / "run").glob("*")]


def test_after_a_kill_the_next_server_has_the_same_socket(home, commands):
    def begin(port):
        process = commands.start(["serve", "--port", port, "--json"])
        return process, json.loads(process.stdout.readline())

    process, told = begin(0)
    process.kill()
    process.communicate()
    port = int(told["url"].rpartition(":")[2])
    process, again = begin(port)
    status, _ = by_socket(again["socket"], "GET", "/sessions")
    process.send_signal(signal.SIGTERM)
    process.communicate()

    assert (told["socket"], 200) == (again["socket"], status)
    assert not os.path.exists(again["socket"])  # noqa: PTH110 - a text


ASK = """
import http.client, socket, sys
path, *places = sys.argv[1:]
for place in places:
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(path)
    connection.request("POST" if place.endswith(("stop", "interrupt")) else "GET", place)
    print(connection.getresponse().status)
"""


def test_run_of_ours_is_no_person_at_the_socket_either(server, live):
    now = datetime(2026, 11, 28, tzinfo=UTC)
    with closing(open_store(live.engine.paths.state_db)) as store:
        agents.insert(store, Agent("a1", "calm", "x", "none", "ready", now, now))
        live_sessions.insert(store, LiveSession("aaaa0001", "/", "mine", "claude", "m", now, now))
        agents.add_session(store, "a1", "aaaa0001", now)
    places = ("/running-agents/nobody/stop", "/running-agents", "/sessions/aaaa0001/interrupt")
    words = (sys.executable, "-I", "-S", "-c", ASK, str(server.own_path), *places)
    said = [
        subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout.split()
        for env in ({}, {PARENT_INVOCATION: "{}"})
    ]

    assert [["404", "200", "409"], ["403", "200", "400"]] == said
