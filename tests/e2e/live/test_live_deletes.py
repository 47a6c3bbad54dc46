"""A session is deleted into the archive, and comes back byte for byte; what is in use stays."""

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.errors import RunnerError, SessionBusy


def listed(live):
    catalogue = live.engine.sessions.catalogue
    return [row.session.chain_id for row in catalogue.table(catalogue.query(""), limit=5).rows]


def test_a_session_goes_into_the_archive_and_comes_back_as_it_was(live):
    archive, sessions = live.engine.sessions.archive, live.engine.sessions
    kept, first = live.begin_turn("the first thing", runtime="demo-claude1")
    live.live.wait(kept, first)
    other, first = live.begin_turn("another thing", runtime="demo-codex1")
    live.live.wait(other, first)
    sessions.transcripts.glance()
    with pytest.raises(SessionBusy, match=r"has a process|is open in"):
        archive.delete(kept)
    live.live.order(kept, orders.Close(), starts=False)
    live.until_closed(kept)
    path = next(live.demo.account_home("demo-claude1").rglob(f"projects/**/{live.live.find(kept).native_id}.jsonl"))
    content = path.read_bytes()

    assert (path,) == archive.delete(kept).files
    with pytest.raises(RunnerError, match=f"is deleted already: `agents session undelete {kept}`"):
        archive.delete(kept)
    assert ([other], False) == (listed(live), path.exists())
    assert () == sessions.catalogue.search("first").hits
    sessions.scans.read_new()
    assert [other] == listed(live)
    assert "the first thing" == sessions.catalogue.find(kept).title  # by its id it is found

    assert (path,) == archive.undelete(kept).files
    assert ({kept, other}, content) == ({*listed(live)}, path.read_bytes())
    assert 2 == len(sessions.catalogue.search("first").hits)  # said, and said again in the answer
    with pytest.raises(RunnerError, match="was not deleted"):
        archive.undelete(kept)
