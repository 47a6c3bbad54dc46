"""Web push: only who has asked is told, only that browser can read it, and our server calls nobody else."""

import base64
import http.server
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime

import http_ece
import httpx
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid

from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.web.push import EndpointRefused, Subscription, check_endpoint, is_public
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web.access.authority import make_certificate
from oulipoly_engine.web.base import push
from oulipoly_engine.web.notices import Notices

SECRET = "sk-ant-api03-" + "Ab1" * 30


def pair(engine, *scopes):
    """Return the token of a new device."""
    return engine.web.redeem(engine.web.make_code("a test", scopes).code, "", "here").token


def bearer(token):
    """Return the header that shows a token."""
    return {"authorization": f"Bearer {token}"}


def until(look, within_s=60.0):
    """Return what a look gives as soon as it is true."""
    deadline = time.monotonic() + within_s
    while not (seen := look()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return seen


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        self.server.asked()
        self.send_response(self.server.status)
        self.send_header("location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def service(monkeypatch):
    """A push service: `got` holds path, headers and body of every call, `status` is what it answers."""
    monkeypatch.setattr(push, "TAKES_LOOPBACK", True)
    monkeypatch.setattr(push, "_PAUSE_S", 0.01)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.got, server.status, server.asked = [], 201, lambda: None
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join(60)
    server.server_close()


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Phone:
    """A browser with its keys."""

    def __init__(self, service, name="a"):
        self._service, self._name = service, f"/{name}?id=1"
        self._key, self._auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        port = service.server_port
        self.told = {"endpoint": f"http://127.0.0.1:{port}{self._name}", "expirationTime": None}
        self.told |= {"keys": {"p256dh": text(point), "auth": text(self._auth)}}

    def subscription(self, device_id):
        return Subscription(device_id, self.told["endpoint"], **self.told["keys"])

    @property
    def got(self):
        return [(headers, body) for path, headers, body in self._service.got if path == self._name]

    def read(self):
        """Return what it was told."""
        told = [http_ece.decrypt(body, private_key=self._key, auth_secret=self._auth) for _, body in self.got]
        return [json.loads(one) for one in told]


def make_request(number=1):
    prompt = Prompt(title=f"rm -r {number}")
    return LiveRequest(f"cli_req_{number}", "s", "t", "n", "command_approval", "pending", prompt, datetime.now(UTC))


@pytest.fixture
def device(engine):
    """Pair a device that is told at a phone: `device(phone, "answer")`; returns its id."""

    def make(phone, *scopes):
        device_id = pair(engine, *scopes).partition(".")[0]
        engine.web.push.subscribe(phone.subscription(device_id))
        return device_id

    return make


def test_devices_that_ask_for_it_are_told_of_a_request_and_of_its_end(served, live, service):
    one, other, silent = Phone(service), Phone(service, "b"), Phone(service, "c")
    tokens = [pair(live.engine, *scopes) for scopes in (("answer",), ("view",), ("answer",))]
    with httpx.Client(base_url=served.url, timeout=60, trust_env=False) as client:
        for phone, token in zip((one, other, silent), tokens, strict=True):
            assert {"is_on": True} == client.put("/me/push", json=phone.told, headers=bearer(token)).json()
        assert {"is_on": False} == client.delete("/me/push", headers=bearer(tokens[2])).json()
        live.begin(f"hello [[approve:echo {SECRET}]]", runtime="demo-codex1")
        until(lambda: one.got and other.got)
        (told,), (looks,) = one.read(), other.read()
        place = f"/requests/{told['request_id']}"
        ways = {"headers": bearer(looks["token"]), "json": {"decision": "approve"}}
        assert (["deny", "approve"], ["deny"]) == (told["decisions"], looks["decisions"])
        assert 403 == client.post(place, **ways).status_code  # that device may not approve, so its notice cannot
        assert 403 == client.get("/sessions", headers=bearer(told["token"])).status_code
        assert 200 == client.post(place, **ways | {"headers": bearer(told["token"])}).status_code
        until(lambda: one.got[1:] and other.got[1:])
        assert 401 == client.get(place, headers=bearer(told["token"])).status_code

    (headers, body), (later, end) = one.got
    assert ("aes128gcm", "high") == (headers["Content-Encoding"], headers["Urgency"])
    assert headers["Topic"] == later["Topic"]
    assert Vapid.verify(headers["Authorization"])
    assert len(body) == len(end) < 4096
    assert SECRET not in json.dumps(told)
    assert "wants to run: echo" in told["message"]
    assert {"event": "request_settled", "request_id": told["request_id"]} == one.read()[1] == other.read()[1]
    assert [] == silent.got


KILLED = """
import sys, time, msgspec
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web import notices
from oulipoly_engine.web.base import push
push.TAKES_LOOPBACK = True
notices.Notices(Engine(), "http://localhost").tell_request(msgspec.json.decode(sys.argv[1], type=LiveRequest))
time.sleep(30)
"""


def test_what_a_killed_server_has_taken_upon_itself_is_not_sent_by_the_next(engine, device, service):
    phone = Phone(service)
    device(phone, "answer")
    requests = [make_request(number) for number in range(3)]
    engine.web.claim_notice(requests[0].request_id)  # killed before it was sent
    child = subprocess.Popen([sys.executable, "-c", KILLED, msgspec.json.encode(requests[1])])
    service.asked = child.kill  # before it hears the answer
    assert -signal.SIGKILL == child.wait(60)
    service.asked = lambda: None
    with closing(Engine()) as again:
        for request in (*requests, requests[2]):
            Notices(again, "http://localhost").tell_request(request)
        until(lambda: phone.got[1:])
        Notices(again, "http://localhost").withdraw(())
        until(lambda: phone.got[3:])

    told = [(one["event"][8:], one["request_id"][8:]) for one in phone.read()]
    assert [("opened", "1"), ("opened", "2"), ("settled", "1"), ("settled", "2")] == sorted(told)


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_is_gone_is_forgotten(engine, device, service, status):
    service.status = status
    device(Phone(service), "answer")
    push.WebPush(engine).tell_request(make_request(), "a line")

    until(lambda: not engine.web.push.subscriptions())


def test_a_browser_that_came_back_meanwhile_is_not_forgotten(engine, device, service):
    device_id = device(Phone(service), "answer")
    service.status = 410
    service.asked = lambda: engine.web.push.subscribe(Phone(service, "new").subscription(device_id))
    sender = push.WebPush(engine)
    sender.deliver(engine.web.push.subscriptions()[0], b"{}", "r", "")

    assert ["/new?id=1"] == [one.endpoint[-9:] for one in engine.web.push.subscriptions()]


@pytest.mark.parametrize(("status", "calls"), [(302, 1), (403, 1), (429, 3), (500, 3)])
def test_no_redirect_is_followed_and_only_what_may_pass_is_tried_again(engine, device, service, status, calls):
    phone = Phone(service)
    device(phone, "answer")
    service.status = status
    problem = push.WebPush(engine).deliver(engine.web.push.subscriptions()[0], b"{}", "r", "")

    assert (calls, True) == (len(phone.got), str(status) in problem)
    assert len(service.got) == calls
    assert engine.web.push.subscriptions()


def test_what_was_answered_meanwhile_is_not_sent_again(engine, device, service):
    phone, request = Phone(service), make_request()
    device(phone, "answer")
    one, token = engine.web.push.subscriptions()[0], engine.web.make_request_token(request.request_id)
    engine.web.claim_notice(request.request_id)
    service.status, service.asked = 503, lambda: engine.web.claim_withdrawals(())

    assert "" == push.WebPush(engine).deliver(one, b"{}", request.request_id, token.partition(".")[0])
    assert 1 == len(phone.got)


def test_a_revoked_device_is_told_nothing_and_its_notices_are_worth_nothing(engine, browse, device, service):
    phone, request = Phone(service), make_request()
    device_id = device(phone, "answer")
    token = engine.web.make_request_token(request.request_id, engine.web.push.subscriptions()[0])
    assert 404 == browse().get(f"/requests/{request.request_id}", headers=bearer(token)).status_code
    engine.web.revoke(device_id)
    push.WebPush(engine).tell_request(request, "a line")
    push.WebPush(engine).withdraw(request.request_id)

    assert 401 == browse().get(f"/requests/{request.request_id}", headers=bearer(token)).status_code
    assert () == engine.web.push.subscriptions()
    assert [] == service.got


def test_a_device_has_one_subscription_and_a_browser_one_device(engine, device, service):
    phone = Phone(service)
    first = device(phone, "view")
    engine.web.push.subscribe(Phone(service, "b").subscription(first))
    second = device(phone, "view")
    device(phone, "view")

    assert [first] == [one.device_id for one in engine.web.push.subscriptions() if one.device_id in (first, second)]


HOSTILE = (
    "http://push.example.com/x",
    "https://localhost/x",
    "https://127.0.0.1/x",
    "https://127.1/x",
    "https://2130706433/x",
    "https://0x7f.1/x",
    "https://[::1]/x",
    "https://router/x",
    "https://me@push.example.com/x",
    "https://push.example.com:99999/x",
    "https://push.example.com/x y",
    "https://push.example.com/x\r\nhost: router",
    "https://push.example.com/\u00e9",
    "file:///etc/passwd",
    "//push.example.com/x",
    "",
    "https://push.example.com/" + "x" * 2048,
)


@pytest.mark.parametrize("endpoint", HOSTILE)
def test_an_endpoint_that_is_not_a_push_service_is_refused(endpoint):
    with pytest.raises(EndpointRefused):
        check_endpoint(endpoint)


BAD = (
    {"endpoint": "https://127.0.0.1/x"},
    {"endpoint": "http://127.0.0.1:8787/x"},  # which tests alone take
    {"keys": {"auth": "AAAA"}},
    {"keys": {"p256dh": "BA" + "A" * 85}},  # not a point of the curve
    {"keys": {"p256dh": "!"}},
    {"keys": {"p256dh": "é" * 87}},
    {"more": 1},
)


def test_a_bad_subscription_is_refused_and_switches_nothing_on(browse, service, monkeypatch):
    monkeypatch.setattr(push, "TAKES_LOOPBACK", False)
    client, good = browse("view"), Phone(service).told | {"endpoint": "https://push.example.com/x"}
    keys = good["keys"]
    bodies = [good | one | {"keys": keys | one.get("keys", {})} for one in BAD]

    assert [400] * len(BAD) == [client.put("/me/push", json=one).status_code for one in bodies]
    assert not client.get("/me/push").json()["is_on"]
    assert 200 == client.put("/me/push", json=good).status_code
    assert client.get("/me/push").json()["is_on"]


PRIVATE = (
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "127.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "2001::1",
    "2001:db8::1",
    "a name",
)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_some_network_is_not_public(address):
    assert not is_public(address)


def test_a_name_of_the_local_network_is_not_called(engine, service, monkeypatch):
    asked = []

    def look_up(host, *_, **__):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in ("9.9.9.9", "192.168.1.1")]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    one = Subscription("d", "https://push.example.com/x", **Phone(service).told["keys"])

    with pytest.raises(EndpointRefused):
        push.send(engine, one, b"{}", "r", urgency="high")
    assert ["push.example.com"] == asked  # what was looked at is what would be called


def test_a_push_service_has_to_show_a_certificate_for_its_name(engine, service, monkeypatch, tmp_path):
    made = make_certificate(tmp_path / "tls", ["push.example.com"], engine.surroundings.clock)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made.chain)
    service.socket = server.wrap_socket(service.socket, server_side=True, do_handshake_on_connect=False)
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", service.server_port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(push, "is_public", lambda _: True)
    phone = Phone(service)

    def send(name):
        one = Subscription("d", f"https://{name}:{service.server_port}/a?id=1", **phone.told["keys"])
        return push.send(engine, one, b"{}", "r", urgency="high")

    with pytest.raises(ssl.SSLCertVerificationError):
        send("push.example.com")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(made.authority))
        assert 201 == send("push.example.com")
        with pytest.raises(ssl.SSLCertVerificationError):
            send("other.example.com")
    assert [f"push.example.com:{service.server_port}"] == [headers["Host"] for headers, _ in phone.got]


