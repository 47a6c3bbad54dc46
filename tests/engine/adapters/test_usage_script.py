"""The usage adapters against a server on this machine: what they ask, print, return and never say."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from oulipoly_engine.adapters.scripts import usage
from oulipoly_engine.core.quota.readings import duration_label, http_failure, parse_reading

REPOSITORY = Path(__file__).resolve().parents[3]
SCRIPTS = REPOSITORY / "scripts"
STUB = REPOSITORY.parent / "shared" / "tools" / "model_api.py"
TOKEN = "tok-3f9c2b7e51d84a06"
CREDENTIALS = {
    "anthropic-usage": {"claudeAiOauth": {"accessToken": TOKEN}},
    "chatgpt-usage": {"tokens": {"access_token": TOKEN, "account_id": "acct-7"}},
    "zai-usage": {"Z_AI_API_KEY": TOKEN},
}
GOOD = {
    "anthropic-usage": {"five_hour": {"utilization": 13, "resets_at": "2099-04-22T01:06:40.5+00:00"}},
    "chatgpt-usage": {"rate_limit": {"primary_window": {"used_percent": 13, "reset_at": 4080000000}}},
    "zai-usage": {
        "code": 200,
        "data": {"limits": [{"type": "TOKENS_LIMIT", "percentage": 13, "nextResetTime": 4080000000000}]},
    },
}
NAMES = tuple(CREDENTIALS)
each_adapter = pytest.mark.parametrize("name", NAMES)


@contextlib.contextmanager
def serving(body, status=200, headers=()):
    """Serve one answer to every GET; gives the base URL and the list of requests seen, as (path, headers)."""
    seen = []
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, dict(self.headers.items())))
            self.send_response(status)
            for key, value in headers:
                self.send_header(key, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def credentials(tmp_path):
    def write(name, content=None):
        path = tmp_path / "login" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(json.dumps(CREDENTIALS[name]).encode() if content is None else content)
        return path

    return write


def run(name, path, base_url="http://127.0.0.1:9", **environ):
    return usage.run((name, str(path)), {usage.VENDORS[name].base_url_variable: base_url, **environ})


def run_against(name, path, body, status=200, headers=()):
    with serving(body, status, headers) as (base_url, _):
        return run(name, path, base_url)


def windows_of(outcome):
    assert (0, "") == (outcome.exit_code, outcome.stderr)
    return json.loads(outcome.stdout)["windows"]


@contextlib.contextmanager
def trickling():
    """Serve a header that never ends, a byte at a time; gives the base URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def serve():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not over.wait(0.02):
                    connection.sendall(b"x")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


@each_adapter
def test_headers_that_never_end_have_a_limit_too(name, credentials, monkeypatch):
    monkeypatch.setattr(usage, "TIMEOUT_S", 0.3)
    with trickling() as base_url:
        outcome = run(name, credentials(name), base_url)

    assert 0 != outcome.exit_code
    assert "no HTTP answer" in outcome.stderr


@each_adapter
def test_output_is_what_the_runner_accepts(name, credentials):
    outcome = run_against(name, credentials(name), GOOD[name])
    (window,) = parse_reading(outcome.stdout, name)

    assert 0.13 == window.used
    assert 2099 == window.resets_at.year


def test_anthropic_request_names_itself_as_the_cli(credentials):
    with serving(GOOD["anthropic-usage"]) as (base_url, seen):
        run("anthropic-usage", credentials("anthropic-usage"), base_url, ANTHROPIC_USAGE_CLIENT_VERSION="9.8.7")
    ((path, headers),) = seen

    assert "/api/oauth/usage" == path
    assert {f"Bearer {TOKEN}", "oauth-2025-04-20", "claude-code/9.8.7"} <= set(headers.values())
    assert "claude-code/9.8.7" == headers["User-Agent"]


def test_chatgpt_request_names_the_account(credentials):
    with serving(GOOD["chatgpt-usage"]) as (base_url, seen):
        run("chatgpt-usage", credentials("chatgpt-usage"), base_url)
    ((path, headers),) = seen
    given = {key.lower(): value for key, value in headers.items()}

    assert "/backend-api/wham/usage" == path
    assert (f"Bearer {TOKEN}", "acct-7") == (given["authorization"], given["chatgpt-account-id"])


