"""Drivers of the bundled adapters: each vector's answer is served on this machine and read by the script itself."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
CREDENTIALS = {
    "claudeAiOauth": {"accessToken": "stub-token"},
    "tokens": {"access_token": "stub-token", "account_id": "acct-stub"},
    "Z_AI_API_KEY": "stub-token",
}


def answering(status, body):
    """Return a server that gives every GET the same answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.timeout = 20  # for a script that never asks
    return server


def run_script(name, base_url_variable, port, credentials):
    environ = {"PATH": os.environ["PATH"], base_url_variable: f"http://127.0.0.1:{port}"}
    command = [sys.executable, str(SCRIPTS / name), str(credentials)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=25)


def usage_driver(name, base_url_variable):
    def drive(vector, tmp_path):
        credentials = tmp_path / "credentials.json"
        credentials.write_text(json.dumps(CREDENTIALS), encoding="utf-8")
        given, expected = vector["input"], vector["expected"]
        with answering(given.get("status", 200), given["response"]) as server:
            thread = threading.Thread(target=server.handle_request)
            thread.start()
            done = run_script(name, base_url_variable, server.server_address[1], credentials)
            thread.join()

        assert expected.get("exit", 0) == done.returncode, done.stderr
        if "windows" in expected:
            assert {"windows": expected["windows"]} == json.loads(done.stdout)

    return drive


DRIVERS = {
    "adapter.anthropic_usage": usage_driver("anthropic-usage", "ANTHROPIC_USAGE_BASE_URL"),
    "adapter.chatgpt_usage": usage_driver("chatgpt-usage", "CHATGPT_USAGE_BASE_URL"),
    "adapter.zai_usage": usage_driver("zai-usage", "ZAI_USAGE_BASE_URL"),
}
