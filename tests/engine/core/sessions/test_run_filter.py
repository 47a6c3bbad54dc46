from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.search.query import parse
from oulipoly_engine.core.sessions.spawned import Spawned, run_fits

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FAILED = Spawned(
    1, "abcd-1", None, "opus", "ada", "failed", "s-1", "2026-11-19T12:00:00Z", "2026-11-19T12:01:00Z", "auth_expired"
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "is:failed",
        "is:failed account:ada model:opus session:s-1",
        "auth_expired",
        "abcd",
        "date:yesterday",
        "roof",
        "-is:pinned",
        "-cwd:/w",
    ],
)
def test_a_query_finds_a_run_by_what_is_known_of_it(text):
    assert run_fits(parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC)), FAILED, "Mend the roof")


@pytest.mark.parametrize(
    "text", ["-is:failed", "account:eve", "date:today", "nail", "is:pinned", "is:at-risk", "is:live", "cwd:/w", "-opus"]
)
def test_a_query_leaves_a_run_out(text):
    assert not run_fits(parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC)), FAILED, "Mend the roof")
