"""Driver of the decision whether a resumed session moves to another account."""

from datetime import UTC, datetime, timedelta

from oulipoly_engine.core.balance.decision import Candidate
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.core.sessions.move import decide_move

NOW = datetime(2026, 4, 17, 12, tzinfo=UTC)


def candidate_of(index, given):
    windows = tuple(
        Window(
            position=position,
            used=window["used"],
            resets_at=NOW + timedelta(hours=window["hours_to_reset"]),
            last_delta=window.get("last_delta_percent"),
            last_delta_turns=window.get("last_delta_calls"),
        )
        for position, window in enumerate(given.get("windows", []))
    )
    return Candidate(
        index=index,
        account=given["name"],
        quota=QuotaState(
            given["name"],
            windows,
            refreshed_at=NOW - timedelta(hours=given.get("refreshed_hours_ago", 0)),
            exhausted_at=NOW if given.get("exhausted") else None,
        ),
        turns_since_refresh=given.get("turns_since_refresh", 0),
    )


def drive_decide_migration(vector, tmp_path):
    given = vector["input"]
    providers = given["providers"]
    candidates = [candidate_of(index, provider) for index, provider in enumerate(providers)]
    movable = {provider["name"] for provider in providers if provider.get("storage") == "claude_code"}
    active_index = given.get("active_index")
    active = given.get("active", "stranger") if active_index is None else providers[active_index]["name"]
    move = decide_move(candidates, active, movable, NOW, given.get("manual_target"))

    found = "stay" if move is None else {"migrate": move.index, "reason": move.reason.value}
    assert vector["expected"] == found


DRIVERS = {"resume.decide_migration": drive_decide_migration}
