"""`agents serve` as a process, its certificates, its notices, and the commands about devices."""

import asyncio
import http.server
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from hashlib import sha256
from ipaddress import ip_network

import httpx
import pytest
import uvicorn
from starlette.testclient import TestClient
from uvicorn.server import ServerState

from oulipoly_engine.cli.web.serve import start_again
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.checks.alerts import of_request
from oulipoly_engine.core.web import notices
from oulipoly_engine.facade.base import own_process
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web import patient_protocol
from oulipoly_engine.web.access.authority import make_certificate
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.patient_protocol import PatientProtocol
from oulipoly_engine.web.serve import start

WAYS = {"timeout": 60, "trust_env": False}


@contextmanager
def run_server(start, *arguments, **variables):
    """Run `agents serve --json` and yield its process and its first line."""
    process = start(["serve", "--json", *arguments], os.environ | variables)
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def running(commands):
    """Run `agents serve --json`, forked from a process that has imported it."""
    return partial(run_server, commands.start)


def start_as_users_do(arguments, env):
    """Start our command by the interpreter."""
    command, pipe = [sys.executable, "-m", "oulipoly_tui", *arguments], subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, env=env)


def test_it_says_where_it_is_and_ends_cleanly(home):
    with run_server(start_as_users_do, "--port", "0") as (process, told):
        answer = httpx.get(f"{told['url']}/health", **WAYS)
        token = httpx.post(f"{told['url']}/pair", json={"code": told["code"]}, **WAYS).json()["token"]
        me = httpx.get(
            f"{told['url']}/me", headers={"authorization": f"Bearer {token}"}, timeout=60, trust_env=False
        ).json()
        process.send_signal(signal.SIGINT)

        assert 0 == process.wait(60)
    assert process.pid == told["pid"]
    assert True is answer.json()["ok"]
    assert ["view", "answer", "operate"] == me["scopes"]
    assert Engine().web.servers() == ()


def test_the_environment_says_what_the_command_line_does_not(agents, home, running):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.2", 0))
        port = free.getsockname()[1]
    with running(OULIPOLY_SERVE_HOST="127.0.0.2", OULIPOLY_SERVE_PORT=str(port)) as (process, told):
        assert f"http://127.0.0.2:{port}" == told["url"]
        assert 200 == httpx.get(f"{told['url']}/health", **WAYS).status_code
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(60)  # as cleanly as at SIGINT
    with running("--port", "0") as (process, _):  # and so, whatever it has begun, once it has said where it is
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(60)
    assert Engine().web.servers() == ()
    done = agents("serve", env={"OULIPOLY_SERVE_PORT": "many"})
    assert (2, True) == (done.returncode, b"OULIPOLY_SERVE_PORT" in done.stderr)


def test_started_again_it_has_the_port_that_it_had(home, monkeypatch, running):
    begun = []
    monkeypatch.setattr(own_process, "replace_process", lambda argv, _environment: begun.append(argv))
    with running("--port", "0") as (_, before):
        pass
    for port in (["--port", "0"], ["--port=0"]):
        monkeypatch.setattr(sys, "argv", ["agents", "serve", *port])
        start_again(int(before["url"].rpartition(":")[2]))
    (*_, last), words = begun

    assert before["url"].endswith(f":{last}")
    assert (sys.executable, "-m", "oulipoly_tui", "serve") == words[:4]
    with running(*words[4:]) as (_, after):
        assert before["url"] == after["url"]


def test_a_taken_port_gives_another_one_and_says_so(home, running):
    with closing(socket.socket()) as taken:
        try:
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        except OSError:  # somebody else has it: as well
            pass
        with running() as (process, told):
            assert not told["url"].endswith(":8787")
            process.terminate()
            assert b"port 8787 is taken" in process.stderr.read()


def test_a_port_that_was_asked_for_is_not_replaced(agents, home):
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = agents("serve", "--port", str(taken.getsockname()[1]))

    assert (1, True) == (done.returncode, b"cannot listen" in done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ["--port", "70000"],
        ["--host", "evil.example"],
        ["--host", ""],
        ["--allow-host", "a b"],
        ["--proxy", "proxy.example"],
        ["--proxy", "0.0.0.0/0"],
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(agents, home, words):
    assert 2 == agents("serve", *words).returncode


def test_another_address_speaks_tls_with_a_certificate_of_its_own(home):
    engine = Engine()
    server = start(engine, address="0.0.0.0", port=0)
    with server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            context = ssl.create_default_context(cafile=engine.paths.data / "web" / "authority.pem")
            url = f"https://127.0.0.1:{server.port}"
            with httpx.Client(verify=context, **WAYS) as client:
                paired = client.post(f"{url}/pair", json={"code": engine.web.make_code().code})
                assert "Secure" in paired.headers["set-cookie"]
                assert paired.headers["set-cookie"].startswith("__Host-agents=")
                assert 200 == client.get(f"{url}/me").status_code
                assert "BEGIN CERTIFICATE" in client.get(f"{url}/authority.pem").text
            der = ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", server.port)))
            with pytest.raises(httpx.HTTPError):
                httpx.get(f"http://127.0.0.1:{server.port}/health", **WAYS)
        finally:
            server.stop()
            thread.join(60)
    assert sha256(der).digest().hex(":").upper() == server.fingerprint
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (engine.paths.data / "web").iterdir()}
    assert {0o600} == modes


