"""A decision as JSON and in words."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.balance.balance import Candidate, choose, decision_to_json, why_not
from oulipoly_engine.core.balance.explain import explain_choice
from oulipoly_engine.core.quota.windows import QuotaState, Window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def account(index, name, *windows, marked=False, **more):
    quota = QuotaState(name, windows, refreshed_at=NOW, exhausted_at=NOW if marked else None)
    return Candidate(index, name, quota, **more)


def window(used, hours, position=0, learned=(0.01, 20), label=None):
    return Window(position, used, NOW + timedelta(hours=hours), *(learned or (None, None)), label)


def reasons(*candidates, **more):
    decision = choose("opus", candidates, NOW, **more)
    return [why_not(decision, verdict) for verdict in decision.verdicts]


def test_document_holds_the_whole_answer():
    busy = account(0, "a", window(0.5, 10, label="weekly"), invocation_count=2, turns_since_refresh=40)

    assert decision_to_json(choose("opus", [busy], NOW)) == {
        "model": "opus",
        "now": "2026-11-20T12:00:00.000000Z",
        "rule": "fewest-calls",
        "method": "density",
        "index": 0,
        "account": "a",
        "reason": "a is the only account to rank by headroom, 4.8 h",
        "error": None,
        "sticky_to": None,
        "band_floor": None,
        "readmitted": [],
        "expected": {"turns": 15.0, "spread": 0.9, "runs": 0},
        "candidates": [
            {
                "index": 0,
                "account": "a",
                "chosen": True,
                "eligible": True,
                "exclusion": None,
                "why_not": None,
                "score": pytest.approx(4.8),
                "waste": None,
                "binding_window": 0,
                "in_band": False,
                "hides_window": False,
                "worst_projected_used": pytest.approx(0.52),
                "soonest_reset_hours": 10.0,
                "live_windows": 1,
                "invocation_count": 2,
                "recent_errors": 0,
                "running": 0,
                "promised_turns": 0.0,
                "has_alert": False,
                "turns_since_refresh": 40,
                "reserve": 0.0,
                "drained": False,
                "disabled": False,
                "readmit": False,
                "windows": [
                    {
                        "position": 0,
                        "label": "weekly",
                        "used": 0.5,
                        "resets_at": "2026-11-20T22:00:00.000000Z",
                        "hours_to_reset": 10.0,
                        "live": True,
                        "rate": pytest.approx(0.0005),
                        "rate_source": "own",
                        "projected_used": pytest.approx(0.52),
                        "score": pytest.approx(4.8),
                    }
                ],
            }
        ],
    }


def test_unknown_is_null_and_never_zero():
    document = decision_to_json(choose("opus", [account(0, "a", window(0.5, 10, learned=None))], NOW))
    candidate = document["candidates"][0]

    assert [None] * 3 == [candidate[key] for key in ("score", "binding_window", "worst_projected_used")]
    assert [None] * 3 == [candidate["windows"][0][key] for key in ("rate", "projected_used", "score")]


def test_no_number_outside_json_leaks():
    odd = [account(0, "a", window(math.nan, 10)), account(1, "b", window(-math.inf, 10))]
    text = json.dumps(decision_to_json(choose("opus", odd, NOW)), allow_nan=False)

    assert "NaN" not in text


def test_exhausted_pool_is_told_with_every_exclusion():
    document = decision_to_json(choose("opus", [account(0, "a", window(1.0, 5)), account(1, "b", disabled=True)], NOW))

    assert document["error"] == "all providers in pool opus are quota-exhausted: a, b (b is disabled)"
    assert ["window-spent", "disabled"] == [candidate["exclusion"] for candidate in document["candidates"]]


def test_excluded_accounts_say_what_keeps_them_out():
    assert [
        None,
        "is disabled",
        "is drained: it takes no new work",
        "is marked exhausted until a refresh clears it",
        "has exhausted its weekly window until 2026-11-20T17:00Z",
        "ran out of quota earlier in this invocation",
    ] == reasons(
        account(0, "a"),
        account(1, "b", disabled=True),
        account(2, "c", drained=True),
        account(3, "d", marked=True),
        account(4, "e", window(1.0, 5, label="weekly")),
        account(5, "f"),
        attempted={"f"},
    )


def test_unchosen_accounts_say_what_they_lack_in_density():
    assert [
        None,
        "its headroom, 1.0 h, is below half of the most",
        "has at least as many calls as a, 3",
        "failed 4 times in the last 30 minutes",
        "its headroom is unknown: no live window",
        "its headroom is unknown: no rate learned yet",
        "is almost exhausted and hides a window that others show, so its headroom counts as 0",
    ] == reasons(
        account(0, "a", window(0.0, 10), window(0.0, 10, 1)),
        account(1, "b", window(0.0, 1), window(0.0, 10, 1)),
        account(2, "c", window(0.0, 9), window(0.0, 10, 1), invocation_count=3),
        account(3, "d", window(0.0, 10), recent_errors=4),
        account(4, "e", window(0.0, -1)),
        account(5, "f", window(0.0, 10), window(0.0, 900, 7, learned=None)),
        account(6, "g", window(0.9, 90)),
    )


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("a is the only account to rank by headroom",) * 2,
        ("every eligible account failed lately, so a is next", "a: every eligible account failed lately, so a is next"),
    ],
    ids=["begins with the name", "does not"],
)
def test_who_was_chosen_is_named_once_at_the_beginning(reason, text):
    assert text == explain_choice("a", reason)