def test_zai_request_carries_the_raw_key(credentials):
    with serving(GOOD["zai-usage"]) as (base_url, seen):
        run("zai-usage", credentials("zai-usage"), base_url + "/")
    ((path, headers),) = seen
    given = {key.lower(): value for key, value in headers.items()}

    assert "/api/monitor/usage/quota/limit" == path
    assert (TOKEN, "en-US,en", "application/json") == (
        given["authorization"],
        given["accept-language"],
        given["content-type"],
    )


def test_weekly_window_in_the_primary_slot_is_labelled_by_its_length(credentials):
    weekly = {"used_percent": 42, "reset_at": 1776810000, "limit_window_seconds": 604_800}
    burst = {"used_percent": 17, "reset_at": 1776810000, "limit_window_seconds": 18_000}
    body = {"rate_limit": {"primary_window": weekly, "secondary_window": burst}}

    found = windows_of(run_against("chatgpt-usage", credentials("chatgpt-usage"), body))
    hidden = {"rate_limit": {"primary_window": weekly}}
    alone = windows_of(run_against("chatgpt-usage", credentials("chatgpt-usage"), hidden))

    assert [("weekly", 42), ("5h-burst", 17)] == [(entry["label"], entry["used_percent"]) for entry in found]
    assert ["weekly"] == [entry["label"] for entry in alone]


@pytest.mark.parametrize("body", [{"rate_limit": None}, {"rate_limit": {"primary_window": None}}, {}])
def test_chatgpt_without_windows_is_an_empty_reading(body, credentials):
    assert [] == windows_of(run_against("chatgpt-usage", credentials("chatgpt-usage"), body))


def test_missing_percent_is_zero_and_missing_reset_drops_the_window(credentials):
    at = "2099-01-01T00:00:00Z"
    body = {"seven_day": {"resets_at": at}, "five_hour": {"utilization": 5}, "seven_day_opus": None}

    found = windows_of(run_against("anthropic-usage", credentials("anthropic-usage"), body))

    assert [{"label": "weekly", "used_percent": 0, "resets_at": at}] == found


def test_zai_windows_keep_their_length_when_one_is_hidden(credentials):
    weekly = {"type": "TOKENS_LIMIT", "unit": 6, "number": 1, "percentage": 3, "nextResetTime": 1776810000000}

    outcome = run_against("zai-usage", credentials("zai-usage"), {"code": 200, "data": {"limits": [weekly]}})

    assert "label" not in windows_of(outcome)[0]
    assert "weekly" == parse_reading(outcome.stdout, "zai-usage")[0].label


def test_plan_that_runs_over_its_limit_is_full(credentials):
    body = {"seven_day": {"utilization": 101.5, "resets_at": "2099-01-01T00:00:00Z"}}

    (window,) = windows_of(run_against("anthropic-usage", credentials("anthropic-usage"), body))

    assert 100 == window["used_percent"]


@each_adapter
def test_unreadable_credential_file_exits_2(name, tmp_path):
    assert 2 == run(name, tmp_path / "absent.json").exit_code
    assert 2 == run(name, tmp_path).exit_code


def test_pipe_as_credential_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")

    assert 2 == run("zai-usage", tmp_path / "pipe.json").exit_code


