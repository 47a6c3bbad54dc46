"""The locators and cwd adapters on real folders, as scripts and in process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.adapters.scripts import places
from oulipoly_engine.adapters.scripts.places import PlaceUnknown, decode_project_dir, encode_project_dir

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
SID = "5169694d-de0f-40d1-890c-6e28e55bab27"


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "base"
    folder.mkdir()
    return folder


def write(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def run(name, base, session_id=SID, script=None):
    environ = {"PATH": os.environ["PATH"], "SESSION_ID": session_id}
    command = [sys.executable, str(script or SCRIPTS / name), str(base)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)


def answer(name, base, session_id=SID):
    """Return what the script and the function in process say, which must be the same."""
    done = run(name, base, session_id)
    here = places.run((name, str(base), session_id), {})
    assert (done.returncode, done.stdout, done.stderr) == (here.exit_code, here.stdout, here.stderr)
    return json.loads(done.stdout) if name.endswith("cwd") else (done.returncode, done.stdout)


def test_newest_of_several_files_of_the_session_is_located(base):
    old = write(base / "a" / f"{SID}.jsonl", {})
    new = write(base / "b" / f"{SID}.jsonl", {})
    os.utime(old, (1, 1))

    assert (0, f"{new}\n") == answer("claude-code-locate-transcript", base)


def test_content_decides_only_where_no_name_fits(base):
    write(base / "a" / "subagents" / "agent-1.jsonl", {"sessionId": SID})
    write(base / "a" / "mentions.jsonl", {"sessionId": "other", "text": SID})
    named_inside = write(base / "a" / "renamed.jsonl", {"sessionId": "other"}, {"sessionId": SID})

    assert (0, f"{named_inside}\n") == answer("claude-code-locate-transcript", base)


def test_sub_agents_file_is_never_the_conversation(base):
    write(base / "a" / SID / "subagents" / "agent-1.jsonl", {"sessionId": SID})

    assert (1, "") == answer("claude-code-locate-transcript", base)


def test_rollout_is_located_by_its_first_line_where_no_name_fits(base):
    write(base / "2026" / "rollout-x.jsonl", {"type": "session_meta", "payload": {"id": "other"}})
    found = write(base / "2026" / "rollout-y.jsonl", {"type": "session_meta", "payload": {"id": SID}})

    assert (0, f"{found}\n") == answer("codex-locate-transcript", base)


@pytest.mark.parametrize("name", places.LOCATORS)
def test_locator_that_finds_nothing_fails_and_prints_nothing(base, name):
    write(base / "a" / "rollout-other.jsonl", {"sessionId": "other"})

    assert (1, "") == answer(name, base)
    assert (1, "") == answer(name, base / "absent")


@pytest.mark.parametrize("name", [*places.LOCATORS, *places.CWDS])
def test_wrong_calls_are_refused(base, name):
    found = [places.run(call, {}) for call in ((), (name,), (name, str(base)), (name, str(base), "../x"))]

    assert [(1, "")] * 4 == [(one.exit_code, one.stdout) for one in found]
    assert all(one.stderr for one in found)


@pytest.mark.parametrize("name", [*places.LOCATORS, *places.CWDS])
def test_copy_of_a_script_works_alone(base, tmp_path, name):
    work = tmp_path / "work"
    work.mkdir()
    meta = {"type": "session_meta", "payload": {"id": SID, "cwd": str(work)}, "cwd": str(work)}
    write(base / encode_project_dir(str(work)) / f"{SID}.jsonl", meta)
    write(base / f"rollout-2026-{SID}.jsonl", meta)
    write(base / "p" / f"session-2026-{SID[:8]}.jsonl", {"sessionId": SID})
    (base.parent / "projects.json").write_text(json.dumps({"projects": {str(work): "p"}}))
    copy = tmp_path / "bin" / name
    copy.parent.mkdir()
    shutil.copy(SCRIPTS / name, copy)
    done = run(name, base, script=copy)

    assert (0, "") == (done.returncode, done.stderr)
    assert str(work) in done.stdout or SID[:8] in done.stdout


def test_recorded_folder_that_fits_the_projects_name_wins(base, tmp_path):
    started, later = tmp_path / "my work.d", tmp_path / "later"
    started.mkdir()
    later.mkdir()
    folder = base / encode_project_dir(str(started))
    write(folder / f"{SID}.jsonl", {"type": "mode"}, {"cwd": str(later)}, {"cwd": str(started)})

    assert {"found": True, "cwd": str(started)} == answer("claude-code-cwd", base)


def test_moved_transcript_is_at_home_where_it_lies_now(base, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new-home"
    old.mkdir()
    new.mkdir()
    write(base / encode_project_dir(str(new)) / f"{SID}.jsonl", {"cwd": str(old)})

    assert {"found": True, "cwd": str(new)} == answer("claude-code-cwd", base)


def test_recorded_folder_settles_what_the_name_leaves_open(base, tmp_path):
    for name in ("a-b", "a.b"):
        (tmp_path / name).mkdir()
    project = base / encode_project_dir(str(tmp_path / "a-b"))
    write(project / f"{SID}.jsonl", {"cwd": str(tmp_path / "a.b")})

    assert {"found": True, "cwd": str(tmp_path / "a.b")} == answer("claude-code-cwd", base)


def test_name_that_two_folders_could_have_is_ambiguous(base, tmp_path):
    for name in ("a-b", "a/b"):
        (tmp_path / name).mkdir(parents=True)
    write(base / encode_project_dir(str(tmp_path / "a-b")) / f"{SID}.jsonl", {})

    assert {"found": False, "error": "ambiguous_path_hash"} == answer("claude-code-cwd", base)


def test_name_of_no_folder_that_exists_says_so(base, tmp_path):
    write(base / encode_project_dir(str(tmp_path / "gone")) / f"{SID}.jsonl", {"cwd": str(tmp_path / "gone")})

    assert {"found": False, "error": "no_existing_path_hash_decomposition"} == answer("claude-code-cwd", base)


@pytest.mark.parametrize("name", places.CWDS)
def test_unknown_session_has_no_folder_and_no_error(base, name):
    assert {"found": False} == answer(name, base)


def test_overlong_names_are_known_by_their_beginning(base, tmp_path):
    work = tmp_path / ("d" * 120) / ("e" * 120)
    work.mkdir(parents=True)
    write(base / f"{encode_project_dir(str(work))[:200]}-x1y2z3" / f"{SID}.jsonl", {"cwd": str(work)})

    assert {"found": True, "cwd": str(work)} == answer("claude-code-cwd", base)


def test_one_folder_reached_by_a_link_as_well_is_not_ambiguous(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a-b").symlink_to(tmp_path / "a" / "b")

    assert (tmp_path / "a" / "b").samefile(decode_project_dir(encode_project_dir(str(tmp_path / "a-b"))))


def test_many_dashes_are_decoded_at_once(tmp_path):
    with pytest.raises(PlaceUnknown, match="no_existing"):
        decode_project_dir(encode_project_dir(str(tmp_path)) + "-x" * 2000)


@settings(max_examples=30, deadline=None)
@given(parts=st.lists(st.text("ab-._é ", min_size=1, max_size=6), min_size=1, max_size=4))
def test_every_existing_folder_is_among_the_readings_of_its_name(parts, tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    folder = root.joinpath(*(f"x{part}x" for part in parts))
    folder.mkdir(parents=True)

    assert folder.samefile(decode_project_dir(encode_project_dir(str(folder))))


@pytest.mark.parametrize(
    ("first", "slug"),
    [
        ({"type": "response_item"}, "codex_missing_session_meta"),
        ({"type": "session_meta", "payload": {"id": SID}}, "codex_missing_cwd"),
        ({"type": "session_meta", "payload": {"cwd": "relative"}}, "codex_cwd_not_absolute"),
        ({"type": "session_meta", "payload": {"cwd": "/nowhere/at/all"}}, "codex_cwd_missing"),
    ],
)
def test_rollouts_that_name_no_folder_say_why(base, first, slug):
    write(base / "2026" / f"rollout-2026-04-17T08-00-00-{SID}.jsonl", first)

    assert {"found": False, "error": slug} == answer("codex-cwd", base)


def test_rollout_names_its_folder(base, tmp_path):
    meta = {"type": "session_meta", "payload": {"id": SID, "cwd": str(tmp_path)}}
    write(base / "2026" / "rollout-other-name.jsonl", meta)

    assert {"found": True, "cwd": str(tmp_path)} == answer("codex-cwd", base)
