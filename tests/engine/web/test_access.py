"""Who gets in, and who does not: the list of attacks."""

import asyncio
import hashlib
import json
import threading
import time
from datetime import timedelta
from itertools import product

import pytest

from oulipoly_engine.web.access import gate


def pair(engine, *scopes):
    """Return the token of a new device."""
    return engine.web.redeem(engine.web.make_code("a test", scopes).code, "", "here").token


def bearer(token):
    """Return the header that shows a token."""
    return {"authorization": f"Bearer {token}"}


OPEN = ("/health", "/openapi.json", "/sessions", "/requests", "/devices", "/browse", "/config", "/events", "/me")


def test_nobody_gets_anything_without_a_device(browse):
    client = browse()
    answers = {path: client.get(path) for path in OPEN[1:]}

    assert dict.fromkeys(OPEN[1:], (401, "not-paired")) == {
        path: (answer.status_code, answer.json()["error"]["code"]) for path, answer in answers.items()
    }


def test_health_says_nothing_to_strangers(browse):
    assert {"ok": True} == browse().get("/health").json()
    assert "sessions" in browse("view").get("/health").json()


def test_our_own_names_are_taken_and_others_are_refused(browse):
    client = browse("view")
    for host in ("localhost", "LOCALHOST:8787", "127.0.0.1:9000", "[::1]:8787", "localhost."):
        assert 200 == client.get("/me", headers={"host": host}).status_code, host
    evil = ("evil.example", "evil.example:8787", "127.0.0.1.evil.example", "localhost@evil.example", "", "[::2]:8787")
    for host in evil:
        answer = client.get("/me", headers={"host": host})
        assert (421, "host-unknown") == (answer.status_code, answer.json()["error"]["code"]), host


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},  # another program of this computer
        {"origin": "http://localhost:8787.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_site_s_page_changes_nothing(browse, engine, headers):
    code = engine.web.make_code().code
    answer = browse().post("/pair", json={"code": code}, headers=headers)

    assert (403, "origin-refused") == (answer.status_code, answer.json()["error"]["code"])
    assert 200 == browse().post("/pair", json={"code": code}, headers={"origin": "http://localhost:8787"}).status_code


def test_a_code_is_good_once_and_for_two_minutes(browse, engine, monkeypatch):
    client = browse()
    code = engine.web.make_code("phone", ("view", "answer")).code
    first = client.post("/pair", json={"code": code, "name": "my phone"})

    assert (200, ["view", "answer"], "my phone") == (first.status_code, first.json()["scopes"], first.json()["name"])
    assert 403 == client.post("/pair", json={"code": code}).status_code
    late = engine.web.make_code(life=timedelta(seconds=-1)).code
    assert 403 == client.post("/pair", json={"code": late}).status_code


def test_two_devices_of_one_name_are_told_apart(engine):
    first, second = (engine.web.redeem(engine.web.make_code().code, "phone", "here").device for _ in range(2))
    assert ("phone", "phone 2") == (first.name, second.name)
    engine.web.revoke(first.device_id)

    assert "phone" == engine.web.redeem(engine.web.make_code().code, "phone", "here").device.name


def test_two_who_show_a_code_at_once_make_one_device(browse, engine):
    code, codes = engine.web.make_code().code, []
    clients = [browse() for _ in range(4)]
    threads = [
        threading.Thread(target=lambda one=one: codes.append(one.post("/pair", json={"code": code}).status_code))
        for one in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [200, 403, 403, 403] == sorted(codes)


def test_the_cookie_is_strict_and_is_enough(browse, engine):
    client = browse()
    answer = client.post("/pair", json={"code": engine.web.make_code().code})
    cookie = answer.headers["set-cookie"]

    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert "a device" == client.get("/me").json()["name"]


@pytest.mark.parametrize("shown", ["nonsense", "a.b", ".", "0" * 12 + "." + "x" * 43, "\x00.\x00", "é.é"])
def test_a_forged_token_is_refused(browse, shown):
    sent = browse().get("/me", headers={b"authorization": b"Bearer " + shown.encode("latin-1")})

    assert 401 == sent.status_code


def test_the_secret_of_another_device_is_refused(browse, engine):
    one, other = pair(engine, "view"), pair(engine, "view", "operate")
    mixed = f"{other.partition('.')[0]}.{one.partition('.')[2]}"

    assert 401 == browse().get("/me", headers=bearer(mixed)).status_code


def test_after_five_wrong_tries_an_address_has_to_wait(browse, engine):
    client, good = browse(), pair(engine, "view")
    code = engine.web.make_code().code
    codes = [client.post("/pair", json={"code": f"wrong{number}"}).status_code for number in range(5)]

    assert [403] * 5 == codes
    assert 429 == client.post("/pair", json={"code": code}).status_code
    assert 429 == client.get("/me", headers=bearer("a.b")).status_code
    assert 200 == client.get("/me", headers=bearer(good)).status_code  # whose token is right tries nothing


def test_an_old_cookie_costs_nobody_a_try(browse, engine):
    client, device = browse(), pair(engine, "view")
    engine.web.revoke(device.partition(".")[0])

    assert [401] * 7 == [client.get("/me", headers=bearer(device)).status_code for _ in range(7)]
    assert 200 == client.post("/pair", json={"code": engine.web.make_code().code}).status_code


def test_only_hashes_are_kept(engine, home):
    token, code = pair(engine, "view"), engine.web.make_code().code
    engine.close()
    kept = b"".join(path.read_bytes() for path in engine.paths.data.glob("state.db*"))

    assert token.partition(".")[2].encode() not in kept
    assert code.encode() not in kept


@pytest.mark.parametrize("scopes", [("view",), ("view", "answer")], ids=" ".join)
def test_who_may_look_or_answer_changes_nothing_else(browse, scopes):
    client = browse(*scopes)
    for method, path, body in (
        ("POST", "/sessions", {"repo_path": "/"}),
        ("POST", "/sessions/abcd/messages", {"content": "x"}),
        ("POST", "/sessions/abcd/cancel", None),
        ("POST", "/sessions/abcd/steer", {"content": "x"}),
        ("POST", "/sessions/abcd/interrupt", None),
        ("POST", "/sessions/abcd/git", {"op": "stage", "paths": ["a"]}),
        ("PUT", "/sessions/abcd/file", {"path": "a", "content": ""}),
        ("PATCH", "/sessions/abcd", {"block_while_running": True}),
        ("POST", "/sessions/abcd/promote", {}),
        ("POST", "/setup", {"repo_path": "/", "digest": "x"}),
        ("GET", "/devices", None),
        ("DELETE", "/devices/abcdef", None),
    ):
        answer = client.request(method, path, json=body)
        assert (403, "not-allowed") == (answer.status_code, answer.json()["error"]["code"]), (method, path)


def test_what_plants_code_needs_a_fresh_confirmation(browse, engine, home):
    client = browse("view", "operate")
    device = client.get("/me").json()["device_id"]
    assert client.get("/me").json()["confirmed"]
    engine.web._home.clock = Later(engine.web._home.clock, minutes=16)
    engine.surroundings = engine.surroundings.__class__(paths=engine.paths, clock=engine.web._home.clock)
    wish = {"repo_path": str(home), "digest": "x"}

    assert "confirmation-needed" == client.post("/setup", json=wish).json()["error"]["code"]
    engine.web.confirm(device)
    assert "confirmation-needed" != client.post("/setup", json=wish).json()["error"]["code"]


class Later:
    """A clock that is ahead."""

    def __init__(self, clock, minutes):
        self._clock, self._ahead = clock, timedelta(minutes=minutes)

    def now(self):
        return self._clock.now() + self._ahead

    def monotonic(self):
        return self._clock.monotonic()


def test_a_link_may_look_and_can_be_used_by_several(browse, engine):
    link = engine.web.make_link("for Ann")
    for _ in range(2):
        client = browse()
        assert 200 == client.post("/pair", json={"code": link.token}).status_code
        assert ["view"] == client.get("/me").json()["scopes"]
    engine.web.revoke("for Ann")

    assert 401 == client.get("/me").status_code


def test_a_token_for_one_request_does_nothing_else(browse, engine):
    client = browse(**bearer(engine.web.make_request_token("cli_req_1")))

    assert 404 == client.get("/requests/cli_req_1").status_code  # there is none, but it may ask
    assert {403} == {client.get(path).status_code for path in ("/requests", "/requests/cli_req_2", "/me", "/sessions")}
    assert 403 == client.post("/requests/cli_req_2", json={"decision": "approve"}).status_code


SEGMENTS = ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "a%0d%0aset-cookie:x=1", "x" * 5000, "*", "'", "%ff"]


PATHS = ["/sessions/{}", "/sessions/{}/log", "/requests/{}", "/sessions/abcd/queue/{}", "/why/{}", "/static/{}/x"]


def test_no_path_leads_out(browse):
    client = browse("view")
    for path, segment in product(PATHS, SEGMENTS):
        answer = client.get(path.format(segment))
        assert answer.status_code in (303, 400, 404, 405), (path, segment)
        assert "set-cookie" not in answer.headers, (path, segment)
        assert "root:" not in answer.text, (path, segment)


def test_browsing_stays_below_its_roots(browse, home):
    (home / "out").symlink_to("/etc")
    client = browse("view")

    for path in ("/etc", "/", "../..", "~/../..", "/proc/self/root/etc", "\x00", "relative", str(home / "out")):
        assert 400 == client.get("/browse", params={"path": path}).status_code, path
    assert 200 == client.get("/browse", params={"path": str(home)}).status_code


def test_a_folder_whose_name_is_not_utf8_is_not_offered(browse, home):
    for name in ("caf\udce9", "café"):
        (home / name).mkdir()
    listed = browse("view").get("/browse", params={"path": str(home)}).json()
    page = browse("view", "operate", accept="text/html").get("/browse", params={"path": str(home)})

    assert ["café"] == [folder["name"] for folder in listed["folders"]]
    assert (200, True) == (page.status_code, "café" in page.text)


def test_headers_have_a_limit(browse):
    """Also those that come in one piece."""
    assert 200 == browse().get("/health", headers={"x-long": "x" * 30_000}).status_code
    refused = browse().get("/health", headers={"x-long": "x" * 33_000})

    assert (431, "headers-too-large") == (refused.status_code, refused.json()["error"]["code"])


def test_a_body_has_a_limit(browse):
    client = browse("view", "operate")
    big = json.dumps({"content": "x" * (9 << 20)})

    assert 413 == client.post("/sessions/abcd/messages", content=big).status_code
    parts = (b"x" * (1 << 20) for _ in range(9))  # without a length
    assert 413 == client.post("/sessions/abcd/messages", content=parts).status_code
    assert 400 == client.post("/sessions/abcd/messages", content=b"[" * 100_000).status_code


def test_a_body_that_is_none_is_told_so(browse):
    client = browse("view", "operate", **{"content-type": "application/json"})
    for text in (b"{", b"\xff", b'"x"', b"null", b'{"content": 1}', b'{"content":"x","more":1}'):
        answer = client.post("/sessions/abcd/messages", content=text)
        assert (400, "invalid-argument") == (answer.status_code, answer.json()["error"]["code"]), text
        assert not answer.json()["error"]["message"].startswith("0: ")  # the number of a character as a field


def test_every_answer_forbids_scripts_of_others(browse):
    for answer in (browse().get("/health"), browse().get("/nothing"), browse("view").get("/me")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "nosniff" == answer.headers["x-content-type-options"]
        assert "DENY" == answer.headers["x-frame-options"]


def test_an_order_with_a_key_is_carried_out_once(browse, engine):
    client = browse("view", "answer", "operate")
    headers = {"idempotency-key": "k1"}
    code, other = engine.web.make_code().code, engine.web.make_code().code
    first = client.post("/confirm", json={"code": code}, headers=headers)
    again = client.post("/confirm", json={"code": code}, headers=headers)

    assert (200, 200, "true") == (first.status_code, again.status_code, again.headers["idempotent-replayed"])
    assert first.content == again.content
    assert 422 == client.post("/confirm", json={"code": other}, headers=headers).status_code
    stranger = browse("view", "answer", "operate")  # the key is the device's own
    assert 403 == stranger.post("/confirm", json={"code": code}, headers=headers).status_code


def test_what_was_refused_may_be_sent_again_with_its_key(browse, engine):
    client, headers = browse("view", "answer"), {"idempotency-key": "k2"}

    assert [403, 403] == [client.post("/confirm", json={"code": "no"}, headers=headers).status_code for _ in "ab"]


def test_an_order_that_a_kill_has_cut_is_not_done_again(browse, engine):
    client, headers = browse("view", "answer"), {"idempotency-key": "k3"}
    body = b'{"code":"x"}'
    digest = hashlib.sha256(b"POST /confirm?\0" + body).hexdigest()
    engine.web.begin_reply(client.get("/me").json()["device_id"], "k3", digest)

    answer = client.post("/confirm", content=body, headers=headers)
    assert (409, "order-under-way") == (answer.status_code, answer.json()["error"]["code"])


def test_a_body_that_does_not_come_is_given_up(app, monkeypatch):
    monkeypatch.setattr(gate, "BODY_PATIENCE_S", 0.05)
    token = pair(app.state.engine, "view", "operate")
    said = []

    async def receive():
        await asyncio.sleep(30)

    async def send(message):
        said.append(message)

    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode()), (b"content-length", b"10")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/confirm",
        "raw_path": b"/confirm",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8787),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }
    began = time.monotonic()
    asyncio.run(app(scope, receive, send))

    assert 408 == said[0]["status"]
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("path", ["/browse?path=", "/setup?repo_path="])
def test_nobody_learns_what_there_is_outside_the_roots(browse, tmp_path, home, path):
    outside = tmp_path / "outside"
    (outside / "repository").mkdir(parents=True)
    client = browse("view")
    answers = [client.get(f"{path}{outside}/{name}") for name in ("repository", "nowhere")]
    words = [answer.json()["error"]["message"].replace("repository", "nowhere") for answer in answers]

    assert [400, 400] == [answer.status_code for answer in answers]
    assert words[0] == words[1]
