"""Permission profiles: which policy of a CLI they stand for, and what is refused to broaden them."""

from pathlib import Path

import pytest

from oulipoly_engine.core.live.permissions import (
    OF_NEW_SESSIONS,
    PROFILES,
    Policy,
    choose_policy,
    describe_policy,
)
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.facade.live.sessions import NewSession

_RANKS = {
    "codex": {"never": 0, "on-request": 1, "unless-trusted": 1, "on-failure": 1, "untrusted": 2, "always": 2, "ask": 2},
    "claude": {"bypassPermissions": 0, "acceptEdits": 1, "default": 2, "ask": 2},
}


@pytest.mark.parametrize(
    ("kind", "profile", "policy", "quality"),
    [
        ("codex", "full_access", "never", "exact"),
        ("codex", "auto_accept_edits", "on-request", "stricter_fallback"),
        ("codex", "supervised", "untrusted", "exact"),  # the contract's `on-request` lets codex write unasked
        ("claude", "full_access", "bypassPermissions", "exact"),
        ("claude", "auto_accept_edits", "acceptEdits", "exact"),
        ("claude", "supervised", "default", "exact"),
    ],
)
def test_a_profile_stands_for_a_policy_of_each_cli(kind, profile, policy, quality):
    chosen = choose_policy(kind, profile)

    assert (profile, policy, quality, "") == (chosen.profile, chosen.policy, chosen.quality, chosen.note)


def test_codex_works_in_a_sandbox_unless_all_is_allowed():
    sandboxes = [choose_policy("codex", profile).sandbox for profile in PROFILES]

    assert ["workspace-write", "workspace-write", "danger-full-access"] == sandboxes


def test_new_sessions_ask_where_nobody_has_named_a_profile():
    """So it was decided here: whoever begins one is there to answer; the contract's own word is vector 35."""
    assert "supervised" == OF_NEW_SESSIONS == Opening("/w", "id").profile == NewSession(Path("/w")).profile


def test_options_that_name_no_profile_ask_for_nothing():  # vector 35
    assert Policy("full_access", "never", "exact", sandbox="danger-full-access") == choose_policy("codex", None)


def test_a_broader_policy_of_earlier_is_left_out_with_a_note():  # vector 36
    policy = choose_policy("codex", "supervised", "never")

    assert "untrusted" == policy.policy
    assert "broaden" in policy.note


def test_supervision_of_codex_is_not_loosened_to_what_never_asks_for_a_write():
    assert "untrusted" == choose_policy("codex", "supervised", "on-request").policy


@pytest.mark.parametrize(
    ("profile", "told", "shown"),
    [
        ("supervised", "untrusted, workspace-write", "supervised (untrusted, workspace-write)"),
        ("full_access", "", "full access"),
        ("supervised", "supervised", "supervised"),
        ("", "default", "default"),
    ],
)
def test_what_is_in_force_is_told_with_the_clis_own_word(profile, told, shown):
    assert shown == describe_policy(profile, told)


def test_a_stricter_policy_of_earlier_is_kept():  # vector 37
    assert Policy("auto_accept_edits", "default", "legacy_narrowed") == choose_policy(
        "claude", "auto_accept_edits", "default"
    )


@pytest.mark.parametrize(
    ("profile", "kept"), [("full_access", True), ("auto_accept_edits", False), ("supervised", False)]
)
def test_a_policy_that_nobody_knows_is_kept_only_where_nothing_is_forbidden(profile, kept):
    policy = choose_policy("claude", profile, "plan")

    assert kept == (policy.policy == "plan")
    assert "not known" in policy.note


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("kind", "legacy"), [(kind, word) for kind, words in _RANKS.items() for word in words])
def test_no_policy_of_earlier_makes_a_profile_broader(kind, profile, legacy):
    ranks = _RANKS[kind]

    policy = choose_policy(kind, profile, legacy)

    assert ranks[policy.policy] >= ranks[choose_policy(kind, profile).policy]


@pytest.mark.parametrize("kind", ["acp", "plain"])
def test_an_agent_without_policies_says_who_decides(kind):
    assert "own settings" in choose_policy(kind, "supervised").note
