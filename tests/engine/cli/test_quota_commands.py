"""--usage, why and account: what a user is told of the windows and of the choice."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest


def reading(*percents, labels=("weekly", "5h")):
    soon = datetime.now(UTC).replace(microsecond=0)
    windows = [
        {"used_percent": percent, "resets_at": (soon + timedelta(hours=10 * (3 - place))).isoformat(), "label": label}
        for place, (percent, label) in enumerate(zip(percents, labels, strict=False))
    ]
    return json.dumps({"windows": windows})


@pytest.fixture
def quota(world, tmp_path):
    """Return a function that sets what an account's quota script prints."""

    def say(name, text):
        (tmp_path / f"{name}.json").write_text(text)

    for name in ("a", "b"):
        world.account(name, "cat", f"quota_script = 'cat {tmp_path}/{name}.json'")
        say(name, reading(20, 10))
    world.model("m", "a", "b")
    return say


def rows(done):
    return [line.split() for line in done.stdout.decode().splitlines()]


def test_usage_shows_every_window_and_keeps_it(world, quota):
    quota("a", reading(37, 12.5))

    done = world.run("--usage")

    assert 0 == done.returncode
    assert ["Account", "Vendor", "Window", "Used", "/", "Limit", "Remaining"] == rows(done)[0]
    assert ["a", "sh", "weekly", "37%", "/", "100%", "63%"] == rows(done)[1]
    assert ["a", "sh", "5h", "12.5%", "/", "100%", "87.5%"] == rows(done)[2]
    assert [0.37] == [row["used"] for row in world.rows("SELECT used FROM quota_windows WHERE account='a' LIMIT 1")]
    assert 4 == world.rows("SELECT COUNT(*) n FROM readings")[0]["n"]
    assert [] == world.rows("SELECT * FROM invocations")


def test_usage_as_json_gives_fractions(world, quota):
    done = world.run("--usage", "--json")

    account = json.loads(done.stdout)["accounts"][0]
    assert ("a", "sh", None, 0.2) == (
        account["account"],
        account["vendor"],
        account["state"],
        account["windows"][0]["used"],
    )


def test_quota_is_shown_of_the_accounts_that_are_named(world, quota):
    done = world.run("quota", "show", "b")

    assert {"Account", "b"} == {row[0] for row in rows(done) if row}
    assert ["b"] == [row["account"] for row in world.rows("SELECT DISTINCT account FROM readings")]
    assert 1 == world.run("quota", "show", "nobody").returncode


def test_a_failing_script_is_a_row_and_keeps_the_last_good_state(world, quota, tmp_path):
    world.run("--usage")
    (tmp_path / "a.json").write_text("rubbish")

    done = world.run("--usage")

    assert 0 == done.returncode
    assert b"(error: " in done.stdout
    assert b"rubbish" in done.stdout
    assert ["b", "sh", "weekly"] == rows(done)[-2][:3]
    assert [0.2] == [row["used"] for row in world.rows("SELECT used FROM quota_windows WHERE account='a' LIMIT 1")]


def test_a_failing_script_stands_before_the_numbers_that_rollouts_give(world):
    now = datetime.now(UTC)
    sessions = world.home / ".codex" / "sessions"
    sessions.mkdir(parents=True)
    limits = {
        "primary": {"used_percent": 20, "window_minutes": 300, "resets_at": now.timestamp() + 7200},
        "secondary": {"used_percent": 42, "window_minutes": 10080, "resets_at": now.timestamp() + 86_400},
    }
    payload = {"type": "token_count", "info": None, "rate_limits": {"limit_id": "codex", **limits}}
    event = {"timestamp": now.isoformat(), "type": "event_msg", "payload": payload}
    (sessions / "rollout-a.jsonl").write_text(json.dumps(event) + "\n")
    storage = f"[a.session_storage]\nkind = 'script'\ncwd_script = 'codex-cwd {sessions}'\n"
    world.account("a", "cat", f"quota_script = 'echo no login >&2; exit 3'\n{storage}")
    world.model("m", "a")

    done, again, found = (world.run(*words) for words in (("--usage",), ("--usage",), ("--usage", "--json")))
    checked = world.run("quota-check")

    for table in (done, again):
        error, weekly, burst = table.stdout.decode().splitlines()[1:]
        assert "(error: " in error
        assert "no login" in error
        assert [["a", "sh", "weekly", "42%"], ["a", "sh", "5h-burst", "20%"]] == [weekly.split()[:4], burst.split()[:4]]
    account = json.loads(found.stdout)["accounts"][0]
    assert (True, [0.42, 0.2]) == ("no login" in account["state"], [one["used"] for one in account["windows"]])
    assert re.search(rb"^a: FAILED: .*no login.* windows=\[42%@", checked.stdout, re.MULTILINE)


