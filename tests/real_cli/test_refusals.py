"""A refused call is named for what it is, whatever the CLI prints; only a spent plan parks an account."""

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(120)]

BOTH = pytest.mark.parametrize("cli", ["claude", "codex"])
EVERY_OUTPUT = pytest.mark.parametrize("style", ["text", "json", "capture"])
CATEGORIES = {
    "login": "auth_expired",
    "burst": "rate_limit",
    "spent": "quota_exhausted",
    "credit": "quota_exhausted",
    "server": "network_error",
}
PASSING = [name for name, category in CATEGORIES.items() if category != "quota_exhausted"]


@BOTH
@EVERY_OUTPUT
@pytest.mark.parametrize("refusal", CATEGORIES)
def test_refusal_is_named(world, api, plan, cli, style, refusal):
    world.configure(api.url, **{cli: style})
    api.plans[f"{cli}-one"] = plan(refusal=refusal)

    ran = world.run("-m", f"{cli}-one", "hello")

    assert ran.exit_code == 1
    assert CATEGORIES[refusal] == world.trace(ran)["invocation"]["error_category"]
    assert f"[diagnostics: {CATEGORIES[refusal]}]" in ran.stderr


@BOTH
@pytest.mark.parametrize("refusal", PASSING)
def test_account_with_a_passing_trouble_is_asked_again(world, api, plan, cli, refusal):
    api.plans[f"{cli}-one"] = plan(refusal=refusal)
    failed = world.run("-m", cli, "hello")
    api.plans.clear()

    ran = world.run("-m", f"{cli}-one", "hello")

    assert [f"{cli}-one"] == failed.started
    assert f"{cli}-one heard: hello\n" == ran.answer


@BOTH
@EVERY_OUTPUT
def test_next_account_answers_when_a_plan_is_spent(world, api, plan, cli, style):
    world.configure(api.url, **{cli: style})
    api.plans[f"{cli}-one"] = plan(refusal="spent")

    ran = world.run("-m", cli, "hello")

    assert ran.exit_code == 0
    assert [f"{cli}-one", f"{cli}-two"] == ran.started
    assert f"{cli}-two heard: hello" in ran.answer
    assert f"{cli}-one" not in ran.answer


@BOTH
def test_spent_account_is_left_alone_afterwards(world, api, plan, cli):
    api.plans[f"{cli}-one"] = plan(refusal="spent")
    world.run("-m", cli, "hello")
    api.plans.clear()

    later = [world.run("-m", cli, "hello").started for _ in range(2)]

    assert [[f"{cli}-two"]] * 2 == later


@BOTH
@EVERY_OUTPUT
def test_next_account_answers_when_the_refusal_takes_its_time(world, api, plan, cli, style):
    world.configure(api.url, **{cli: style})
    api.plans[f"{cli}-one"] = plan(refusal="spent", delay_s=0.8)

    ran = world.run("-m", cli, "hello")

    assert ran.exit_code == 0
    assert f"{cli}-two heard: hello" in ran.answer


@BOTH
def test_pool_of_spent_accounts_fails_once_and_then_starts_nothing(world, api, plan, cli):
    api.plans = {f"{cli}-{number}": plan(refusal="spent") for number in ("one", "two")}

    first = world.run("-m", cli, "hello")
    asked = len(api.calls)
    second = world.run("-m", cli, "hello")

    assert (1, 1) == (first.exit_code, second.exit_code)
    assert ("pool_exhausted", [f"{cli}-one", f"{cli}-two"]) == _stage(first)
    assert ("provider_selection", []) == _stage(second)
    assert asked == len(api.calls)
    assert 1 == first.stdout.count("OULIPOLY_")


@BOTH
def test_failed_run_leaves_stdout_to_our_line(world, api, plan, cli):
    api.plans[f"{cli}-one"] = plan(refusal="login")

    ran = world.run("-m", cli, "hello")

    assert "" == ran.answer
    assert "401" in ran.stderr


def test_claude_without_a_login_is_told_apart(world, api):
    world.accounts["claude-one"].log_out()

    ran = world.run("-m", "claude-one", "hello")

    assert "auth_expired" == ran.result["error_category"]
    assert "Not logged in" in ran.stderr
    assert api.asked() == []


@pytest.mark.parametrize("refusal", CATEGORIES)
def test_refusal_of_a_claude_key_is_named(world, api, plan, refusal):
    world.accounts["claude-one"].use_key()
    api.plans["claude-one"] = plan(refusal="burst" if refusal == "spent" else refusal)

    ran = world.run("-m", "claude-one", "hello")

    expected = "rate_limit" if refusal == "spent" else CATEGORIES[refusal]
    assert expected == world.trace(ran)["invocation"]["error_category"]


def test_codex_whose_login_cannot_be_renewed_is_told_apart(world, api, plan):
    api.refreshes = False
    api.plans["codex-one"] = plan(refusal="login")

    ran = world.run("-m", "codex-one", "hello")

    assert "auth_expired" == ran.result["error_category"]
    assert "could not be refreshed" in ran.stderr


def _stage(ran):
    return ran.failure["stage"], ran.failure["detail"]["attempted_providers"]
