"""What a proxy tells of the request that it passes on, and whose word counts. Pure.

Only a proxy on this computer, or one that was named, is believed: anybody can write such headers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TypeAlias

_NETWORK_OF_A_CLIENT = 64  # bits: one computer has as many addresses of IPv6 as it likes below them

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


def read_address(text: str) -> Address | None:
    """Return an address, with or without a port; None: it is none. One of IPv4 in the form of IPv6 is the former."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_proxy(text: str, proxies: Iterable[Network]) -> bool:
    """Return whether an address is of this computer or of a named proxy."""
    address = read_address(text)
    return address is not None and (address.is_loopback or any(address in network for network in proxies))


def find_client(peer: str, hops: Iterable[str], proxies: Iterable[Network]) -> str:
    """Return the address that a request comes from: the last hop that is not a proxy that is believed.

    peer: who is connected. hops: the values of X-Forwarded-For in their order; each proxy adds whom it has heard.
    """
    known = tuple(proxies)
    chain = [peer, *reversed([hop.strip() for value in hops for hop in value.split(",") if hop.strip()])]
    client = next((hop for hop in chain if not is_proxy(hop, known)), chain[-1])
    return str(read_address(client) or client)[:64]


def find_network(text: str) -> str:
    """Return what stands for a client where it is counted: its address, of IPv6 its network."""
    address = read_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _NETWORK_OF_A_CLIENT), strict=False))
    return text if address is None else str(address)
