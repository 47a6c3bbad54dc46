"""Drivers of the bundled adapters: the script itself runs, on files of the vector's making.

What a vendor would answer is served on this machine.
"""

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
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)


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


def run_on_folder(name, folder, state_dir, **more):
    environ = {"PATH": os.environ["PATH"], "STATE_DIR": str(state_dir), **more}
    command = [sys.executable, str(SCRIPTS / name), str(folder)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)


def printed_entries(name, folder, state_dir):
    done = run_on_folder(name, folder, state_dir)
    assert 0 == done.returncode, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def part_of(expected, entry):
    return {key: entry.get(key) for key in expected}


def claude_entries(vector, tmp_path):
    base = tmp_path / "projects"
    base.mkdir()
    (base / "s.jsonl").write_text(json.dumps(vector["input"]["line"]) + "\n", encoding="utf-8")
    found = printed_entries("claude-code-turns", base, tmp_path / "state")
    expected = [] if vector["expected"] is None else [vector["expected"]]

    assert len(expected) == len(found)
    assert expected == [part_of(one, entry) for one, entry in zip(expected, found, strict=True)]


def codex_entries(vector, tmp_path):
    # The vector's path lies at the root of the machine: what is asked is that turn ids carry the path, so ours is put
    # in its place.
    place = tmp_path / vector["input"]["path"].lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text("".join(json.dumps(line) + "\n" for line in vector["input"]["lines"]), encoding="utf-8")
    found = printed_entries("codex-turns", place.parent, tmp_path / "state")
    expected = [{**one, "turn_id": f"{tmp_path}{one['turn_id']}"} for one in vector["expected"]]

    assert len(expected) == len(found)
    assert expected == [part_of(one, entry) for one, entry in zip(expected, found, strict=True)]


def locator(vector, tmp_path):
    file = Path(vector["input"]["file"])
    is_codex = file.name.startswith("rollout-")
    session_id = file.stem[-36:] if is_codex else "5169694d-de0f-40d1-890c-6e28e55bab27"
    path = tmp_path / "base" / file
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"sessionId": vector["input"].get("content_session")}) + "\n", encoding="utf-8")
    name = "codex-locate-transcript" if is_codex else "claude-code-locate-transcript"
    done = run_on_folder(name, tmp_path / "base", tmp_path / "state", SESSION_ID=session_id)

    assert "found" == vector["expected"]
    assert (0, f"{path}\n") == (done.returncode, done.stdout)


DRIVERS = {
    "adapter.claude_turns": claude_entries,
    "adapter.codex_turns": codex_entries,
    "adapter.locator": locator,
    "adapter.anthropic_usage": usage_driver("anthropic-usage", "ANTHROPIC_USAGE_BASE_URL"),
    "adapter.chatgpt_usage": usage_driver("chatgpt-usage", "CHATGPT_USAGE_BASE_URL"),
    "adapter.zai_usage": usage_driver("zai-usage", "ZAI_USAGE_BASE_URL"),
}
