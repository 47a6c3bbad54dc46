"""Behind a proxy the client is who the last proxy that is believed has heard; nobody else's word counts."""

from ipaddress import ip_network

import pytest
from starlette.testclient import TestClient

from oulipoly_engine.web.access.forwarded import find_client
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app

PROXIES = (ip_network("10.0.0.0/8"),)


@pytest.mark.parametrize(
    ("peer", "hops", "client"),
    [
        ("127.0.0.1", ["203.0.113.5"], "203.0.113.5"),
        ("127.0.0.1", ["198.51.100.1, 203.0.113.5"], "203.0.113.5"),
        ("127.0.0.1", ["198.51.100.1", "203.0.113.5"], "203.0.113.5"),
        ("127.0.0.1", ["198.51.100.1, 203.0.113.5, 10.1.1.1"], "203.0.113.5"),
        ("10.1.1.1", ["203.0.113.5:4711"], "203.0.113.5"),
        ("::ffff:127.0.0.1", ["[2001:db8::5]:80"], "2001:db8::5"),
        ("127.0.0.1", ["10.2.2.2, 10.1.1.1"], "10.2.2.2"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1, unknown"], "unknown"),
        ("192.0.2.9", ["203.0.113.5"], "192.0.2.9"),
    ],
)
def test_the_client_is_the_last_hop_that_is_no_proxy_of_ours(peer, hops, client):
    assert client == find_client(peer, hops, PROXIES)


@pytest.mark.parametrize(
    ("peer", "is_believed"),
    [("127.0.0.1", True), ("10.1.1.1", True), ("192.0.2.9", False)],
    ids=["this computer", "a named proxy", "somebody"],
)
def test_only_a_known_proxy_is_believed(engine, peer, is_believed):
    app = make_app(engine, Serving(behind_proxy=True, proxies=PROXIES))
    told = {"x-forwarded-for": "203.0.113.5", "x-forwarded-proto": "http"}
    client = TestClient(app, "http://localhost", headers=told, client=(peer, 50000))
    wrong = [client.post("/pair", json={"code": "wrong"}) for _ in range(30)][-1]
    paired = TestClient(app, "http://localhost", headers=told, client=("10.9.9.9", 50000)).post(
        "/pair", json={"code": engine.web.make_code().code}, headers={"x-forwarded-for": "203.0.113.6"}
    )
    other = client.post("/pair", json={"code": "wrong"}, headers={"x-forwarded-for": "203.0.113.7"})
    named = client.get("/health", headers={"host": "evil.example", "x-forwarded-host": "localhost"})

    assert (429, 200) == (wrong.status_code, paired.status_code)
    assert (403 if is_believed else 429) == other.status_code
    assert (200 if is_believed else 421) == named.status_code
    assert "Secure" not in paired.headers["set-cookie"]


def test_one_computer_s_many_addresses_do_not_dodge_the_lock_out(engine):
    app = make_app(engine, Serving())
    statuses = [
        TestClient(app, "http://localhost", client=(f"2001:db8::{number}", 50000))
        .post("/pair", json={"code": "wrong"})
        .status_code
        for number in range(1, 8)
    ]
    neighbour = TestClient(app, "http://localhost", client=("2001:db8:0:1::1", 50000))

    assert (403, 429) == (statuses[0], statuses[-1])
    assert 403 == neighbour.post("/pair", json={"code": "wrong"}).status_code
