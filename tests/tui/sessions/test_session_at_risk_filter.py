"""`is:at-risk`, `is:failed`, `is:live` and others in the filter of the list, key by key: what only the board tells."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.search.query import parse
from oulipoly_engine.core.sessions.facets import Facets, SessionKind
from oulipoly_engine.core.sessions.sessions import Part, Session, Sort
from oulipoly_engine.facade.sessions.types import Board, ListedSession
from oulipoly_tui.view.sessions.groups import Grouping, Order, SessionIndex

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def listed(name, purges_in):
    at = "2026-11-01T00:00:00Z"
    one = Session(f"{name}-c", "opus", at, at, (Part("ada", f"{name}-s", at, None, title=name),))
    return ListedSession(one, "claude", has_transcript=True, purge_at=None if purges_in is None else NOW + purges_in)


BOARD = Board(
    NOW,
    (
        listed("soon", timedelta(days=2)),
        listed("overdue", -timedelta(hours=1)),
        listed("kept", timedelta(days=2)),
        listed("later", timedelta(days=8)),
        listed("never", None),
    ),
    kept=frozenset({("ada", "kept-s")}),
    failed=frozenset({("ada", "soon-s"), ("ada", "later-s")}),
    facets={
        "kept-c": Facets(SessionKind.WORK, "running", is_alive=True, is_waiting=True),
        "later-c": Facets(SessionKind.LIVE, "waiting_input", is_alive=True),
        "never-c": Facets(SessionKind.WORK),
    },
)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["is:at-risk"], {"soon", "overdue"}),
        (["is:at-risk", "is:at-risk soon"], {"soon"}),
        (["is:at-risk", "", "-is:at-risk"], {"kept", "later", "never"}),
        (["-is:at-risk", "is:at-risk"], {"soon", "overdue"}),
        (["so", "so is:at-risk"], {"soon"}),
        (["is:failed"], {"soon", "later"}),
        (["is:failed", "-is:failed"], {"overdue", "kept", "never"}),
        (["is:failed", "is:failed is:at-risk"], {"soon"}),
        (["is:live"], {"kept", "later"}),
        (["is:live", "is:live is:waiting"], {"kept"}),
        (["is:live is:work", "is:work"], {"kept", "never"}),
        (["is:work", "-is:work is:failed"], {"soon", "later"}),
    ],
)
def test_the_list_shows_what_is_at_risk_whatever_was_typed_before(texts, names):
    index = SessionIndex(BOARD)
    for text in texts:
        query = parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC))
        found = index.arrange(Order(query, Sort.USED, Grouping.NONE, NOW))

    assert names == {one.session.title for group in found.groups for one in group.members}
