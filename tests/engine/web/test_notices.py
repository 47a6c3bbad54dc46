"""Notices of alerts that are no requests: told once by all servers, and again once they were over."""

import json
from contextlib import closing
from types import SimpleNamespace

import pytest

from oulipoly_engine.core.checks.alerts import Alert, Severity
from oulipoly_engine.core.web import notices as texts
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web import notices
from oulipoly_engine.web.attention import Attention

WINDOW = Alert("window", "ada 5h is 94 % used", "resets 2026-11-20T17:00Z", subject="ada", cause="5h")
NOTE = Alert("run", "the last run failed", severity=Severity.NOTE)
HOOK = "https://example.org/hook"


class Server:
    """The part of a server that tells, with alerts of the test's choice and its own clock."""

    def __init__(self, engine):
        self.alerts = []
        snapshot = SimpleNamespace(snapshot=lambda: SimpleNamespace(alerts=tuple(self.alerts)))
        quota = SimpleNamespace(raise_alerts=lambda **_: ())
        self.attention = Attention.__new__(Attention)  # without its threads
        self.attention._engine = SimpleNamespace(snapshot=snapshot.snapshot, quota=quota)
        self.attention._notices = notices.Notices(engine, "http://localhost")
        self.attention._seen_at, self.attention._alerts, self.attention._held_at = {}, {}, {}
        self.attention._next_alerts_at = self.attention._began_at = 0.0

    def look(self, now):
        self.attention._notify({}, now)


@pytest.fixture
def calls(monkeypatch):
    """The events that went to the webhook."""
    found = []
    monkeypatch.setattr(notices, "_call_later", lambda call: found.append(json.loads(call.body)["event"]))
    return found


@pytest.fixture
def servers(home, calls):
    """Two servers of one user."""
    with closing(Engine()) as engine, closing(Engine()) as other:
        engine.configuration.settings.save(engine.configuration.settings.find("serve_webhook")[1], HOOK)
        yield Server(engine), Server(other)


def test_an_alert_is_told_once_by_two_servers_and_taken_back_once_it_stays_away(servers, calls):
    one, other = servers
    one.alerts = other.alerts = [WINDOW, NOTE]
    for now in (0.0, 31.0, 62.0, 200.0):
        one.look(now)
        other.look(now)
    assert ["alert_raised"] == calls

    one.alerts = []  # this one reads its forecast again later than the other
    one.look(231.0)
    other.look(231.0)
    one.look(262.0)
    other.look(262.0)
    assert ["alert_raised"] == calls

    other.alerts = []
    for now in (293.0, 400.0, 500.0):
        one.look(now)
        other.look(now)
    assert ["alert_raised", "alert_over"] == calls

    one.alerts = [WINDOW]
    one.look(600.0)
    one.look(602.0)
    assert ["alert_raised", "alert_over", "alert_raised"] == calls


def test_a_server_that_has_just_begun_takes_nothing_back(servers, calls):
    one, other = servers
    one.alerts = [WINDOW]
    one.look(0.0)
    one.look(2.0)
    other.look(3.0)

    assert ["alert_raised"] == calls


def test_an_alert_has_the_same_keys_for_every_program():
    told = json.loads(texts.tell(HOOK, WINDOW, "a line", "https://a/").body)

    assert {"event", "alert_id", "kind", "severity", "subject", "message", "fix", "url"} == {*told}
    assert ("window", "ada", WINDOW.text) == (told["kind"], told["subject"], told["message"])
    ntfy = texts.tell("https://ntfy.sh/topic", WINDOW, "a line", "https://a/")
    assert ([], "https://a/") == tuple(json.loads(ntfy.body)[key] for key in ("actions", "click"))
    assert {"event": "alert_over", "alert_id": told["alert_id"]} == json.loads(
        texts.withdraw(HOOK, told["alert_id"]).body
    )