@pytest.mark.rows_share_fixtures
@each_adapter
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", f'"{TOKEN}'.encode(), f'{{"x": "{TOKEN}"'.encode()])
def test_credential_file_that_is_no_json_object_exits_2_and_is_not_quoted(name, content, credentials):
    outcome = run(name, credentials(name, content))

    assert (2, "") == (outcome.exit_code, outcome.stdout)
    assert TOKEN not in outcome.stderr


@pytest.mark.rows_share_fixtures
@each_adapter
@pytest.mark.parametrize("content", [b"{}", b'{"claudeAiOauth": null, "tokens": 7, "Z_AI_API_KEY": " "}'])
def test_missing_token_exits_3_saying_what_to_do(name, content, credentials):
    outcome = run(name, credentials(name, content))

    assert 3 == outcome.exit_code
    assert "sign in" in outcome.stderr


@pytest.mark.parametrize("tail", ["\r\nX-Evil: 1", " two words", "\u00e9", "\x00"])
def test_token_that_no_header_can_carry_exits_3_and_is_not_quoted(tail, credentials):
    path = credentials("zai-usage", json.dumps({"Z_AI_API_KEY": TOKEN + tail}).encode())
    outcome = run("zai-usage", path)

    assert 3 == outcome.exit_code
    assert TOKEN not in outcome.stderr


@pytest.mark.rows_share_fixtures
@each_adapter
@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 429, 500, 503])
def test_other_status_exits_4_naming_it_and_not_the_body(name, status, credentials):
    body = {"error": {"type": TOKEN, "message": f"bad Bearer {TOKEN}"}}
    outcome = run_against(name, credentials(name), body, status, [("Location", f"http://127.0.0.1:9/?t={TOKEN}")])

    assert (4, "") == (outcome.exit_code, outcome.stdout)
    assert status == http_failure(outcome.stderr).status
    assert TOKEN not in outcome.stderr


@each_adapter
def test_pause_that_a_vendor_asks_for_reaches_the_runner(name, credentials):
    outcome = run_against(name, credentials(name), {}, 429, [("Retry-After", "120")])

    assert 120 == outcome.retry_after_s
    assert (429, 120) == (http_failure(outcome.stderr).status, http_failure(outcome.stderr).retry_after_s)


def test_pause_given_as_a_date_becomes_seconds(credentials):
    header = [("Retry-After", formatdate(time.time() + 600, usegmt=True))]
    outcome = run_against("zai-usage", credentials("zai-usage"), {}, 429, header)

    assert 590 < outcome.retry_after_s <= 601


@pytest.mark.parametrize("header", ["soon", "-5", "Mon, 99 Foo 2026", TOKEN])
def test_pause_that_is_neither_number_nor_date_is_left_out(header, credentials):
    outcome = run_against("zai-usage", credentials("zai-usage"), {}, 429, [("Retry-After", header)])

    assert outcome.retry_after_s is None
    assert "retry-after" not in outcome.stderr
    assert TOKEN not in outcome.stderr


def test_redirect_never_takes_the_token_to_another_host(credentials):
    with serving(GOOD["anthropic-usage"]) as (elsewhere, seen):
        outcome = run_against(
            "anthropic-usage", credentials("anthropic-usage"), {}, 302, [("Location", f"{elsewhere}/api/oauth/usage")]
        )

    assert 4 == outcome.exit_code
    assert [] == seen


@pytest.mark.rows_share_fixtures
@each_adapter
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"\xff\xfe",
        b"{" * 100_000,
        b"x" * (usage.MAX_ANSWER_BYTES + 1),
        {"type": "error", "error": {"type": TOKEN, "message": TOKEN}},
        {"error": TOKEN},
    ],
)
def test_success_that_is_not_understood_exits_5_and_is_not_quoted(name, body, credentials):
    outcome = run_against(name, credentials(name), body)

    assert (5, "") == (outcome.exit_code, outcome.stdout)
    assert TOKEN not in outcome.stderr


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("percent", [True, "13", -1, 4600, [], 1e300])
def test_percentage_that_cannot_be_true_exits_5(percent, credentials):
    body = {"seven_day": {"utilization": percent, "resets_at": "2099-01-01T00:00:00Z"}}

    assert 5 == run_against("anthropic-usage", credentials("anthropic-usage"), body).exit_code


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("reset", ["soon", True, -1e18, 9e14, {}])
def test_reset_that_is_no_time_exits_5(reset, credentials):
    body = {"rate_limit": {"primary_window": {"used_percent": 1, "reset_at": reset}}}

    assert 5 == run_against("chatgpt-usage", credentials("chatgpt-usage"), body).exit_code


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("code", [401, 429, 0, None, "200", TOKEN, [TOKEN]])
def test_zai_error_inside_a_success_exits_5(code, credentials):
    outcome = run_against("zai-usage", credentials("zai-usage"), {"code": code, "msg": TOKEN, "success": False})

    assert 5 == outcome.exit_code
    assert TOKEN not in outcome.stderr


