"""The vendors' words for what goes wrong."""

from datetime import UTC, datetime

import pytest

from oulipoly_demo.base import failures
from oulipoly_demo.quota import levels

NOW = datetime(2026, 11, 21, 5, 0, tzinfo=UTC).timestamp()
SHORT, LONG = levels.fresh("claude")


@pytest.mark.parametrize(
    ("tier", "after_s", "text"),
    [
        (SHORT, 9480, "You've hit your session limit · resets 7:38am (UTC)"),
        (SHORT, 3600 * 8, "You've hit your session limit · resets 1pm (UTC)"),
        (LONG, 86400 * 4 + 7200, "You've hit your weekly limit · resets Nov 25, 7am (UTC)"),
    ],
)
def test_claude_names_the_limit_and_its_reset(tier, after_s, text):
    failure = failures.describe("claude", "quota", tier._replace(resets_at=NOW + after_s), NOW)

    assert text == failure.text


def test_codex_names_when_to_try_again():
    failure = failures.describe("codex", "quota", SHORT._replace(resets_at=NOW + 9480), NOW)

    at = datetime.fromtimestamp(NOW + 9480).astimezone()
    assert failure.text.startswith("You\u2019ve hit your usage limit. ")
    assert f"{at.hour % 12 or 12}:{at.minute:02d} " in failure.text


def test_codex_names_the_day_when_it_is_another():
    failure = failures.describe("codex", "quota", LONG._replace(resets_at=NOW + 86400 * 2), NOW)

    assert "try again at Nov 2" in failure.text
    assert ", 2026 " in failure.text


@pytest.mark.parametrize("vendor", ["claude", "codex"])
@pytest.mark.parametrize(("kind", "status"), [("401", 401), ("429", 429), ("500", 500)])
def test_every_failure_has_words_and_a_status(vendor, kind, status):
    failure = failures.describe(vendor, kind, SHORT, NOW)

    assert status == failure.status
    assert failure.text
