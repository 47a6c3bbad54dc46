"""`session tree` of what claude and codex have written: forks, compactions and sub-agents, as own readers have them."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from oulipoly_engine.core.transcripts.claude import NOT_TYPED as CLAUDES_WORDS
from oulipoly_engine.core.transcripts.codex import NOT_TYPED as CODEX_WORDS
from oulipoly_engine.core.transcripts.entry_text import passages
from oulipoly_engine.core.transcripts.turn_script import COMPACTION
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions.leaves import find_leaf
from oulipoly_engine.store.transcripts.entry_paths import EntryPlace, read_context_back

SHARED = Path(os.environ.get("SHARED_DIR") or Path(__file__).resolve().parents[4] / "shared")
FIXTURES = SHARED / "fixtures" / "sessions"
CLAUDE, CODEX = FIXTURES / "claude-2.1.197", FIXTURES / "codex-0.169.0"
PARENT, FORK, LATE_FORK = (
    f"01a20a7b-{rest}"
    for rest in ("c1cf-78a3-98fb-67856b73f811", "cd06-7802-bf24-7f30a022f946", "d59a-7192-a60e-94d2fccc6360")
)
pytestmark = pytest.mark.skipif(not FIXTURES.exists(), reason="no real transcripts: neither ../shared nor $SHARED_DIR")


@pytest.fixture
def claude(world):
    """Have claude's transcripts in a home of their own, and return what their own readers say of them."""
    told = {file.stem: json.loads(file.read_text()) for file in CLAUDE.glob("*.json")}
    folder = world.home / ".claude" / "projects" / "-work"
    for name, of_file in told.items():
        agents = folder / of_file["session_id"] / "subagents"
        agents.mkdir(parents=True)
        (folder / f"{of_file['session_id']}.jsonl").write_bytes((CLAUDE / f"{name}.jsonl").read_bytes())
        for file in CLAUDE.glob(f"{name}.subagents/*.jsonl"):
            (agents / file.name).write_bytes(file.read_bytes())
    scan(world, f"claude-code-turns {folder.parents[1]}")
    return told


@pytest.fixture
def codex(world):
    """Have codex's rollouts in a home of their own, and return what their own readers say of them."""
    folder = world.home / ".codex" / "sessions" / "2026" / "11" / "23"
    folder.mkdir(parents=True)
    for file in CODEX.glob("*.jsonl"):
        (folder / file.name).write_bytes(file.read_bytes())
    scan(world, f"codex-turns {folder.parents[2]}")
    return {told["thread_id"]: told for told in (json.loads(file.read_text()) for file in CODEX.glob("*.json"))}


def scan(world, turn_script):
    world.account("a", "cat")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = '{turn_script}'\n")
    assert 0 == world.run("session", "scan").returncode


def tree_of(world, session_id):
    return json.loads(world.run("session", "tree", session_id, "--filter", "all", "--json").stdout)


def sent(world, session_id):
    """Return what a turn at a session's leaf sends, as roles and texts, without what its CLI says of itself."""
    with contextlib.closing(open_store(world.data / "state.db")) as store:
        place = EntryPlace("a", session_id, find_leaf(store, "a", session_id))
        entries = [*read_context_back(store, place)][::-1]
    texts = [(entry.kind, entry.role, "\n".join(each.text for each in passages(entry.body))) for entry in entries]
    return [each for each in texts if each[2] and not each[2].startswith((*CLAUDES_WORDS, *CODEX_WORDS))]


@pytest.mark.parametrize(("name", "is_compacted"), [("forked", False), ("compacted_with_subagent", True)])
def test_a_transcript_s_tree_is_that_of_its_parents_through_forks_and_compactions(claude, world, name, is_compacted):
    told = claude[name]
    entries = tree_of(world, told["session_id"])["entries"]
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


