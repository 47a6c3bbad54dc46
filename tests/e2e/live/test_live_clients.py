"""Clients of a live session's host that misbehave: the session and its other clients notice nothing."""

import json
import socket
import struct

import pytest

from oulipoly_engine.core.live.events import ItemEnded, TurnEnded, TurnStarted
from oulipoly_engine.host.frames import Hello, encode
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.protocol import VERSION, Follow, OrderFrame

RUBBISH = {
    "no frame": b"GET / HTTP/1.1\r\n\r\n",
    "no message": struct.pack(">I", 4) + b"\xff\xff\xff\xff",
    "a frame of 4 GB": struct.pack(">I", 0xFFFFFFFF),
    "nothing": b"",
    "half a frame": encode(Hello(VERSION, "x"))[:-2],
    "an order first": encode(OrderFrame(1, "close")),
    "another version": encode(Hello(VERSION + 1, "x")) + encode(OrderFrame(1, "close")),
}


def connect(live, session):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60.0)
    connection.connect(str(hosts.HostFiles(live.engine.paths.live_runtime, hosts.host_id(session)).socket))
    return connection


def test_rubbish_ends_the_connection_alone(live):
    session = live.begin("hello [[stall:600]]")
    live.until(session, lambda event: isinstance(event, TurnStarted))
    status = live.live.status(session)
    for name, data in RUBBISH.items():
        with connect(live, session) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
        assert status.turn_id == live.live.status(session).turn_id, name


def test_another_version_is_refused_with_a_sentence(live):
    session = live.begin()
    with connect(live, session) as connection:
        connection.sendall(RUBBISH["another version"])
        said = connection.recv(1 << 16)

    assert b"another release" in said
    assert live.host_of(session) is not None


def test_a_client_that_never_reads_holds_nobody_up(live):
    session = live.begin(runtime=live.scripted())
    script = json.dumps([["say", "x" * 10_000]] * 100)
    with connect(live, session) as deaf, live.attached(session, 0) as client:
        deaf.sendall(encode(Hello(VERSION, "deaf")) + encode(Follow()))
        turn = live.live.send(session, script).turn_id
        seen = []
        while not any(isinstance(one.event, TurnEnded) for one in seen):
            seen += client.wait(10.0)

    assert 101 == sum(isinstance(one.event, ItemEnded) for one in seen)
    assert "completed" == live.live.wait(session, turn).status


@pytest.mark.parametrize("number", [3, 20])
def test_clients_may_come_and_go_in_any_turn(live, number):
    session = live.begin(runtime=live.scripted())
    turn = live.live.send(session, json.dumps([["say", str(one)] for one in range(50)])).turn_id
    for _ in range(number):
        with connect(live, session) as connection:
            connection.sendall(encode(Hello(VERSION, "short")) + encode(Follow()))

    assert ("completed", "49") == (live.live.wait(session, turn).status, live.live.wait(session, turn).reply)
