"""A proxy lets a box reach what is listed, and nothing else."""

import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from oulipoly_engine.core.boxes.allow_list import parse_allowed
from oulipoly_engine.core.boxes.box import Access, Box, Level, Mount, Network
from oulipoly_engine.core.boxes.bubblewrap import PROXY_VARIABLES
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.boxes.proxy import AllowListProxy
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.process.spawn import spawn

SEALED = find_level(Level.SEALED)


class Echo(BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"{self.path} {sorted(name.lower() for name in self.headers)}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """The port of a web server on this machine."""
    with HTTPServer(("127.0.0.1", 0), Echo) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield http.server_port
        http.shutdown()
        thread.join()


@pytest.fixture
def proxy(tmp_path, server):
    """A proxy to that server, by its address alone; what it was asked for."""
    noted = []
    entries = (parse_allowed(f"127.0.0.1:{server}"), parse_allowed(f"localhost.:{server}"))
    with AllowListProxy(tmp_path / "proxy", entries, lambda target, problem: noted.append((target.text, problem))):
        yield tmp_path / "proxy", noted


def ask(path, text):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(path))
        client.sendall(text.encode())
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b"")).decode()


def test_listed_address_is_reached_in_both_ways_and_fields_of_proxies_stay(proxy, server):
    path, noted = proxy
    plain = ask(path, f"GET http://127.0.0.1:{server}/a?b HTTP/1.1\r\nHost: x\r\nProxy-Authorization: s3cret\r\n\r\n")
    tunnel = ask(path, f"CONNECT 127.0.0.1:{server} HTTP/1.1\r\n\r\nGET /c HTTP/1.0\r\n\r\n")

    assert "/a?b ['connection', 'host']" in plain
    assert tunnel.startswith("HTTP/1.1 200 Connection established\r\n\r\n")
    assert tunnel.endswith("/c []")
    assert [(f"127.0.0.1:{server}", "")] * 2 == noted


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", "127.0.0.1:1 is not allowed: add it"),
        ("CONNECT localhost.:{port} HTTP/1.1\r\n\r\n", "cannot be reached, or leads into this network"),
        ("rubbish\r\n\r\n", "400 Bad Request"),
        ("x" * 65536, "400 Bad Request"),
        ("", "400 Bad Request"),
    ],
)
def test_anything_else_is_refused_and_says_why(proxy, server, text, answer):
    assert answer in ask(proxy[0], text.replace("{port}", str(server)))


@pytest.mark.skipif(not SEALED.is_available, reason=SEALED.obstacle)
def test_program_in_a_sealed_box_reaches_what_is_listed_by_its_usual_variables(proxy, server):
    code = (
        "import sys, urllib.request as u, urllib.error as e\n"
        "print(u.urlopen(sys.argv[1] + '/in').read())\n"
        "try: u.urlopen('http://127.0.0.1:1/')\n"
        "except e.HTTPError as error: print(error.code)\n"
        "try: u.build_opener(u.ProxyHandler({})).open(sys.argv[1])\n"
        "except e.URLError as error: print('direct: no')\n"
    )
    own = tuple(Mount(path, Access.READ) for path in {sys.base_prefix, sys.prefix})
    box = Box(Level.SEALED, own, Network.PROXY, str(proxy[0]))
    argv = (str(Path(sys.executable)), "-I", "-c", code, f"http://127.0.0.1:{server}")

    ended = run_script(EXEC, PROXY_VARIABLES, arguments=argv, cwd=Path("/"), timeout_s=20, box=box)

    assert ended.stdout.decode().split("\n")[1:] == ["403", "direct: no", ""], ended.stderr
    assert b"/in" in ended.stdout


@pytest.mark.skipif(not SEALED.is_available, reason=SEALED.obstacle)
def test_box_whose_proxy_does_not_listen_is_refused(tmp_path):
    with pytest.raises(SpawnFailed, match="gone: start it first"):
        spawn(Command(("/bin/true",), {}, box=Box(Level.SEALED, (), Network.PROXY, str(tmp_path / "gone"))))
