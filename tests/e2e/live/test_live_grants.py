"""What live sessions may do unasked: listed, and withdrawn with what ends it."""

import json

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.errors import GrantNotFound
from oulipoly_engine.store.live import live_sessions

MAKE = "go [[approve:make]]"


def kinds(live):
    return [(grant.kind, grant.subject) for grant in live.engine.grants.list()]


def asked(live, session):
    """Have a session ask; returns the request."""
    live.live.send(session, MAKE)
    return live.request(session)


def test_what_was_approved_for_the_session_is_asked_again_once_it_is_revoked(live, capfd):
    session = live.begin(runtime="demo-claude1")
    request = asked(live, session)
    assert 0 == main(["requests", "list", "--json"])
    assert ["live"] == [each["origin"] for each in json.loads(capfd.readouterr().out)["requests"]]
    live.live.answer(request.request_id, "approve_for_session")
    (grant,) = live.engine.grants.list()
    assert ("approval", session, request.prompt.reach) == (grant.kind, grant.subject, grant.right)
    live.live.send(session, MAKE, waits=True)  # asks no more

    revoked = live.engine.grants.revoke(request.request_id)

    assert None is not revoked.revoked_at
    assert (None, []) == (live.host_of(session), kinds(live))
    again = asked(live, session)
    assert ("make", "pending") == (again.prompt.command, again.status)
    live.live.answer(again.request_id, "approve")
    assert [] == kinds(live)


def test_a_session_that_may_act_unasked_asks_first_once_it_is_revoked(live, monkeypatch):
    session = live.begin(runtime="demo-codex1", profile="full_access")
    live.begin(runtime="demo-codex1", profile="supervised")
    assert [("profile", session)] == kinds(live)
    assert "completed" == live.live.send(session, "go [[approve:ls]]", waits=True).status

    with monkeypatch.context() as patch:
        patch.setattr(live_sessions, "change_opening", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):  # as a kill before the one step that counts
            live.engine.grants.revoke(session)
    assert [("profile", session)] == kinds(live)
    live.engine.grants.revoke(session[:8])

    assert ([], None) == (kinds(live), live.host_of(session))
    assert "supervised" == live.live.find(session).opening.profile
    live.live.send(session, "go [[approve:ls]]")
    assert "ls" in live.request(session).prompt.command
    with pytest.raises(GrantNotFound):
        live.engine.grants.revoke(session)