@each_adapter
def test_no_answer_exits_4(name, credentials):
    with serving({}) as (base_url, _):
        pass
    outcome = run(name, credentials(name), base_url)

    assert 4 == outcome.exit_code
    assert "127.0.0.1" in outcome.stderr


@pytest.mark.parametrize(
    "base_url", ["http://example.invalid", "file:///etc/passwd", "nonsense", "http://127.0.0.1.example.invalid"]
)
def test_token_is_never_sent_in_clear_to_another_machine(base_url, credentials):
    outcome = run("zai-usage", credentials("zai-usage"), base_url)

    assert 1 == outcome.exit_code
    assert "https://" in outcome.stderr


@pytest.mark.parametrize("base_url", ["http://[::1", "http://127.0.0.1:x", "http://127.0.0.1:99999"])
def test_broken_base_url_is_an_error_without_the_token(base_url, credentials):
    outcome = run("zai-usage", credentials("zai-usage"), base_url)

    assert outcome.exit_code in (1, 4)
    assert TOKEN not in outcome.stderr


def test_token_given_instead_of_a_file_is_not_repeated():
    outcome = run("zai-usage", TOKEN)

    assert 2 == outcome.exit_code
    assert TOKEN not in outcome.stderr


@pytest.mark.parametrize("arguments", [(), ("zai-usage",), ("other-usage", "x"), ("zai-usage", "a", "b")])
def test_wrong_call_says_how_to_call(arguments):
    outcome = usage.run(arguments, {})

    assert 1 == outcome.exit_code
    assert "usage:" in outcome.stderr


@each_adapter
def test_credentials_are_read_and_never_written(name, credentials):
    path = credentials(name)
    path.chmod(0o400)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    run_against(name, path, GOOD[name])

    assert before == (path.read_bytes(), path.stat().st_mtime_ns)
    assert [path] == list(path.parent.iterdir())


@each_adapter
def test_copy_under_its_own_name_works_alone(name, credentials, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(SCRIPTS / name, folder / name)
    with serving(GOOD[name]) as (base_url, _):
        environ = {usage.VENDORS[name].base_url_variable: base_url, "PATH": os.environ["PATH"]}
        command = [sys.executable, "-I", str(folder / name), str(credentials(name))]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (0, "") == (done.returncode, done.stderr)
    assert 13 == json.loads(done.stdout)["windows"][0]["used_percent"]


@each_adapter
def test_script_is_executable_and_the_adapter_itself(name):
    assert os.access(SCRIPTS / name, os.X_OK)
    assert Path(usage.__file__).resolve() == (SCRIPTS / name).resolve()


@pytest.mark.parametrize("seconds", [300, 7200, 17_940, 18_000, 86_400, 3 * 86_400, 604_800, 2_592_000, 31_536_000])
def test_runner_and_adapters_name_lengths_alike(seconds):
    assert duration_label(seconds) == usage._label(seconds)


@pytest.fixture
def stub(tmp_path):
    if not STUB.exists():
        pytest.skip("the loopback model API is not beside this repository")
    with subprocess.Popen([sys.executable, str(STUB)], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        yield process.stdout.readline().split()[-1]
        process.terminate()


@each_adapter
def test_loopback_api_is_read_whole(name, credentials, stub):
    outcome = run(name, credentials(name), stub)
    found = parse_reading(outcome.stdout, name)

    assert {"weekly": 0.45, "5h-burst": 0.23} == {window.label: window.used for window in found}


@pytest.mark.parametrize(("name", "exit_code"), [("anthropic-usage", 4), ("chatgpt-usage", 4), ("zai-usage", 5)])
def test_loopback_api_refusal_is_told(name, exit_code, credentials, stub):
    content = json.dumps(CREDENTIALS[name]).replace(TOKEN, TOKEN + "-401").replace("acct-7", "acct-7-401")
    outcome = run(name, credentials(name, content.encode()), stub)

    assert exit_code == outcome.exit_code
    assert "401" in outcome.stderr
    assert TOKEN not in outcome.stderr
