"""Connections are bounded in all and for each client."""

import resource
import socket
from ipaddress import ip_network

import pytest

from oulipoly_engine.web.connections import BoundedListener, Connections, Limits, limits_for

LIMITS = Limits(4, 2)


def admit(connections, *addresses):
    """Return whether each of some clients is let in."""
    return [connections.admit(address) is not None for address in addresses]


@pytest.mark.parametrize(
    ("descriptors", "most", "each"), [(16, 8, 8), (128, 32, 8), (1024, 256, 64), (resource.RLIM_INFINITY, 256, 64)]
)
def test_connections_leave_descriptors_for_the_rest(descriptors, most, each):
    limits = limits_for(descriptors)

    assert (most, each) == (limits.most, limits.each)


def test_so_many_a_client_and_so_many_in_all():
    connections = Connections(LIMITS, proxies=None, only_proxies=False)

    assert [True, True, False] == admit(connections, *["192.0.2.5"] * 3)
    assert [True, True, False] == admit(connections, "192.0.2.6", "192.0.2.7", "192.0.2.8")
    connections.release("192.0.2.5")
    assert [True, False] == admit(connections, "192.0.2.8", "192.0.2.9")


def test_the_addresses_of_one_computer_are_one_client():
    connections = Connections(LIMITS, proxies=None, only_proxies=False)

    assert [True, True, False] == admit(connections, "2001:db8::1", "2001:db8::2", "2001:db8::3")
    assert [True] == admit(connections, "2001:db8:0:1::1")


def test_a_proxy_passes_on_the_requests_of_many():
    named = (ip_network("192.0.2.7/32"),)

    assert [True] * 3 == admit(Connections(LIMITS, proxies=named, only_proxies=False), *["192.0.2.7"] * 3)
    assert [True, False, True] == admit(
        Connections(LIMITS, proxies=named, only_proxies=True), "192.0.2.7", "192.0.2.8", "127.0.0.1"
    )


def test_places_come_free_again():
    with BoundedListener() as listener, socket.socket() as first, socket.socket() as second:
        listener.connections = Connections(Limits(1, 1), proxies=None, only_proxies=False)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        first.connect(listener.getsockname())
        second.connect(listener.getsockname())
        served = listener.accept()[0]
        with pytest.raises(ConnectionAbortedError):
            listener.accept()
        served.close()
        with socket.create_connection(listener.getsockname()):
            listener.accept()[0].close()

        assert b"" == second.recv(1)
