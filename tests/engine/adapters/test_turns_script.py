"""The turn adapters on real files: as scripts in processes of their own, and in process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.adapters.scripts.turns import FORMATS, Reading, TurnsFailed, chunks

REPOSITORY = Path(__file__).resolve().parents[3]
SCRIPTS = REPOSITORY / "scripts"
REAL = REPOSITORY.parent / "shared" / "fixtures" / "transcripts"
AT = "2026-04-17T08:00:00.000Z"
NAMES = tuple(FORMATS)
each_adapter = pytest.mark.parametrize("name", NAMES)


def claude(entry_id, text="hi", **more):
    record = {"type": "assistant", "uuid": entry_id, "timestamp": AT, "sessionId": "S", "message": {"content": text}}
    return json.dumps(record | more).encode() + b"\n"


def codex(text="hi", role="assistant", **more):
    payload = {"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}
    return json.dumps({"type": "response_item", "timestamp": AT, "payload": payload | more}).encode() + b"\n"


def gemini(entry_id, text="hi", kind="gemini"):
    return json.dumps({"id": entry_id, "timestamp": AT, "type": kind, "content": text}).encode() + b"\n"


def header(session_id="S"):
    return json.dumps({"sessionId": session_id, "kind": "main"}).encode() + b"\n"


def meta(session_id="S"):
    return json.dumps({"type": "session_meta", "payload": {"id": session_id}}).encode() + b"\n"


def _line(name, entry_id, text):
    """Return a line that holds one entry."""
    if name == "codex-turns":
        return codex(text)
    return gemini(entry_id, text) if name == "gemini-turns" else claude(entry_id, text)


class Bench:
    """A folder of transcripts and what one adapter reads out of it."""

    def __init__(self, name, folder):
        self.name = name
        self.base = folder / "base"
        self.state = folder / "state"
        self.file = self.base / "p" / f"{FORMATS[name].prefix}a.jsonl"
        self.file.parent.mkdir(parents=True)

    def sample(self, count=2):
        """Return lines that hold so many entries."""
        before = {"codex-turns": meta(), "gemini-turns": header()}.get(self.name, b"")
        return before + b"".join(self.line(f"u{number}", f"t{number}") for number in range(count))

    def line(self, entry_id, text):
        return _line(self.name, entry_id, text)

    def append(self, content):
        with self.file.open("ab") as file:
            file.write(content)

    def read(self, **more):
        """Make one pass in process, kept; gives the entries."""
        self.reading = Reading(FORMATS[self.name], self.base, self.state, **more)
        found = list(self.reading.turns())
        self.reading.keep()
        return found

    def texts(self, **more):
        return [turn["body"][0]["text"] for turn in self.read(**more)]

    def run(self, *arguments, script=None, **environ):
        """Run the script."""
        command = [sys.executable, str(script or SCRIPTS / self.name), *(arguments or (str(self.base),))]
        environ = {"PATH": os.environ["PATH"], "STATE_DIR": str(self.state), **environ}
        return subprocess.run(command, env=environ, capture_output=True, check=False, timeout=60)


@pytest.fixture(params=NAMES)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


@pytest.fixture
def rollouts(tmp_path):
    return Bench("codex-turns", tmp_path)


@pytest.fixture
def projects(tmp_path):
    return Bench("claude-code-turns", tmp_path)


def test_script_prints_what_is_read_in_process(bench):
    bench.append(bench.sample())
    done = bench.run()
    again = bench.read(afresh=True)

    assert (0, b"") == (done.returncode, done.stderr)
    assert again == [json.loads(line) for line in done.stdout.splitlines()]
    assert 2 == len(again)


def test_second_pass_over_unchanged_files_gives_nothing(bench):
    bench.append(bench.sample())
    first, second = bench.run(), bench.run()

    assert (2, b"") == (len(first.stdout.splitlines()), second.stdout)


def test_only_what_is_appended_is_read(bench):
    bench.append(bench.sample(2))
    bench.read()
    bench.append(bench.line("n", "new"))

    assert ["new"] == bench.texts()
    assert [] == bench.texts()


def test_change_within_the_same_second_is_seen(bench):
    bench.append(bench.sample(1))
    os.utime(bench.file, ns=(1_700_000_000_000_000_000,) * 2)
    bench.read()
    bench.append(bench.line("n", "new"))
    os.utime(bench.file, ns=(1_700_000_000_000_000_000,) * 2)

    assert ["new"] == bench.texts()


def test_half_a_line_waits_for_its_end(bench):
    content = bench.sample(2)
    bench.append(content[:-30])
    before = bench.texts()
    bench.append(content[-30:])

    assert (["t0"], ["t1"]) == (before, bench.texts())
    assert 0 == bench.reading.damaged_lines


def test_whole_last_line_without_its_newline_counts(bench):
    bench.append(bench.sample(2)[:-1])

    assert ["t0", "t1"] == bench.texts()
    assert [] == bench.texts()


def test_rewritten_file_is_read_from_its_start(bench):
    bench.append(bench.sample(1))
    bench.read()
    other = bench.sample(2).replace(b"t0", b"other").replace(b'"S"', b'"R"')
    bench.file.write_bytes(other)

    assert ["other", "t1"] == bench.texts()


def test_truncated_file_is_read_from_its_start(bench):
    bench.append(bench.sample(3))
    bench.read()
    bench.file.write_bytes(bench.sample(2))

    assert ["t0", "t1"] == bench.texts()


def test_same_content_in_a_new_file_gives_only_what_follows(bench):
    bench.append(bench.sample(1))
    bench.read()
    copy = bench.file.with_name("copy")
    shutil.copy(bench.file, copy)
    copy.replace(bench.file)
    bench.append(bench.line("n", "new"))

    assert ["new"] == bench.texts()


def test_turns_that_were_not_kept_come_again(bench):
    bench.append(bench.sample(2))
    lost = list(Reading(FORMATS[bench.name], bench.base, bench.state).turns())

    assert lost == bench.read()


def test_reader_that_goes_away_loses_no_turn(projects):
    projects.append(b"".join(claude(f"u{number}", "x" * 1000) for number in range(500)))
    command = f"'{sys.executable}' '{SCRIPTS / projects.name}' '{projects.base}' | head -c 10"
    environ = {"PATH": os.environ["PATH"], "STATE_DIR": str(projects.state)}
    done = subprocess.run(("sh", "-c", command), env=environ, capture_output=True, check=False, timeout=60)

    assert b"" == done.stderr
    assert 500 == len(projects.read())


def test_damaged_lines_are_counted_named_and_passed_over(bench):
    lines = bench.sample(2).splitlines(keepends=True)
    damage = [b"undefined\n", b'{"type":"assistant","uu\n', b"\xff\xfe\n", b'["user"]\n', b"\n", b"\0\0\0\n", b"  \r\n"]
    bench.append(b"".join([*lines[:-1], *damage, lines[-1]]))

    assert ["t0", "t1"] == bench.texts()
    assert 4 == bench.reading.damaged_lines
    assert any(f"{bench.file}:{len(lines)}: not a JSON object" == note for note in bench.reading.notes)
    assert f"{bench.file}: 1 more damaged lines" == bench.reading.notes[-1]


def test_strange_encodings_are_read(projects):
    projects.append(b"\xef\xbb\xbf" + claude("bom", "a"))
    projects.append(claude("crlf", "b").replace(b"\n", b"\r\n"))
    projects.append(claude("bad", "c?").replace(b"c?", b"c\xff"))
    projects.append(claude("half", "\ud83d"))

    assert ["a", "b", "c\ufffd", "\ud83d"] == projects.texts()
    assert 4 == len(projects.run(STATE_DIR=str(projects.state / "other")).stdout.splitlines())


def test_deep_and_huge_values_are_damage_and_no_crash(projects):
    projects.append(b'{"type":"user","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    projects.append(b'{"type":"user","x":' + b"9" * 10_000 + b"}\n")
    projects.append(claude("u", "after"))

    assert ["after"] == projects.texts()
    assert 2 == projects.reading.damaged_lines


def test_line_of_fifty_megabytes_is_read(bench):
    bench.append(bench.sample(1))
    big = "x" * (50 << 20)
    bench.append(bench.line("big", big))

    assert [2, len(big)] == [len(text) for text in bench.texts()]


def test_line_beyond_all_measure_is_left_out_once_it_has_ended(projects):
    projects.append(claude("a", "first") + claude("b", "x" * 5000)[:-10])
    first = projects.texts(longest_line=1000)
    projects.append(b'xxxxxx"}}\n' + claude("c", "last"))

    assert (["first"], ["last"]) == (first, projects.texts(longest_line=1000))
    begin = len(claude("a", "first"))
    assert [f"{projects.file}:2: longer than 1000 bytes (from byte {begin} on), left out"] == projects.reading.notes


def test_files_that_cannot_be_read_are_told_and_the_rest_is_read(bench):
    bench.append(bench.sample(1))
    loop, gone, pipe = (bench.file.with_name(f"{bench.file.stem}-{name}.jsonl") for name in ("loop", "gone", "pipe"))
    loop.symlink_to(loop)
    gone.symlink_to(bench.base / "nowhere")
    os.mkfifo(pipe)
    (bench.base / "p" / "round").symlink_to(bench.base)
    done = bench.run()

    assert (0, 1) == (done.returncode, len(done.stdout.splitlines()))
    expected = {gone: "a link", loop: "a link", pipe: "a FIFO"}
    assert [f"{bench.name}: {path}: it is {kind}, not a regular file" for path, kind in expected.items()] == (
        done.stderr.decode().splitlines()
    )


def test_folder_that_cannot_be_listed_is_told_and_not_forgotten(bench):
    bench.append(bench.sample(1))
    bench.read()
    bench.file.parent.chmod(0)
    if os.access(bench.file.parent, os.R_OK):
        pytest.skip("we may list every folder, as root does")
    hidden = bench.read()
    bench.file.parent.chmod(0o700)

    assert ([], 1) == (hidden, bench.reading.unread_files)
    assert [] == bench.read()


def test_transcript_that_vanishes_before_it_is_read_is_told_and_the_rest_is_read(bench):
    bench.append(bench.sample(2))
    gone, last = (bench.file.with_name(f"{bench.file.stem}{name}.jsonl") for name in ("x", "y"))
    for path in (gone, last):
        path.write_bytes(bench.sample(1))
    bench.reading = Reading(FORMATS[bench.name], bench.base, bench.state)
    turns = bench.reading.turns()
    first = next(turns)
    gone.unlink()
    found = [first, *turns]

    assert [str(bench.file), str(bench.file), str(last)] == [turn["source_file"] for turn in found]
    assert ([f"{gone}: No such file or directory"], 1) == (bench.reading.notes, bench.reading.unread_files)


@pytest.mark.parametrize("deed", ["removed", "emptied"])
def test_transcript_that_goes_while_it_is_read_spoils_nothing(bench, deed):
    bench.append(bench.sample(4000))
    turns = Reading(FORMATS[bench.name], bench.base, bench.state).turns()
    first = next(turns)
    if deed == "removed":
        bench.file.unlink()
    else:
        os.truncate(bench.file, 0)
    rest = list(turns)

    assert all(turn["session_id"] == "S" for turn in [first, *rest])
    assert (deed == "removed") == (len(rest) == 3999)


def test_vanished_transcript_leaves_the_cursor_of_the_others(bench):
    bench.append(bench.sample(1))
    other = bench.file.with_name(f"{bench.file.stem}-2.jsonl")
    other.write_bytes(bench.sample(1))
    bench.read()
    other.unlink()

    assert [] == bench.read()
    assert [str(bench.file)] == list(json.loads((bench.state / f"{bench.name}.json").read_text())["files"])


def test_two_folders_share_one_state_folder(bench, tmp_path):
    bench.append(bench.sample(1))
    bench.read()
    elsewhere = Bench(bench.name, tmp_path / "elsewhere")
    elsewhere.state = bench.state
    elsewhere.append(bench.sample(1))
    elsewhere.read()

    assert ([], []) == (bench.read(), elsewhere.read())


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"files": {"/x": [1]}}', b'{"files": 3}', b"\xff"])
def test_damaged_cursor_means_reading_again(projects, damage):
    projects.append(projects.sample(1))
    projects.read()
    (projects.state / "claude-code-turns.json").write_bytes(damage)

    assert ["t0"] == projects.texts()
    assert "everything is read again" in projects.reading.notes[0]
    assert [] == projects.read()


def test_wrong_calls_say_how(bench):
    for arguments in ((str(bench.base), "x"), ("",)):
        done = bench.run(*arguments)

        assert (1, b"") == (done.returncode, done.stdout)
        assert done.stderr.startswith(b"usage: claude-code-turns | codex-turns | gemini-turns FOLDER")


def test_exit_codes_tell_what_is_wrong(bench, tmp_path):
    (tmp_path / "file").write_text("")
    bench.append(bench.sample(1))
    found = [
        bench.run(str(tmp_path / "absent")).returncode,
        bench.run(str(tmp_path / "file")).returncode,
        bench.run(STATE_DIR=str(tmp_path / "file" / "state")).returncode,
    ]

    assert [0, 2, 3] == found


def test_refusal_comes_as_an_exception_in_process(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(TurnsFailed, match="cannot list"):
        list(Reading(FORMATS["codex-turns"], tmp_path / "file", tmp_path / "state").turns())


def test_copy_of_the_script_works_alone(bench, tmp_path):
    bench.append(bench.sample(1))
    copy = tmp_path / "bin" / bench.name
    copy.parent.mkdir()
    shutil.copy(SCRIPTS / bench.name, copy)
    done = bench.run("-S", str(copy), str(bench.base), script="-I")

    assert (0, 1, b"") == (done.returncode, len(done.stdout.splitlines()), done.stderr)


def test_default_state_folder_lies_below_the_temporary_one(bench, tmp_path):
    bench.append(bench.sample(1))
    bench.run(STATE_DIR="", TMPDIR=str(tmp_path))

    assert (tmp_path / f"{bench.name}-state" / f"{bench.name}.json").exists()


def test_claude_turn_carries_parent_sidechain_and_boundary(projects):
    projects.append(claude("a", parentUuid="p", isSidechain=True))
    projects.append(claude("b", type="user", isCompactSummary=True))
    side, boundary = projects.read()

    assert ("p", True, None) == (side["parent_turn_id"], side["is_sidechain"], side.get("is_compaction_boundary"))
    assert (None, False, True) == (
        boundary["parent_turn_id"],
        boundary["is_sidechain"],
        boundary["is_compaction_boundary"],
    )


@pytest.mark.parametrize("missing", ["uuid", "timestamp", "sessionId", "type"])
def test_claude_record_without_its_identity_is_no_turn(projects, missing):
    projects.append(claude("a") + claude("b", **{missing: None}))

    assert ["a"] == [turn["turn_id"] for turn in projects.read()]
    told = [] if missing == "type" else [f"{projects.file}:2: a message without `{missing}`, left out"]
    assert (told, len(told)) == (projects.reading.notes, projects.reading.damaged_lines)


def test_turn_without_text_says_what_it_is(projects):
    projects.append(claude("a", [{"type": "thinking", "thinking": "?"}, {"type": "tool_use", "input": {}}]))
    projects.append(claude("b", []))
    call, nothing = projects.read()

    assert [{"type": "thinking"}, {"type": "tool_use"}] == call["body"]
    assert "body" not in nothing


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("x", [("text", "x")]),
        ("", []),
        (["x", {"type": "input_text", "text": "y"}, 3], [("text", "x"), ("text", "y")]),
        ([{"type": "tool_result", "content": "z"}, {"type": "t", "text": 1, "content": []}], [("tool_result", "z")]),
        ({"text": "one"}, [("text", "one")]),
        (None, []),
    ],
)
def test_body_holds_every_text(content, body):
    assert [{"type": kind, "text": text} for kind, text in body] == chunks(content)


def test_rollout_lines_are_numbered_as_they_stand_and_keep_their_session(rollouts):
    rollouts.append(meta("own") + b"\n" + codex("a") + b"garbage\n")
    rollouts.append(codex("b"))
    rollouts.read()
    rollouts.append(codex("dev", role="developer") + codex("c", role="user"))
    (turn,) = rollouts.read()

    assert ("own", f"{rollouts.file}:7", "user") == (turn["session_id"], turn["turn_id"], turn["role"])


def test_fork_keeps_its_own_session_although_it_repeats_its_parents(rollouts):
    rollouts.append(meta("fork") + meta("parent") + codex("a"))

    assert ["fork"] == [turn["session_id"] for turn in rollouts.read()]


def test_rollout_without_a_session_gives_nothing(rollouts):
    rollouts.append(codex("a") + codex("mine", role="developer"))

    assert [] == rollouts.read()
    (note,) = rollouts.reading.notes
    assert note.startswith(f"{rollouts.file}:1: a message of no session, left out")


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        (codex("x").replace(b'"timestamp"', b'"time"'), "timestamp"),
        (codex("x", role=None), "role"),
        (codex("x").replace(b'"role"', b'"rule"'), "role"),
    ],
)
def test_message_of_a_rollout_that_lacks_something_is_told(rollouts, line, missing):
    rollouts.append(meta() + line + codex("after"))

    assert ["after"] == rollouts.texts()
    assert [f"{rollouts.file}:2: a message without `{missing}`, left out"] == rollouts.reading.notes


def test_half_a_message_is_told_of_once_it_has_ended(projects):
    line = claude("a", uuid=None)
    projects.append(line[:-1])
    first = projects.read(), projects.reading.notes
    projects.append(line[-1:])

    assert (([], []), []) == (first, projects.read())
    assert [f"{projects.file}:1: a message without `uuid`, left out"] == projects.reading.notes


@pytest.mark.skipif(not REAL.is_dir(), reason="no transcripts of the real CLIs beside the repository")
@pytest.mark.parametrize("version", ["2.1.50", "2.1.197", "2.1.329"])
def test_every_conversation_record_of_the_real_cli_is_a_turn(version, tmp_path):
    base = REAL / "claude" / version / "projects"
    lines = [json.loads(line) for path in base.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    expected = sorted(one["uuid"] for one in lines if one.get("type") in ("user", "assistant"))
    reading = Reading(FORMATS["claude-code-turns"], base, tmp_path)

    assert expected == sorted(turn["turn_id"] for turn in reading.turns())
    assert ([], 0) == (reading.notes, reading.damaged_lines)


PIECES = st.lists(
    st.sampled_from([b"\n", b"garbage\n", b"\xff\xfe\n", b"a", b"u"]) | st.text(max_size=9), min_size=1, max_size=12
)


def _written(name, pieces):
    """Return a transcript with an entry for each text among the pieces and the rest of them as they are."""
    lines = [{"codex-turns": meta(), "gemini-turns": header()}.get(name, b"")]
    for number, piece in enumerate(pieces):
        if isinstance(piece, str):
            lines.append(_line(name, f"u{number}", piece))
        else:
            lines.append(piece)
    return b"".join(lines)


@each_adapter
@settings(max_examples=60, deadline=None)
@given(pieces=PIECES, data=st.data())
def test_any_split_of_appends_gives_what_one_pass_gives(name, pieces, data, tmp_path_factory):
    content = _written(name, pieces)
    whole, grown = (Bench(name, tmp_path_factory.mktemp("bench")) for _ in range(2))
    grown.file = grown.base / "p" / whole.file.name
    whole.append(content)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    found = {}
    for begin, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        grown.append(content[begin:end])
        found |= {turn["turn_id"].removeprefix(str(grown.base)): turn.get("body") for turn in grown.read()}

    assert {turn["turn_id"].removeprefix(str(whole.base)): turn.get("body") for turn in whole.read()} == found