@pytest.mark.parametrize("address", ["9.9.9.9", "142.250.74.10", "2620:fe::fe"])
def test_addresses_of_everybody_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 2", b"SSH-2.0-x\r\n", b"HTTP/1.1 no\r\n", b"x" * 5000 + b"\r\n"])
def test_a_service_that_does_not_answer_is_given_up(engine, service, monkeypatch, said):
    monkeypatch.setattr(push, "PATIENCE_S", 0.1)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        phone = Phone(service)
        place = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        one = Subscription("d", place, **phone.told["keys"])

        def say():
            with suppress(OSError), listener.accept()[0] as client:  # it may be given up before it has said anything
                client.sendall(said)
                while client.recv(1000):
                    pass

        thread = threading.Thread(target=say)
        thread.start()
        with pytest.raises((OSError, ValueError)):
            push.send(engine, one, b"{}", "r", urgency="high")
        listener.shutdown(socket.SHUT_RDWR)  # or it waits for who has given up before they came
        thread.join()


def test_the_key_is_made_once_and_is_nobody_else_s(engine, browse, home):
    told = browse("view").get("/me/push").json()
    with closing(Engine()) as again:
        assert told == {"public_key": push.public_key(again), "is_on": False}
    (place,) = home.rglob("push.key")

    assert 0o600 == place.stat().st_mode & 0o777
    assert 65 == len(base64.urlsafe_b64decode(told["public_key"] + "="))


def test_links_and_programs_of_this_computer_cannot_be_told(engine, browse, service):
    link = engine.web.make_link().token

    answer = browse().put("/me/push", json=Phone(service).told, headers=bearer(link))
    assert (403, "not-allowed") == (answer.status_code, answer.json()["error"]["code"])
    assert 401 == browse().put("/me/push", json=Phone(service).told).status_code


def test_the_worker_is_a_file_of_its_own_that_keeps_nothing(browse):
    worker = browse().get("/push-worker.js")

    assert (200, "no-store") == (worker.status_code, worker.headers["cache-control"])
    assert worker.headers["content-type"].startswith("text/javascript")
    assert "worker-src 'self'" in worker.headers["content-security-policy"]
    assert not [word for word in ("caches", '"fetch"', "importScripts") if word in worker.text]
    assert len(worker.content) < 4096