def test_usage_names_a_missing_account_and_goes_on(world, quota):
    world.model("other", "ghost")

    done = world.run("--usage")

    assert 0 == done.returncode
    assert b"model other names the account ghost" in done.stderr


@pytest.mark.parametrize("extra", [("-m", "m"), ("hello",), ("trace", "x"), ("-f", "p")])
def test_usage_stands_alone(world, quota, extra):
    done = world.run("--usage", *extra)

    assert (2, b"") == (done.returncode, done.stdout)


def test_a_run_reads_stale_quota_first_and_avoids_the_spent_account(world, quota, markers):
    quota("a", reading(100, 10))

    done = world.run("-m", "m", "x")

    assert ["b"] == [line["source"] for line in markers("OULIPOLY_INVOCATION", done.stderr)]
    run = markers("OULIPOLY_RESULT", done.stdout)[0]["id"]
    whole, beginning = (json.loads(world.run("why", text, "--json").stdout) for text in (run, run[:13]))
    assert "window-spent" == whole["candidates"][0]["exclusion"]
    assert whole == beginning


def test_a_run_goes_on_when_its_quota_scripts_fail(world, quota):
    quota("a", "")

    done = world.run("-m", "m", "x")

    assert 0 == done.returncode
    assert b"[quota] a: the quota script" in done.stderr


def test_why_explains_and_marks_nothing(world, quota):
    world.run("--usage")
    before = world.rows("SELECT * FROM account_quotas")

    done = world.run("why", "m")

    assert b"m: a (" in done.stdout
    assert b">>  a" in done.stdout
    assert b"weekly" in done.stdout
    assert before == world.rows("SELECT * FROM account_quotas")


def test_what_if_of_a_choice_that_was_taken_is_refused(world, quota):
    done = world.run("why", "00000000-0000-4000-8000-000000000000", "--what-if", "turns=+1")

    assert 2 == done.returncode
    assert b"name the model" in done.stderr


def test_why_says_what_a_run_would_read_first(world, quota):
    assert b"a run of m would first read a, b" in world.run("why", "m").stderr
    assert b"would first read" not in world.run("why", "m", "--refresh").stderr


@pytest.mark.parametrize(
    ("suppositions", "chosen"),
    [
        (("drain=a",), "b"),
        (("pin=b",), "b"),
        (("reserve=a:85%",), "b"),
        (("drain=a", "undrain=a"), "a"),
    ],
)
def test_a_what_if_changes_the_answer_and_nothing_else(world, quota, suppositions, chosen):
    world.run("--usage")

    supposed = json.loads(world.run("why", "m", "--json", "--what-if", *suppositions).stdout)

    assert chosen == supposed["account"]
    assert "a" == json.loads(world.run("why", "m", "--json").stdout)["account"]
    assert [] == world.rows("SELECT * FROM account_controls")


@pytest.mark.parametrize("text", ["drain", "drain=ghost", "reserve=a:x", "turns=a", "turns=-5", "fly=a"])
def test_a_what_if_that_makes_no_sense_is_named(world, quota, text):
    done = world.run("why", "m", "--what-if", text)

    assert (2, b"") == (done.returncode, done.stdout)
    assert b"Error: " in done.stderr


def test_a_drained_account_gets_no_work_until_it_is_undrained(world, quota, markers):
    assert b"a: drained\n" == world.run("account", "drain", "a").stdout

    sources = [markers("OULIPOLY_INVOCATION", world.run("-m", "m", "x").stderr)[0]["source"] for _ in range(2)]

    assert ["b", "b"] == sources
    assert b"a: in use\n" == world.run("account", "undrain", "a").stdout