@pytest.mark.parametrize("name", ["forked", "compacted_with_subagent"])
def test_what_claude_sends_is_what_a_preface_holds(claude, world, name):
    told = claude[name]
    texts = [(role, text[:120]) for kind, role, text in sent(world, told["session_id"]) if kind != COMPACTION]
    judged = [(role, text) for role, _, text in told["context_claude_sends_on_resume"] if role != "system"]
    # Its first message begins with its own words: of one that is not compacted, the first question follows there.
    answers = [text for role, text in judged if role == "assistant" and not text.startswith("[tool")]
    questions = [text for role, text in judged[1:] if role == "user" and not text.startswith(("[tool", "<"))]

    assert answers == [text for role, text in texts if role == "assistant" and text in answers]
    assert questions == [text for role, text in texts if role == "user" and text in questions]
    assert len(judged) >= len(texts) - 1
    assert ("compacted" in name) == (COMPACTION in [kind for kind, *_ in sent(world, told["session_id"])])


def test_claude_s_fork_and_its_origin_name_each_other_and_where_they_part(claude, world):
    ids = {name: told["session_id"] for name, told in claude.items()}
    fork, origin = tree_of(world, ids["forked"]), tree_of(world, ids["compacted_with_subagent"])
    behind = "d76f3850-"

    assert (None, []) == (origin["forked_from"], fork["forks"])
    assert ids["compacted_with_subagent"] == fork["forked_from"]["session_id"]
    assert [(fork["chain_id"], ids["forked"])] == [(each["chain_id"], each["session_id"]) for each in origin["forks"]]
    assert fork["forked_from"]["entry_id"].startswith(behind)
    assert origin["forks"][0]["entry_id"].startswith(behind)
    shown = world.run("session", "tree", ids["forked"]).stdout.decode().splitlines()
    assert f"forked from {ids['compacted_with_subagent'][:8]}, behind d76f3850" == shown[-1]


def test_codex_s_forks_go_on_with_what_their_origin_said_up_to_there(codex, world):
    origin, fork, late = (tree_of(world, session_id) for session_id in (PARENT, FORK, LATE_FORK))
    ids = {line_of(entry): entry["id"] for entry in origin["entries"]}

    assert {FORK: ids[41], LATE_FORK: ids[72]} == {each["session_id"]: each["entry_id"] for each in origin["forks"]}
    assert [PARENT, PARENT] == [each["forked_from"]["session_id"] for each in (fork, late)]
    assert [line for line in ids if line <= 41] == [*map(line_of, fork["entries"])][:-2]
    assert [*ids] == [*map(line_of, late["entries"])][:-4]
    for tree in (origin, fork, late):
        assert [None, *(entry["id"] for entry in tree["entries"])][:-1] == [
            entry["parent_id"] for entry in tree["entries"]
        ]


def line_of(entry):
    return int(entry["id"].rpartition(":")[2])


@pytest.mark.parametrize("session_id", [PARENT, FORK, LATE_FORK])
def test_what_codex_sends_is_what_a_preface_holds(codex, world, session_id):
    judged = [(role, text) for role, _, text in codex[session_id]["context_codex_sends_on_resume"]]
    texts = [(role, text[:120]) for _, role, text in sent(world, session_id)]

    assert [each for each in judged if each[0] in ("user", "assistant") and not each[1].startswith("<")] == texts


def test_a_fork_goes_back_to_what_its_origin_said(codex, world):
    entries = tree_of(world, FORK)["entries"]
    question = next(entry["id"] for entry in entries if entry["preview"].startswith("First"))
    assert 0 == world.run("session", "branch", FORK, question).returncode

    assert question == tree_of(world, FORK)["leaf"]
    assert ["First question of the session"] == [text for *_, text in sent(world, FORK)]
    assert question != tree_of(world, PARENT)["leaf"]
    assert 0 == world.run("session", "branch", FORK, entries[-1]["id"]).returncode
    assert len(entries) == len(tree_of(world, FORK)["entries"])


def test_a_fork_without_its_origin_shows_what_was_said_in_it(codex, world):
    world.change("DELETE FROM session_turns WHERE session_id = ?", PARENT)
    tree = tree_of(world, FORK)

    assert ["Asked in the fork", "echo: Asked in the fork"] == [entry["preview"] for entry in tree["entries"]]