def test_the_certificate_stays_while_the_names_do(tmp_path):
    clock = SystemClock()
    first = make_certificate(tmp_path / "web", ["127.0.0.1", "a.local"], clock)
    again = make_certificate(tmp_path / "web", ["a.local", "127.0.0.1"], clock)
    other = make_certificate(tmp_path / "web", ["127.0.0.1", "b.local"], clock)

    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_devices_are_paired_listed_and_revoked_by_commands(agents, home, running):
    with running("--port", "0") as (_, told):
        made = json.loads(agents("device", "pair", "--scopes", "answer", "--name", "phone", "--json").stdout)
        assert made["url"].startswith(f"{told['url']}/pair#")
        token = httpx.post(f"{told['url']}/pair", json={"code": made["code"]}, **WAYS).json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        (device,) = json.loads(agents("device", "list", "--json").stdout)["devices"]
        assert ("phone", ["view", "answer"]) == (device["name"], device["scopes"])
        assert 0 == agents("device", "confirm", "phone").returncode
        assert httpx.get(f"{told['url']}/me", headers=headers, **WAYS).json()["confirmed"]
        assert 0 == agents("device", "revoke", device["device_id"]).returncode
        assert 401 == httpx.get(f"{told['url']}/me", headers=headers, **WAYS).status_code
    assert 1 == agents("device", "revoke", "phone").returncode
    assert 1 == agents("device", "pair").returncode  # no server runs


