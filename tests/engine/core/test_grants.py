"""What a person has allowed: one form for every kind, with ids that stay."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession, SessionOptions
from oulipoly_engine.core.web import grants
from oulipoly_engine.core.web.devices import Device

AT, LATER = datetime(2026, 11, 28, 10, tzinfo=UTC), datetime(2026, 11, 28, 11, tzinfo=UTC)


def session(**options):
    opening = SessionOptions(**options)
    return grants.grant_of_profile(LiveSession("s1", "/w", "r", "codex", "m", AT, AT, opening=opening))


def approval(reach):
    prompt = Prompt("make", reach=reach)
    request = LiveRequest("cli_req_1", "s1", "t", "n", "command_approval", "answered", prompt, AT, resolved_at=LATER)
    return grants.grant_of_approval(request)


@pytest.mark.parametrize(
    ("grant", "identity", "kind", "subject", "right", "digest", "at"),
    [
        (
            grants.grant_of_device(Device("d1", "device", "phone", ("view", "answer"), AT)),
            *("d1", "device", "phone", "view, answer", None, AT),
        ),
        (grants.grant_of_device(Device("d2", "link", "Ann", ("view",), AT)), "d2", "link", "Ann", "view", None, AT),
        (
            grants.grant_by_digest("/w/repo/.git", "ab12", AT),
            *("78637eb807ed", "commands", "/w/repo", "run the commands of its .agent-runner.toml", "ab12", AT),
        ),
        (approval("every make"), "cli_req_1", "approval", "s1", "every make", None, LATER),
        (session(profile="full_access"), "s1", "profile", "s1", "full access", None, AT),
        (session(never_asks=True), "s1", "profile", "s1", "supervised, and asks nothing", None, AT),
    ],
    ids=["device", "link", "commands", "approval", "profile", "asks-nothing"],
)
def test_every_kind_has_one_form(grant, identity, kind, subject, right, digest, at):
    assert (identity, kind, subject, right, digest, at) == (
        *(grant.grant_id, grant.kind, grant.subject, grant.right, grant.digest, grant.allowed_at),
    )


def test_commands_have_an_id_by_repository_and_digest():
    known = {grants.grant_by_digest(*words, AT).grant_id for words in (("/a", "b"), ("/ab", ""), ("/\udcff", "b"))}

    assert 3 == len(known)


def test_the_document_says_what_revoking_does():
    document = grants.grant_document(session(profile="full_access"))

    assert {"id", "kind", "subject", "right", "digest", "allowed_at", "revoked_at", "revoking"} == document.keys()
    assert (None, grants.REVOKING["profile"]) == (document["revoked_at"], document["revoking"])
