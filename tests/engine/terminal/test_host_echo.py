"""When a client's next picture is due: what a key does is shown at once, all else at the pace of a screen."""

import socket

import pytest

from oulipoly_engine.terminal.host.client_connection import ClientConnection
from oulipoly_engine.terminal.host.clients import Clients
from oulipoly_engine.terminal.protocol.screen import CellStyle, Cursor, Frame, Run


class Printing:
    """A screen that has printed something since it was looked at last."""

    count = 0

    def frame(self, *, full):
        self.count += 1
        row = (Run(f"line {self.count}", CellStyle(), 6),)
        return Frame(80, 1, ((0, row),), Cursor(0, 0, True), full, 0, 0, False, False)

    def hold_left(self):
        return 0.0


class Holding(Printing):
    """A screen whose program holds the picture, and lets it go after the first look at that."""

    looks = 0

    def frame(self, *, full):
        return None if self.hold_left() else super().frame(full=full)

    def hold_left(self):
        self.looks += 1
        return 0.01 if self.looks == 1 else 0.0


@pytest.fixture
def client():
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    client = ClientConnection(ours)
    client.attached, client.greeted, client.focus = True, True, "focused"
    client.columns, client.rows = 80, 1
    yield client
    ours.close()
    theirs.close()


def paint(client, now, *, flooding=False):
    """Send what is due, and return whether that was a picture; the client has drawn the one before."""
    clients = Clients("last")
    clients.connections.append(client)
    client.awaiting = None
    clients.send_pictures(Printing(), now, changed=True, flooding=flooding)
    return client.awaiting is not None


def test_output_waits_for_the_next_picture_and_the_echo_of_a_key_does_not(client):
    assert paint(client, 10.0)
    assert not paint(client, 10.005)

    client.typed_at = 10.006
    assert paint(client, 10.008)

    assert not paint(client, 10.01)


def test_a_key_beside_a_flood_gets_no_picture_of_its_own(client):
    assert paint(client, 10.0)

    client.typed_at = 10.006
    assert not paint(client, 10.008, flooding=True)


def test_a_picture_that_is_let_go_between_two_looks_is_sent(client):
    clients = Clients("last")
    clients.connections.append(client)
    clients.send_pictures(Holding(), 10.0, changed=True, flooding=False)
    assert client.awaiting is not None
