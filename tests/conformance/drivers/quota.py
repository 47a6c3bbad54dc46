"""Drivers of the quota rules: what a script said, learning on refresh, time to live, staleness, login refresh."""

import os
import shlex
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import Account, StorageSpec
from oulipoly_engine.core.accounts.clis.adapters import quota_command
from oulipoly_engine.core.quota.burn import learn
from oulipoly_engine.core.quota.readings import parse_reading
from oulipoly_engine.core.quota.staleness import dynamic_ttl_s, is_routing_stale, is_stale
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.errors import AdapterOutputInvalid
from oulipoly_engine.service.quota.refresh import Refresher, RefreshOptions
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.testing import FakeClock

NOW = datetime(2026, 4, 17, 12, tzinfo=UTC)


def window_of(position, given):
    return Window(
        position=position,
        used=given["used"],
        resets_at=NOW + timedelta(hours=given.get("hours_to_reset", 24)),
        last_delta=given.get("last_delta_percent"),
        last_delta_turns=given.get("last_delta_calls"),
    )


def windows_of(given):
    return tuple(window_of(position, window) for position, window in enumerate(given))


def windows_resetting_in(hours):
    return tuple(Window(place, 0.2, NOW + timedelta(hours=left)) for place, left in enumerate(hours))


def quota_of(given, hours):
    """Make the stored row that a vector describes; None for no row."""
    if not given.get("row", True):
        return None
    age_s = given.get("age_s")
    refreshed_at = None if age_s is None else NOW - timedelta(seconds=age_s)
    return QuotaState("a", windows_resetting_in(hours), refreshed_at=refreshed_at)


def drive_learning(vector, tmp_path):
    given = vector["input"]
    earlier = NOW - timedelta(hours=1)
    prior = QuotaState("a", windows_of(given["prior_windows"]), refreshed_at=earlier, calls_since_refresh=7)
    after = learn(prior, windows_of(given["new_windows"]), given["assistant_turns_between"], NOW)

    found = [
        {"used": window.used, "last_delta_percent": window.last_delta, "last_delta_calls": window.last_delta_turns}
        for window in after.windows
    ]
    assert [pytest.approx(expected) for expected in vector["expected"]] == found
    assert (0, NOW) == (after.calls_since_refresh, after.refreshed_at)


def drive_ttl(vector, tmp_path):
    ttl_s = dynamic_ttl_s(windows_resetting_in(vector["input"]["hours_to_reset"]), NOW)

    assert vector["expected"] == pytest.approx(ttl_s, abs=vector.get("tolerance_seconds", 0))


def drive_is_stale(vector, tmp_path):
    given = vector["input"]

    assert vector["expected"] is is_stale(quota_of(given, given.get("hours", [])), NOW)


def drive_is_routing_stale(vector, tmp_path):
    given = vector["input"]

    assert vector["expected"] is is_routing_stale(quota_of(given, [24] * given.get("windows", 0)), NOW)


def drive_parse(vector, tmp_path):
    expected, stdout = vector["expected"], vector["input"]["stdout"].encode()
    if isinstance(expected, dict):
        with pytest.raises(AdapterOutputInvalid) as refusal:
            parse_reading(stdout, "my-usage")
        assert [] == [part for part in expected["error_mentions"] if part not in refusal.value.message]
        return
    names = {"window_id": "position"}
    found = parse_reading(stdout, "my-usage")

    assert len(expected) == len(found)
    for wanted, window in zip(expected, found, strict=True):
        given = {key: getattr(window, names.get(key, key)) for key in wanted}
        assert {**wanted, "resets_at": from_text(wanted["resets_at"])} == given


def drive_derived_source(vector, tmp_path):
    given = vector["input"]
    account = Account("a", quota_script=given["quota_script"], storage=StorageSpec(cwd_script=given["script"]))

    assert vector["expected"] == quota_command(account, None)


def shell_of(said):
    """Return a shell body for a vector's `empty`, `7%` or `exit 4 'words on stderr'`."""
    if said == "empty":
        return "echo '{\"windows\": []}'"
    if said.endswith("%"):
        window = f'{{"used_percent": {said[:-1]}, "resets_at": "2026-04-18T12:00:00Z"}}'
        return f"echo '{{\"windows\": [{window}]}}'"
    _, code, *words = shlex.split(said)
    return f"echo {shlex.quote(' '.join(words))} >&2; exit {code}"


def counted(counter, bodies):
    """Return a line that runs one body a call, and a line more in the counter each time."""
    cases = " ".join(f"{number}) {body};;" for number, body in enumerate(bodies, 1))
    return f"echo >> {counter}; case $(($(wc -l < {counter}))) in {cases} *) exit 99;; esac"


def drive_auth_refresh(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    logins = tmp_path / "logins"
    account = Account(
        "a",
        quota_script=counted(tmp_path / "calls", [shell_of(said) for said in given["script"]]),
        auth_refresh_command=f"echo >> {logins}; {shell_of(given['auth_refresh'])}",
    )
    store = open_store(tmp_path / "state.db")
    with store.write():
        prior = windows_resetting_in([24] * given["prior_windows"])
        quotas.save(store, QuotaState("a", prior, refreshed_at=NOW if prior else None))
    reader = Refresher(
        store, {"a": account}, {}, FakeClock(NOW), home=tmp_path, environ=dict(os.environ), locks=tmp_path / "locks"
    )
    (done,) = reader.refresh(("a",), RefreshOptions())
    used = [window.used for window in quotas.states(store, ("a",))["a"].windows]
    store.close()

    assert expected["outcome"] == done.kind.value
    assert expected["refresh_runs"] == (len(logins.read_text()) if logins.exists() else 0)
    assert [] == [part for part in expected.get("message_contains", ()) if part not in done.text]
    if "used" in expected:
        assert [expected["used"]] == [pytest.approx(share) for share in used]
    if "windows" in expected:
        assert (expected["windows"], []) == (list(done.windows), used)


DRIVERS = {
    "quota.auth_refresh": drive_auth_refresh,
    "quota.parse": drive_parse,
    "quota.derived_source": drive_derived_source,
    "quota.learning": drive_learning,
    "quota.ttl": drive_ttl,
    "quota.is_stale": drive_is_stale,
    "quota.is_routing_stale": drive_is_routing_stale,
}
