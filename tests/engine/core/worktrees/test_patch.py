"""Hunks of a diff, and patches of one of them or of some of its lines, with git itself as judge."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.worktrees.patch import (
    PatchUnreadable,
    added_file,
    parse_patch,
    patch_of_hunk,
    quote_path,
    select_lines,
)

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"+x", b"-y", b"@@ z", b"\\"]), max_size=12)
CONTENT = st.tuples(LINES, st.booleans()).map(
    lambda told: b"\n".join(told[0]) + (b"\n" if told[1] and told[0] else b"")
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patches")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def git(folder, *words, given=None):
    done = subprocess.run(["git", "-C", folder, *words], input=given, capture_output=True, check=False)
    assert done.returncode in (0, 1), (done.stderr, given)
    return done


def diff(folder, old, new, context):
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    return git(folder, "diff", "--no-index", f"-U{context}", "--text", "old", "new").stdout.replace(b"a/old", b"a/new")


def apply(folder, content, patch, *, reverse):
    (folder / "new").write_bytes(content)
    words = ["apply", "--whitespace=nowarn", *(["--reverse"] if reverse else [])]
    done = git(folder, *words, "-", given=patch)
    assert done.returncode == 0, done.stderr
    return (folder / "new").read_bytes() if (folder / "new").exists() else b""


@settings(deadline=None, max_examples=25)
@given(old=CONTENT, new=CONTENT, context=st.sampled_from([1, 2, 3]))
def test_hunk_by_hunk_a_file_becomes_the_other_and_back(repository, old, new, context):
    patch = parse_patch(diff(repository, old, new, context))
    content = old
    for hunk in reversed(patch.hunks):  # from the end, so that the places of the others still hold
        content = apply(repository, content, patch_of_hunk(patch, hunk, reverse=False), reverse=False)
    assert content == new
    for hunk in reversed(patch.hunks):
        content = apply(repository, content, patch_of_hunk(patch, hunk, reverse=True), reverse=True)
    assert content == old


@settings(deadline=None, max_examples=25)
@given(old=CONTENT, new=CONTENT, data=st.data())
def test_a_hunk_whose_lines_are_chosen_makes_just_those_changes(repository, old, new, data):
    patch = parse_patch(diff(repository, old, new, 3))
    for hunk in patch.hunks:
        changed = [place for place, line in enumerate(hunk.lines) if line[:1] in (b"+", b"-")]
        chosen = data.draw(st.sets(st.sampled_from(changed)))
        forward = select_lines(hunk, chosen, reverse=False)
        if forward is None:
            assert not chosen
            continue
        if any(line.startswith(b"\\") for line in hunk.lines):
            continue  # without its end a last line is another line, which a part of a hunk may tear apart
        plus = sum(line[:1] == b"+" for line in forward.lines)
        assert plus == sum(hunk.lines[place][:1] == b"+" for place in chosen)
        content = apply(repository, old, patch_of_hunk(patch, forward, reverse=False), reverse=False)
        backward = select_lines(hunk, chosen, reverse=True)
        taken = apply(repository, new, patch_of_hunk(patch, backward, reverse=True), reverse=True)
        growth = sum(1 if hunk.lines[place][:1] == b"+" else -1 for place in chosen)
        assert content.count(b"\n") == old.count(b"\n") + growth
        assert taken.count(b"\n") == new.count(b"\n") - growth
        if len(chosen) == len(changed):
            assert (forward.lines, backward.lines) == (hunk.lines, hunk.lines)


@settings(deadline=None, max_examples=25)
@given(content=CONTENT, name=st.sampled_from(["a b", "tab\there", 'quo"te', "\u00e4", "plain", "new\nline"]))
def test_a_file_that_is_not_tracked_is_shown_as_git_shows_it(repository, content, name):
    (repository / name).write_bytes(content)
    told = git(repository, "diff", "--no-index", "--text", "--", "/dev/null", name).stdout
    without_index = b"\n".join(line for line in told.split(b"\n") if not line.startswith(b"index "))
    if b"\n@@" not in told:  # of an empty file git tells no name
        without_index = without_index.split(b"\n--- ")[0]

    assert added_file(name.encode(), content) == without_index


def test_a_mode_that_changed_does_not_come_along_with_a_hunk():
    told = (
        b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@ f()\n-a\n+b\n"
    )
    patch = parse_patch(told)

    assert patch_of_hunk(patch, patch.hunks[0], reverse=False) == (
        b"diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@ f()\n-a\n+b\n"
    )


def test_binary_files_are_said_to_be_so():
    assert parse_patch(b"diff --git a/x b/x\nBinary files a/x and b/x differ\n").is_binary


@pytest.mark.parametrize(
    "told", [b"@@ -1 +1 @@\n-a\n", b"@@ -1 +1 @@\nx\n", b"@@ huh @@\n", b"@@ -1 +1 @@\n-a\n+b\nrest\n"]
)
def test_a_diff_that_is_not_one_is_refused(told):
    with pytest.raises(PatchUnreadable):
        parse_patch(told)


def test_digests_name_the_place_and_the_lines():
    first, second = parse_patch(b"@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n").hunks

    assert first.digest != second.digest
    assert first.digest == parse_patch(b"@@ -1 +1 @@\n-a\n+b\n").hunks[0].digest


def test_names_are_quoted_as_git_does():
    assert quote_path(b"a b") == b"a b"
    assert quote_path("\u00e4\x01".encode()) == b'"\\303\\244\\001"'