def test_a_reserve_keeps_an_account_out_from_there_on(world, quota, markers):
    world.run("account", "reserve", "a", "85%")

    done = world.run("-m", "m", "x")

    assert "b" == markers("OULIPOLY_INVOCATION", done.stderr)[0]["source"]
    assert [0.85] == [row["reserve"] for row in world.rows("SELECT reserve FROM account_controls")]


def test_a_percent_sign_may_stand_by_itself(world, quota):
    assert b"a: reserve 20 %\n" == world.run("account", "reserve", "a", "20", "%").stdout


def test_an_error_does_not_push_the_other_columns_away(world, quota, tmp_path):
    (tmp_path / "a.json").write_text("rubbish " * 100)

    lines = world.run("--usage").stdout.decode().splitlines()

    assert len(lines[0]) < 80
    assert len(lines[-1]) < 80


def test_a_disabled_account_is_not_even_read(world, quota):
    world.run("account", "disable", "a")

    done = world.run("--usage")

    assert b"(disabled)" in done.stdout
    assert [] == world.rows("SELECT * FROM readings WHERE account = 'a'")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("drain", "ghost"), 1), (("reserve", "a", "120"), 2), (("reserve", "a", "x"), 2), (("fly", "a"), 2)],
)
def test_a_wrong_account_command_is_refused(world, quota, arguments, code):
    done = world.run("account", *arguments)

    assert (code, b"") == (done.returncode, done.stdout)
    assert b"Error: " in done.stderr


def test_an_account_that_is_off_raises_no_alert(world, quota):
    quota("a", reading(95, 10))
    assert b"! a " in world.run("quota", "check").stdout
    world.run("account", "disable", "a")

    assert b"! a " not in world.run("quota", "check", "--cached").stdout
    assert b"" == world.run("quota", "check", "--notify").stdout


def test_why_says_local_times_and_utc_in_json(world, quota):
    quota("a", reading(100, 3))
    tokyo = {"TZ": "Asia/Tokyo"}

    world.run("quota", "check")
    said = world.run("why", "m", env=tokyo).stdout.decode()
    document = world.run("why", "m", "--json", env=tokyo).stdout.decode()

    at = datetime.fromisoformat(re.search(r"until ([0-9T:-]+Z)", document)[1]).astimezone(ZoneInfo("Asia/Tokyo"))
    assert f"until {at:%a %H:%M}" in said


def test_an_exhausted_mark_can_be_cleared_by_hand(world, markers):
    world.account("a", "echo 'usage limit' >&2; exit 1")
    world.model("m", "a")
    world.run("-m", "m", "x")
    assert b"exhausted since" in world.run("account", "list").stdout

    assert b"a: in use\n" == world.run("account", "clear", "a").stdout


def test_account_list_says_what_each_account_is(world):
    world.account("sh", "cat")
    login = {"claudeAiOauth": {"accessToken": "x" * 40, "subscriptionType": "max"}}
    (world.home / ".claude").mkdir()
    (world.home / ".claude" / ".credentials.json").write_text(json.dumps(login))
    with (world.config / "providers.toml").open("a") as file:
        file.write("[work]\ncommand = 'claude'\n")
    world.model("opus", "work", "sh")

    rows = [line.split() for line in world.run("account", "list").stdout.decode().splitlines()]
    sh, work = json.loads(world.run("account", "list", "--json").stdout)["accounts"]

    assert ["work", "claude", "logged", "in", "max", "opus", "-", "in", "use"] == rows[-1]
    assert (None, ["opus"], []) == (sh["cli"], sh["pools"], sh["windows"])
    assert ("claude", "max") == (work["cli"], work["plan"])


def test_quota_check_reads_every_account_and_marks_the_next_pick(world, quota):
    done = world.run("quota-check")

    text = done.stdout.decode()
    assert 0 == done.returncode
    assert "a: UPDATED windows=[20%@" in text
    assert "m: a (round robin (quota unknown), fewest-calls)" in text
    assert ">>  a" in text


def test_quota_check_of_what_is_stored_reads_nothing(world, quota):
    done = world.run("quota-check", "--cached", "--json")

    accounts = json.loads(done.stdout)["accounts"]
    assert [None, None] == [account["outcome"] for account in accounts]
    assert [] == world.rows("SELECT * FROM readings")


