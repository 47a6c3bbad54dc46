"""Permission profiles: which policy of a CLI they stand for, and what is refused to broaden them."""

import pytest

from oulipoly_engine.core.live.permissions import PROFILES, Policy, apply_profile, choose_policy

_RANKS = {
    "codex": {"never": 0, "on-request": 1, "unless-trusted": 1, "untrusted": 1, "on-failure": 1, "always": 2, "ask": 2},
    "claude": {"bypassPermissions": 0, "acceptEdits": 1, "default": 2, "ask": 2},
}


@pytest.mark.parametrize(
    ("kind", "profile", "policy", "quality"),
    [
        ("codex", "full_access", "never", "exact"),
        ("codex", "auto_accept_edits", "on-request", "stricter_fallback"),
        ("codex", "supervised", "on-request", "exact"),
        ("claude", "full_access", "bypassPermissions", "exact"),
        ("claude", "auto_accept_edits", "acceptEdits", "exact"),
        ("claude", "supervised", "default", "exact"),
    ],
)
def test_a_profile_stands_for_a_policy_of_each_cli(kind, profile, policy, quality):
    assert Policy(profile, policy, quality) == choose_policy(kind, profile)


def test_without_a_profile_nothing_is_asked_and_other_options_stay():  # vector 35
    options, policy = apply_profile("codex", {"effort": "high"}, None)

    assert ("never", "exact") == (policy.policy, policy.quality)
    assert {"effort": "high", "approval_policy": "never"} == options


def test_a_broader_policy_of_earlier_is_left_out_with_a_note():  # vector 36
    policy = choose_policy("codex", "supervised", "never")

    assert "on-request" == policy.policy
    assert "broaden" in policy.note


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
    options, policy = apply_profile(kind, {"effort": "low"}, "supervised")

    assert {"effort": "low"} == options
    assert "own settings" in policy.note
