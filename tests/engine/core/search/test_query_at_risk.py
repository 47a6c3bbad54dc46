from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.search.query import AT_RISK, Query, parse
from oulipoly_engine.core.sessions.sessions import risk_fits

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def read(text):
    return parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("purges_in", "is_kept", "is_at_risk"),
    [
        (AT_RISK, False, True),
        (-AT_RISK, False, True),
        (AT_RISK + timedelta(seconds=1), False, False),
        (AT_RISK, True, False),
        (None, False, False),
    ],
)
def test_at_risk_is_what_is_deleted_within_a_week_and_not_kept(purges_in, is_kept, is_at_risk):
    purges_at = None if purges_in is None else NOW + purges_in

    assert is_at_risk is risk_fits(read("is:at-risk"), purges_at, is_kept=is_kept)
    assert is_at_risk is not risk_fits(read("-is:at-risk"), purges_at, is_kept=is_kept)
    assert risk_fits(read("word"), purges_at, is_kept=is_kept)


def test_who_asks_for_something_else_asks_at_no_instant():
    assert Query(pinned=True) == read("is:pinned")
    assert Query(at_risk=True, asked_at=NOW) == read("is:At-Risk")
