"""With `session_dir` every live session is a session file as well, which tells the same tree."""

import json
import time

import pytest

from oulipoly_engine.core.live import orders


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_a_session_s_file_follows_it_through_branches_and_goes_with_it(live, runtime):
    config = next(live.engine.paths.config.glob("config.toml"))
    config.write_text(f'session_dir = "~/files"\n{config.read_text()}')
    sessions, path = live.open_engine().sessions, live.engine.paths.home / "files"

    def tree(session):
        sessions.transcripts.glance()
        found = sessions.branches.tree(session)
        return found.leaf, {entry.entry_id: (entry.parent_id, entry.preview) for entry in found.entries}

    session, first = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    _, entries = tree(session)
    behind = [*entries][[text for _, text in entries.values()].index("the second thing") - 1]
    sessions.branches.branch(session, behind)
    live.live.send(session, "the other way", waits=True)
    told = tree(session)
    (file,) = path.glob("*.jsonl")
    ids = [json.loads(line).get("id") for line in file.read_bytes().splitlines()]

    assert (f"{session}.jsonl", len(ids)) == (file.name, len({*ids}))
    copy = file.rename(live.root / "copy.jsonl")
    sessions.transcripts.glance()
    assert file.exists()  # written anew

    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    sessions.archive.delete(session)
    sessions.transcripts.glance()
    assert [] == [*path.glob("*.jsonl")]
    assert told == tree(sessions.files.import_file(copy).chain_id)


def test_a_session_s_file_is_written_after_its_turn_where_nobody_looks(live):
    config = next(live.engine.paths.config.glob("config.toml"))
    config.write_text(f'session_dir = "~/files"\n{config.read_text()}')
    session, first = live.begin_turn("the first thing", runtime="demo-claude1")
    live.live.wait(session, first)
    path = live.engine.paths.home / "files" / f"{session}.jsonl"

    deadline = time.monotonic() + 60
    while not path.exists() or b"the first thing" not in path.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
