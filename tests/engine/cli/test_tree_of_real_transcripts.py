"""`session tree` of what claude itself has written: forks, compactions and sub-agents, as an own reader has them."""

import json
import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("SHARED_DIR") or Path(__file__).resolve().parents[4] / "shared")
FIXTURES = SHARED / "fixtures" / "sessions" / "claude-2.1.197"
pytestmark = pytest.mark.skipif(not FIXTURES.exists(), reason="no real transcripts: neither ../shared nor $SHARED_DIR")


@pytest.fixture
def tree(world):
    """Return a transcript's tree, and what the own reader says of the file."""

    def read(name):
        told = json.loads((FIXTURES / f"{name}.json").read_text())
        folder = world.home / ".claude" / "projects" / "-work"
        agents = folder / told["session_id"] / "subagents"
        agents.mkdir(parents=True)
        (folder / f"{told['session_id']}.jsonl").write_bytes((FIXTURES / f"{name}.jsonl").read_bytes())
        for file in FIXTURES.glob(f"{name}.subagents/*.jsonl"):
            (agents / file.name).write_bytes(file.read_bytes())
        world.account("a", "cat")
        world.model("m", "a")
        (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {folder.parents[1]}'\n")
        assert 0 == world.run("session", "scan").returncode
        done = world.run("session", "tree", told["session_id"], "--filter", "all", "--json")
        return json.loads(done.stdout)["entries"], told

    return read


@pytest.mark.parametrize(("name", "is_compacted"), [("forked", False), ("compacted_with_subagent", True)])
def test_a_transcript_s_tree_is_that_of_its_parents_through_forks_and_compactions(tree, name, is_compacted):
    entries, told = tree(name)
    main = {entry["id"]: entry for entry in entries if not entry["is_sidechain"]}
    parents = {entry_id: parent for _, entry_id, parent, *_ in told["parents"] if entry_id}
    parents |= {each["uuid"]: each["logicalParentUuid"] for each in told["compactions"]}

    def above(entry_id):
        parent = parents[entry_id]
        return parent if parent is None or parent in main else above(parent)

    assert {entry_id: above(entry_id) for entry_id in main} == {
        entry_id: entry["parent_id"] for entry_id, entry in main.items()
    }
    assert told["leaf"] == [*main][-1]
    assert told["isCompactSummary"] == [entry_id for entry_id, entry in main.items() if entry["kind"] == "compaction"]
    assert is_compacted == (len(main) < len(entries))
