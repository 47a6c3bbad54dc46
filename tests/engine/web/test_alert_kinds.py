"""Every kind of alert goes by one road: into status line and header, onto the phone's page, out as a notice."""

import json
import shutil
from datetime import timedelta
from types import SimpleNamespace

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession, Turn
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.service.live import hosts
from oulipoly_engine.store.live import live_requests, live_sessions
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.quota.quotas import Attempts
from oulipoly_engine.web import notices
from oulipoly_engine.web.attention import Attention
from oulipoly_tui.attention import Alerts

NOW = SystemClock().now()
_SIGNED_OUT = (
    "the quota script `anthropic-usage` failed with exit 3 (HTTP 401): HTTP 401 from api.example.com; sign in again; "
    "try it in a shell, sign in again if the login has ended, or correct `quota_script` in providers.toml"
)


def _request(engine, monkeypatch):
    asked = LiveRequest("r", "s", "t", "n", "command_approval", "pending", Prompt("rm -rf build"), NOW)
    with engine._home.lend_store() as store:
        live_sessions.insert(store, LiveSession("s", "/w", "codex", "codex", "m", NOW, NOW, title="build"))
        live_sessions.insert_turn(store, Turn("t", "s", "user", "starting", "hello", "", NOW))
        live_requests.insert(store, asked)
    monkeypatch.setattr(hosts, "expire_left", lambda *_: None)  # no process has it
    return "wants to run: rm -rf build"


def _window(engine, monkeypatch):
    window = Window(0, 0.94, NOW + timedelta(hours=2), label="5h")
    with engine._home.lend_store() as store, store.write():
        quotas.save(store, QuotaState("ada", (window,), refreshed_at=NOW))
    return "ada 5h is 94 % used"


def _login(engine, monkeypatch):
    with engine._home.lend_store() as store, store.write():
        quotas.save_attempts(store, "ada", Attempts(last_failure=_SIGNED_OUT))
    return "HTTP 401 from api.example.com; sign in again"


def _disk(engine, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=1_000_000, total=1 << 40)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    return "only 1.0 MB are free"


@pytest.mark.parametrize("happens", [_request, _window, _login, _disk])
def test_each_kind_reaches_status_line_header_phone_and_notices(engine, browse, monkeypatch, capfd, happens):
    engine.paths.models.mkdir(parents=True)
    engine.paths.providers.write_text('[ada]\ncommand = "claude"\nquota_script = "true"\n')
    client, text = browse("view", accept="text/html"), happens(engine, monkeypatch)
    snapshot, requests = engine.snapshot(), engine.live.requests()

    asked = tuple(map(engine.live.request_alert, requests))
    assert bool(asked) is snapshot.is_asked
    assert 0 == main(["status", "--format", "{attention} {attention_text}"])
    line = capfd.readouterr().out
    assert (True, True) == (line.startswith("1 "), text in line)
    app = SimpleNamespace(
        snapshot=snapshot, requests=SimpleNamespace(attention=lambda: asked), frame=SimpleNamespace(panes=())
    )
    assert [text in alert.text for alert in Alerts(app, None, None).list_attention()] == [True]
    assert text.split(":")[-1].strip() in client.get("/").text
    assert text in _told_by_a_server(engine, requests, monkeypatch)


def _told_by_a_server(engine, requests, monkeypatch):
    """Return what the webhook is told of by a server that looks twice."""
    calls = []
    monkeypatch.setattr(notices, "_call_later", lambda call: calls.append(json.loads(call.body)["message"]))
    engine.configuration.settings.save(engine.configuration.settings.find("serve_webhook")[1], "https://example.org/")
    server = Attention.__new__(Attention)  # without its threads
    server._engine, server._notices = engine, notices.Notices(engine, "http://localhost")
    server._seen_at, server._alerts, server._held_at = {}, {}, {}
    server._next_alerts_at = server._began_at = 0.0
    pending = {request.request_id: request for request in requests}
    for at in (0.0, 2.0):
        server._notify(pending, at)
    (message,) = calls
    return message
