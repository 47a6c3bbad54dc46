"""Session files of pi become sessions of ours as pi itself reads them, and pi goes on in those that we write."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.session_files, pytest.mark.timeout(300)]
TRANSCRIPTS = Path(__file__).resolve().parents[1] / "fixtures" / "transcripts" / "claude" / "2.1.197" / "projects"


@pytest.fixture
def ours(world):
    """Run our command on sessions, and return its document, or its bytes where `--json` is not asked for."""
    world.account("a", "cat")
    world.model("m", "a")

    def run(*words):
        done = world.run("session", *map(str, words))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in words else done.stdout

    return run


@pytest.fixture
def branched(pi, tmp_path):
    """A file that pi wrote: two branches, a label that stays and one that is taken away, a name and a compaction."""
    file = tmp_path / "pi.jsonl"
    pi.say(file, "one")
    answer = pi.judge(file)["leaf"]
    with pi.open(file) as order:
        order("prompt", message="two")
        left_behind = pi.judge(file)["leaf"]
        order("prompt", message=f"/go {answer}")
        order("prompt", message="another two")
        order("bash", command="echo of the user")
        order("prompt", message=f"/call {answer} where it parts")
        order("prompt", message=f"/call {left_behind} for a moment")
        order("prompt", message=f"/call {left_behind}")
        order("set_session_name", name="of two minds")
        order("compact")
        order("prompt", message="three")
    return file


def parents_of(tree):
    """Return the parents in a tree of ours, as pi's own reader names them."""
    return {entry["id"]: entry["parent_id"] for entry in tree["entries"]}


def read_lines(file):
    """Return the objects of a session file."""
    return [json.loads(line) for line in file.read_bytes().split(b"\n") if line]


def labels_of(tree):
    """Return the labels in a tree of ours."""
    return {entry["id"]: entry["label"] for entry in tree["entries"] if entry["label"]}


def test_all_that_pi_writes_is_read_to_the_last_label(pi, ours, branched):
    judged = pi.judge(branched)
    done = ours("import", branched, "--json")
    tree = ours("tree", done["chain_id"], "--filter", "all", "--json")
    kinds = {entry["kind"] for entry in tree["entries"]}

    assert ([], len(judged["parents"]), "compaction" in kinds) == (done["problems"], done["new_entries"], True)
    assert (judged["parents"], judged["leaf"]) == (parents_of(tree), tree["leaf"])
    assert ["where it parts"] == [*judged["labels"].values()]
    assert judged["labels"] == labels_of(tree)
    assert judged["name"] in ours("show", done["chain_id"]).decode()


def test_a_file_goes_out_as_it_came_and_takes_what_pi_says_next(pi, ours, branched, tmp_path):
    done = ours("import", branched, "--json")
    out = tmp_path / "out.jsonl"
    ours("export", done["chain_id"], "--format", "session-v3", "--output", out)
    assert read_lines(branched) == read_lines(out)

    pi.say(out, "four")
    again = ours("import", out, "--json")
    judged, tree = pi.judge(out), ours("tree", done["chain_id"], "--filter", "all", "--json")

    assert (done["chain_id"], 2) == (again["chain_id"], again["new_entries"])
    assert (judged["parents"], judged["leaf"], judged["labels"]) == (parents_of(tree), tree["leaf"], labels_of(tree))


def test_pi_goes_on_where_we_have_gone_back_and_knows_our_labels(pi, ours, branched, tmp_path):
    done = ours("import", branched, "--json")
    entries = ours("tree", done["chain_id"], "--filter", "all", "--json")["entries"]
    (left,) = (entry["id"] for entry in entries if entry["preview"] == "pi heard: two")
    ours("branch", done["chain_id"], left)
    ours("label", done["chain_id"], left, "given", "up", "once")
    out = tmp_path / "out.jsonl"
    ours("export", done["chain_id"], "--format", "session-v3", "--output", out)
    sent = pi.say(out, "what was that?")
    judged = pi.judge(out)

    assert ["one", "pi heard: one", "two", "pi heard: two", "what was that?"] == sent
    assert {"where it parts", "given up once"} == {*judged["labels"].values()}
    assert parents_of({"entries": entries}).items() <= judged["parents"].items()


def test_pi_goes_on_in_real_sessions_of_claude_with_their_tools(pi, ours, world, tmp_path):
    roof = tmp_path / "claude"
    for file in TRANSCRIPTS.glob("*/*.jsonl"):
        place = roof / "projects" / file.parent.name / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes().replace(b"/home/user/proj", str(pi.project).encode()))
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {roof}'\n")
    ours("scan")
    seen = set()
    for file in roof.glob("projects/*-proj/*.jsonl"):
        out = tmp_path / file.name
        ours("export", file.stem, "--format", "session-v3", "--output", out)
        sent = pi.say(out, "and then?")
        entries = ours("tree", file.stem, "--json")["entries"]
        judged = pi.judge(out)

        texts = " ".join(" ".join(sent).split())
        compacted = max((place for place, entry in enumerate(entries) if entry["kind"] == "compaction"), default=0)
        begins = [entry["preview"].removeprefix("[tool_result] ")[:15] for entry in entries[compacted:]]

        assert (file.stem, "and then?") == (judged["id"], sent[-1])
        assert [] == [begin for begin in begins if begin not in texts and not begin.startswith("[")]
        seen.add(file.stem)

    assert len(seen) > 1
