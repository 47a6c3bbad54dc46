"""A machine with small CLIs that log in, and a terminal to talk to our command in."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pexpect
import pytest

SCRIPTED = Path(__file__).parents[2] / "fixtures" / "scripted_cli.py"
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
        cli, shown = commands.show([*map(str, words)], environment, home, (40, 200)), ""
        for question, answer in answers:
            cli.expect_exact(question)
            shown += cli.before + cli.after
            cli.send(answer() if callable(answer) else answer)
        cli.expect(pexpect.EOF)
        cli.close()
        return cli.exitstatus, shown + cli.before

    return talk