def test_an_alert_is_raised_once_in_a_windows_cycle(world, quota):
    quota("a", reading(95, 10))

    first = world.run("quota-check", "--notify")
    second = world.run("quota-check", "--notify")

    alert = json.loads(first.stdout)
    assert ("threshold", "a", "weekly", 0.95) == (alert["kind"], alert["account"], alert["window"], alert["used"])
    assert b"" == second.stdout


def test_alert_that_could_not_be_written_is_raised_again(world, quota):
    quota("a", reading(95, 10))
    with Path("/dev/full").open("wb") as full:
        lost = subprocess.run(
            [sys.executable, "-m", "oulipoly_tui", "quota-check", "--notify"], stdout=full, check=False
        )

    again = world.run("quota-check", "--notify")

    assert 1 == lost.returncode
    assert "a" == json.loads(again.stdout)["account"]


def test_an_account_with_an_alert_is_not_next_although_nobody_was_told(world, quota):
    def window(label, percent, hours):
        resets_at = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
        return {"label": label, "used_percent": percent, "resets_at": resets_at}

    quota("a", json.dumps({"windows": [window("5h", 93, 0.3), window("weekly", 10, 60)]}))
    quota("b", json.dumps({"windows": [window("5h", 85, 3.5), window("weekly", 88, 60)]}))
    assert 0 == world.run("config", "set", "tie_rule", "most-headroom").returncode
    assert 0 == world.run("-m", "m", "hello").returncode  # a decision needs what a turn costs
    assert 0 == world.run("quota-check").returncode
    decision = json.loads(world.run("why", "m", "--json").stdout)

    assert {"a": True, "b": False} == {one["account"]: one["has_alert"] for one in decision["candidates"]}
    assert "b" == decision["account"]


def test_higher_threshold_has_alerts_of_its_own(world, quota):
    quota("a", reading(60, 10))
    first = world.run("quota-check", "a", "--notify", "--threshold", "50")
    quota("a", reading(97, 10))

    second = world.run("quota-check", "a", "--notify", "--threshold", "95")
    third = world.run("quota-check", "a", "--notify", "--threshold", "95")

    assert [0.6, 0.97] == [json.loads(done.stdout)["used"] for done in (first, second)]
    assert b"" == third.stdout


def test_next_picks_leave_out_who_is_not_configured(world, quota):
    world.model("mixed", "ghost", "a")
    done = world.run("quota-check", "--cached", "--json")

    (picked,) = [one["account"] for one in json.loads(done.stdout)["models"] if one["model"] == "mixed"]

    assert "a" == picked


def test_alerts_start_at_the_threshold_that_is_asked_for(world, quota):
    assert b"" == world.run("quota-check", "--notify").stdout
    assert 2 == len(world.run("quota-check", "--notify", "--threshold", "15").stdout.splitlines())


def test_a_forecast_without_a_history_says_so_and_never_zero(world, quota):
    world.run("--usage")

    found = json.loads(world.run("forecast", "--json").stdout)

    for window in found["windows"]:
        assert "not-enough-data" == window["forecast"]["state"]
        assert None is window["forecast"]["pace_per_hour"] is window["score"]
    assert [True] == list({pool["known_accounts"] > 0 and pool["enough_until"] is None for pool in found["pools"]})
    assert [] == json.loads(world.run("forecast", "a", "--json").stdout)["pools"]


def test_an_account_never_read_is_shown_as_unknown(world, quota):
    assert ["a", "-", "unknown", "-", "never", "read", "-", "-"] == rows(world.run("forecast", "a"))[1]


def test_a_forecast_follows_the_stored_history(world, quota):
    world.run("--usage")
    world.change("DELETE FROM readings")
    now = datetime.now(UTC)
    resets = int((now + timedelta(hours=10)).timestamp() * 1000)
    for minutes in range(0, 121, 10):
        at = int((now - timedelta(minutes=minutes)).timestamp() * 1000)
        used = 0.9 - minutes * 0.005
        world.change("INSERT INTO readings VALUES ('a', '5h', ?, ?, ?, NULL, 'script', 1)", at, used, resets)

    done = world.run("forecast", "a", "--json")

    window = next(one for one in json.loads(done.stdout)["windows"] if one["window"] == "5h")
    dry = datetime.fromisoformat(window["forecast"]["dry_at"])
    assert "runs-dry" == window["forecast"]["state"]
    assert timedelta(minutes=10) < dry - now < timedelta(minutes=40)
