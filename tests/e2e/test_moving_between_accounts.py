"""Sessions of the demo's CLIs go on on other accounts, by wish and by need."""

import json
import os

import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options


@pytest.fixture
def demo(tmp_path):
    demo = world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))
    settings = demo.config / "config.toml"
    settings.write_text(settings.read_text().replace('tie_rule = "least-waste"\n', ""))  # accounts by their order
    return demo


@pytest.fixture
def run(demo, agents):
    env = world.environment_for(demo, os.environ)

    def run(*arguments):
        return agents(*arguments, env=env, cwd=demo.project)

    return run


@pytest.fixture
def session(run, markers):
    """A session with one entry, on demo-claude1."""
    identity = markers("OULIPOLY_RESULT", run("-m", "demo-opus", "the word is turtle").stdout)[0]["id"]
    return traced(run, identity)["session"]["id"]


def traced(run, identity):
    return json.loads(run("trace", identity, "--json").stdout)["root"]


def test_moved_session_remembers_on_the_other_account(run, session):
    moved = json.loads(run("session", "move", session, "demo-claude3").stdout)
    located = json.loads(run("session", "locate", session).stdout)

    ran = run("--resume", session[:8], "what did I say so far?")

    assert ("demo-claude1", "demo-claude3") == (moved["from_provider"], moved["provider_name"])
    assert moved["jsonl_path"] == located["jsonl_path"]
    assert b"[resume] -> demo-claude3" in ran.stderr
    assert b"1. the word is turtle" in ran.stdout


def test_dry_run_says_how_and_changes_nothing(run, session, demo):
    planned = json.loads(run("session", "move", session, "demo-claude2", "--dry-run").stdout)

    assert (True, 1) == (planned["dry_run"], planned["first_line"])
    assert [] == list(demo.account_home("demo-claude2").rglob("*.jsonl"))
    assert "demo-claude1" == json.loads(run("session", "locate", session).stdout)["provider_name"]


@pytest.mark.parametrize(
    ("target", "slug"), [("demo-codex1", "move-refused"), ("nobody", "move-refused"), ("demo-claude1", "move-refused")]
)
def test_refusal_is_one_line_of_json(run, session, target, slug):
    done = run("session", "move", session, target)

    assert (12, b"") == (done.returncode, done.stdout)
    assert slug == json.loads(done.stderr)["error"]["code"]


def test_spent_account_hands_the_session_to_the_next_with_each_attempt_recorded(run, session, markers):
    ran = run("--resume", session, "x [[quota@demo-claude1]] [[quota@demo-claude2]]")

    sources = [one["source"] for one in markers("OULIPOLY_INVOCATION", ran.stderr)]
    root = traced(run, markers("OULIPOLY_RESULT", ran.stdout)[0]["id"])
    assert 0 == ran.returncode
    assert ["demo-claude1", "demo-claude2", "demo-claude3"] == sources
    assert b"[migrate] demo-claude2 -> demo-claude3 reason=exhausted" in ran.stderr
    assert (3, "moved from demo-claude2: exhausted") == (root["invocation"]["attempt"], root["decision"]["reason"])
    assert 1 == len(markers("OULIPOLY_RESULT", ran.stdout))


def test_session_that_was_moved_by_hand_is_not_moved_back_by_load(run, session, demo):
    run("session", "move", session, "demo-claude3")
    run("-m", "demo-opus", "spend a little")

    ran = run("--resume", session, "x")

    assert b"[migrate]" not in ran.stderr
    assert b"[resume] -> demo-claude3" in ran.stderr


def test_wish_for_another_account_moves_first(run, session):
    ran = run("resume", "--session-id", session, "--to", "demo-claude2", "--prompt", "1 + 1")
    foreign = run("resume", "--session-id", session, "--to", "demo-codex1", "--prompt", "1 + 1")

    assert b"[migrate] demo-claude1 -> demo-claude2 reason=manual" in ran.stderr
    assert b"1 + 1 = 2\n" in ran.stdout
    assert (1, b"") == (foreign.returncode, foreign.stdout)
    assert b"not in the pool of model 'demo-opus'" in foreign.stderr


def test_two_moves_at_once_end_in_one_place(run, session, demo, commands):
    env = world.environment_for(demo, os.environ)
    moving = [
        commands.start(["session", "move", session, f"demo-claude{number}"], env, demo.project)
        for number in (2, 3, 2, 3)
    ]
    codes = [process.wait() for process in moving]

    owner = json.loads(run("session", "locate", session).stdout)["provider_name"]
    assert 0 in codes
    assert owner in ("demo-claude2", "demo-claude3")
    assert set(codes) <= {0, 12, 13}
    assert b"turtle" in run("--resume", session, "what did I say so far?").stdout


def test_codex_session_stays_and_its_failure_is_told(run, markers):
    first = run("-m", "demo-codex", "remember the sea")
    session = traced(run, markers("OULIPOLY_RESULT", first.stdout)[0]["id"])["session"]["id"]

    ran = run("--resume", session, "x [[quota]]")

    result = markers("OULIPOLY_RESULT", ran.stdout)[0]
    assert (1, "quota_exhausted", session) == (ran.returncode, result["error_category"], result["provider_session_id"])
    assert 1 == len(markers("OULIPOLY_INVOCATION", ran.stderr))
