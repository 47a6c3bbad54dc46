"""A proxy logs in to an API for a box: with the right token, to that API alone, in bounded memory, until its end."""

import contextlib
import re
import socket
import threading

import pytest

from oulipoly_engine.core.accounts.clis.host_login import ApiLogin
from oulipoly_engine.process.boxes.api_route import ApiRoute
from oulipoly_engine.process.boxes.proxy import AllowListProxy

TOKEN = "only-here"
HEAD = f"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nX-Own: kept\r\n"


class Server:
    """An API that keeps what it is sent, and answers with what it was told."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(10)
        self.answer = b"HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n"
        self.seen = b""
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with client:
                    client.settimeout(10)
                    self.seen = self.read(client)
                    client.sendall(self.answer)

    def read(self, client):
        data = b""
        while b"\r\n\r\n" not in data:
            data += client.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        size = int((re.search(rb"content-length: (\d+)", head) or [0, 0])[1])
        while len(body) < size or (b"chunked" in head and not body.endswith(b"0\r\n\r\n")):
            more = client.recv(65536)
            if not more:
                return b""
            body += more
        return head + b"\r\n\r\n" + body


@pytest.fixture
def server():
    running = Server()
    yield running
    running.listener.shutdown(socket.SHUT_RDWR)
    running.listener.close()
    running.thread.join()


@pytest.fixture
def proxy(server):
    url = f"http://127.0.0.1:{server.listener.getsockname()[1]}/base"
    api = ApiLogin(url, {"authorization": "Bearer real"}, (), {})
    with AllowListProxy(None, (), route=ApiRoute(TOKEN, ("/v1/messages",), lambda: api)) as running:
        yield running


def ask(proxy, text):
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as client:
        client.sendall(text if isinstance(text, bytes) else text.encode())
        with contextlib.suppress(ConnectionResetError):
            return b"".join(iter(lambda: client.recv(65536), b"")).decode()
        return ""


@pytest.mark.parametrize(
    "body", ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n0\r\n\r\n"]
)
def test_login_is_put_in_and_bodies_pass(proxy, server, body):
    answer = ask(proxy, HEAD + body)

    head = server.seen.partition(b"\r\n\r\n")[0].lower()
    assert answer.endswith("data: 1\n\n")
    assert server.seen.startswith(b"POST /base/v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"hello" in server.seen
    assert b"authorization: bearer real" in head
    assert b"x-own: kept" in head
    assert TOKEN.encode() not in server.seen


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (HEAD.replace(TOKEN, "other") + "\r\n", "401"),
        ("GET /v1/messages HTTP/1.1\r\n\r\n", "401"),
        (HEAD.replace("/v1/messages", "/v1/files") + "\r\n", "403"),
        (HEAD.replace("/v1/messages", "/v1/messages/../files") + "\r\n", "403"),
        (HEAD.replace("/v1/messages", "/v1/messages/%2e%2e/files") + "\r\n", "403"),
        (HEAD.replace("/v1/messages", "http://169.254.169.254/latest") + "\r\n", "403"),
        (HEAD + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        (HEAD + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "400"),
        (HEAD + "Content-Length: -1\r\n\r\n", "400"),
        (HEAD.replace("beta=true", "beta\nX-Own:2") + "\r\n", "400"),
        ("\x00\xff\r\n\r\n", "400"),
    ],
)
def test_anything_else_is_refused_before_the_api_is_asked(proxy, server, request_text, status):
    assert ask(proxy, request_text).startswith(f"HTTP/1.1 {status} ")
    assert b"" == server.seen


def test_second_request_behind_a_body_does_not_pass(proxy, server):
    ask(proxy, f"{HEAD}Content-Length: 5\r\n\r\nhelloGET /v1/files HTTP/1.1\r\n\r\n")

    assert b"files" not in server.seen


def test_chunks_that_are_none_end_the_connection(proxy, server):
    assert "" == ask(proxy, HEAD + "Transfer-Encoding: chunked\r\n\r\nzz\r\n")


def test_connections_end_with_the_proxy(server):
    route = ApiRoute(TOKEN, ("/v1/messages",), lambda: "no login")
    with (
        AllowListProxy(None, (), route=route) as running,
        socket.create_connection(("127.0.0.1", running.port)) as other,
    ):
        refused = ask(running, HEAD + "\r\n")
        port = running.port
        other.sendall(b"POST /v1")
        running.__exit__()
        assert b"" == other.recv(1)

    assert refused.startswith("HTTP/1.1 401 ")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)