class Hook(http.server.BaseHTTPRequestHandler):
    """Keeps what it is told."""

    def do_POST(self):
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def hook():
    """A webhook; what it was told is in `told`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.told = []
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join(60)
    server.server_close()


def until(look, within_s=60.0):
    """Return what a look gives as soon as it is true."""
    deadline = time.monotonic() + within_s
    while not (seen := look()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return seen


def test_a_person_is_told_once_and_can_answer_from_there(live, hook):
    config = live.demo.config / "config.toml"
    config.write_text(f'serve_webhook = "http://127.0.0.1:{hook.server_port}/hook"\n{config.read_text()}')
    server = start(live.engine, address="127.0.0.1", port=0)
    with server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            live.begin("hello [[approve:echo sk-ant-REDACTED]]", runtime="demo-codex1")
            (told,) = until(lambda: [*hook.told])
            headers = {"authorization": f"Bearer {told['token']}"}
            assert "sk-ant" not in json.dumps(told)
            assert told["link"] == f"{server.url}/requests/{told['request_id']}#{told['token']}"
            assert 403 == httpx.get(f"{server.url}/sessions", headers=headers, **WAYS).status_code
            answer = httpx.post(told["url"], json={"decision": "approve"}, headers=headers, **WAYS)
            assert (200, "answered") == (answer.status_code, answer.json()["status"])
            last = until(lambda: hook.told[1:])
            assert [{"event": "request_settled", "request_id": told["request_id"]}] == last
            assert 401 == httpx.get(told["url"], headers=headers, **WAYS).status_code
        finally:
            server.stop()
            thread.join(60)


def test_ntfy_and_slack_are_told_in_their_own_words(live):
    session = live.begin("hello [[approve:ls]]", runtime="demo-codex1")
    request = live.request(session)
    line = of_request(request, "my\nsession").text
    turned = of_request(request, "my \u202enoisses").text
    ntfy = notices.tell_request("https://ntfy.sh/topic", request, line, "https://a/requests/1", "t")
    told = json.loads(ntfy.body)
    slack = notices.tell_request("https://hooks.slack.com/services/x", request, line, "https://a/requests/1", "t")

    assert ("https://ntfy.sh/", "topic", "https://a/requests/1#t") == (ntfy.url, told["topic"], told["click"])
    assert ["approve", "deny"] == [json.loads(one["body"])["decision"] for one in told["actions"]]
    assert "DELETE" == notices.withdraw("https://ntfy.sh/topic", request.request_id).method
    assert ["text"] == [*json.loads(slack.body)]
    assert notices.withdraw("https://hooks.slack.com/services/x", "r") is None
    assert "my session wants to run: ls" == line
    assert "my <U+202E>noisses wants to run: ls" == turned


def test_a_notice_s_link_opens_its_request_on_a_phone_that_is_not_paired(home):
    engine = Engine()
    token = engine.web.make_request_token("cli_req_1")
    with closing(engine), TestClient(make_app(engine), "http://localhost", follow_redirects=False) as phone:
        page = {"accept": "text/html"}
        assert "/pair" == phone.get("/requests/cli_req_1", headers=page).headers["location"]
        paired = phone.post("/pair", data={"code": token}, headers=page)

        assert (303, "/requests/cli_req_1") == (paired.status_code, paired.headers["location"])
        assert 403 == phone.get("/sessions", headers=page).status_code


def test_a_killed_server_leaves_sessions_running(live, running):
    with running("--port", "0") as (process, told):
        token = httpx.post(f"{told['url']}/pair", json={"code": told["code"]}, **WAYS).json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        wish = {"repo_path": str(live.root), "use_worktree": False, "agent_id": "demo-live"}
        wish |= {"initial_message": "hello [[approve:ls]]"}
        session = httpx.post(f"{told['url']}/sessions", json=wish, headers=headers, **WAYS).json()["id"]
        request = live.request(session)
        process.kill()
        process.wait(60)
    with (
        running("--port", "0") as (_, told),
        httpx.Client(base_url=told["url"], headers=headers, **WAYS) as c,
    ):
        detail = c.get(f"/sessions/{session}").json()
        assert ("running", True, True) == (detail["status"], detail["busy"], detail["pending_approval"])
        assert 200 == c.post(f"/requests/{request.request_id}", json={"decision": "approve"}).status_code
        until(lambda: not c.get(f"/sessions/{session}").json()["busy"])
        assert 1 == len(live.engine.web.servers())  # the killed one is not taken for one that runs


FIRST = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /health HTTP/1.1\r\nhost: loc",
        b"\x16\x03\x01",
        b"POST /pair HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
        b"GET /health HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
        FIRST + b"GET /health HTTP/1.1\r\nhost: loc",
    ],
    ids=["nothing", "half a header", "TLS", "half a body", "half a body that nobody reads", "half in advance"],
)
def test_who_sends_half_a_request_is_given_up(port, monkeypatch, said):
    monkeypatch.setattr(patient_protocol, "HEADERS_PATIENCE_S", 0.1)
    monkeypatch.setattr(patient_protocol.PatientProtocol, "upload_patience_s", 0.1)
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    with client, suppress(ConnectionError):  # it may be given up before it has said anything
        client.sendall(said)
        read_to_the_end(client)


def test_who_sends_half_of_a_second_request_is_given_up(port, monkeypatch):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(FIRST)
        assert b"200 OK" in client.recv(4096)
        monkeypatch.setattr(patient_protocol, "HEADERS_PATIENCE_S", 0.1)
        with suppress(ConnectionError):
            client.sendall(FIRST[:20])
            read_to_the_end(client)


@pytest.fixture
def port(home):
    """The port of a server."""
    server = start(Engine(), address="127.0.0.1", port=0)
    with server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server.port
        finally:
            server.stop()
            thread.join(60)


class Unread(asyncio.Transport):
    """A connection whose client reads nothing."""

    def __init__(self):
        super().__init__()
        self.aborted = asyncio.Event()

    def abort(self):
        self.aborted.set()


async def test_who_reads_nothing_of_an_answer_is_given_up_and_who_goes_on_reading_is_not(monkeypatch):
    monkeypatch.setattr(patient_protocol, "READING_PATIENCE_S", 0.05)
    reader, other = (PatientProtocol(uvicorn.Config(None, log_config=None), ServerState(), {}) for _ in range(2))
    transports = Unread(), Unread()
    for protocol, transport in zip((reader, other), transports, strict=True):
        protocol.connection_made(transport)
        protocol.pause_writing()
    reader.resume_writing()
    async with asyncio.timeout(60):
        await transports[1].aborted.wait()

    assert not transports[0].aborted.is_set()
    for protocol in (reader, other):
        protocol.connection_lost(OSError())


def read_to_the_end(client):
    while client.recv(4096):
        pass


@pytest.mark.parametrize(
    ("address", "proxies", "is_tls"),
    [("127.0.0.1", (), False), ("0.0.0.0", (), True), ("0.0.0.0", ("192.0.2.7/32",), False)],
    ids=["this computer", "all addresses", "a named proxy"],
)
def test_behind_a_proxy_only_a_named_one_elsewhere_is_served_without_tls(home, address, proxies, is_tls):
    networks = tuple(map(ip_network, proxies))
    with start(Engine(), address=address, port=0, behind_proxy=True, proxies=networks) as server:
        assert is_tls == server.url.startswith("https")
