"""A machine with small CLIs that log in, and a terminal to talk to our command in."""

import json
import os
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pexpect
import pytest
from pexpect.fdpexpect import fdspawn

SCRIPTED = Path(__file__).parents[2] / "fixtures" / "scripted_cli.py"
DELAY_S = 0.05  # as pexpect waits where it has started a program: who asks may drop what came before it listens
USAGE = {"five_hour": None, "seven_day": {"utilization": 12.5, "resets_at": "2099-01-01T00:00:00Z"}}


@pytest.fixture
def vendor():
    """The URL of a usage API that answers everybody the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(USAGE).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def machine(home, vendor):
    """The environment of a machine on which claude and codex are installed."""
    (home / "bin").mkdir()
    for name in ("claude", "codex"):
        (home / "bin" / name).write_text(f"#!{sys.executable} -IS\n{SCRIPTED.read_text()}")
        (home / "bin" / name).chmod(0o755)
    return {"PATH": f"{home}/bin:/usr/bin:/bin", "ANTHROPIC_USAGE_BASE_URL": vendor, "CHATGPT_USAGE_BASE_URL": vendor}


@pytest.fixture
def talk(home, machine, commands):
    """Run our command in a terminal, answer what it asks, and return (exit code, all that was shown)."""

    def talk(answers, *words, mood="", **variables):
        environment = os.environ | machine | {"SCRIPTED": mood, "TERM": "xterm"} | variables
        terminal, told = commands.begin_in_terminal([*map(str, words)], environment, home, (40, 200))
        cli, shown = fdspawn(terminal, encoding="utf-8", timeout=60), ""
        with told, closing(cli):
            for question, answer in answers:
                cli.expect_exact(question)
                shown += cli.before + cli.after
                answer = answer() if callable(answer) else answer
                time.sleep(DELAY_S)
                cli.send(answer)
            cli.expect(pexpect.EOF)
            _, code = map(int, told)
        return code, shown + cli.before

    return talk
