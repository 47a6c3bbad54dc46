"""The session id that we record is the one under which the CLI keeps its own transcript."""

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(120)]

CAPTURES = pytest.mark.parametrize(
    ("cli", "method"),
    [("claude", "forced_flag_verified"), ("codex", "stdout_json_event")],
    ids=["forced-flag-of-claude", "event-of-codex"],
)


@CAPTURES
def test_traced_id_names_the_clis_own_transcript(world, api, cli, method):
    world.configure(api.url, **{cli: "capture"})

    session = world.trace(world.run("-m", cli, "hello"))["session"]

    assert method == session["capture_method"]
    assert [session["id"]] == world.accounts[f"{cli}-one"].sessions()
    assert [] == world.accounts[f"{cli}-two"].sessions()


@CAPTURES
def test_each_invocation_has_a_session_of_its_own(world, api, cli, method):
    world.configure(api.url, **{cli: "capture"})

    sessions = [world.trace(world.run("-m", f"{cli}-one", text))["session"]["id"] for text in ("first", "second")]

    assert sorted(sessions) == sorted(world.accounts[f"{cli}-one"].sessions())
    assert 2 == len(set(sessions))


@CAPTURES
def test_failed_run_names_the_session_that_can_be_continued(world, api, plan, cli, method):
    world.configure(api.url, **{cli: "capture"})
    api.plans[f"{cli}-one"] = plan(refusal="server")

    ran = world.run("-m", f"{cli}-one", "hello")

    assert ran.result["success"] is False
    assert [ran.result["provider_session_id"]] == world.accounts[f"{cli}-one"].sessions()
    assert world.trace(ran)["session"]["chain_id"] == ran.result["agent_runner_chain_id"]


def test_codex_events_give_way_to_its_last_message(world, api):
    world.configure(api.url, codex="capture")

    ran = world.run("-m", "codex", "hello")

    assert "codex-one heard: hello" == ran.answer.rstrip("\n")


def test_run_without_capture_records_no_session(world):
    session = world.trace(world.run("-m", "claude", "hello"))["session"]

    assert (None, "none", "unresolved") == (session["id"], session["capture_method"], session["transcript_state"])
