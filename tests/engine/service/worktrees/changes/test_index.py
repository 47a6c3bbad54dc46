"""Staging, discarding and committing: by the file, by the hunk, by the line; nothing that is discarded is lost."""

import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.core.worktrees.refusals import (
    BranchRefused,
    FileChanged,
    FileMissing,
    FileTooLarge,
    IndexLocked,
    MessageMissing,
    NothingStaged,
    PathRefused,
)
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.place import Place, open_checkout
from oulipoly_engine.service.worktrees.changes import index
from oulipoly_engine.service.worktrees.changes.diffs import file_diff
from oulipoly_engine.service.worktrees.changes.status import change_set
from oulipoly_engine.service.worktrees.snapshot import discarded

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


def test_vector_20_stage_unstage_and_discard(repo):
    repo.write("b.txt", "b\n")
    index.stage(repo.checkout, ["b.txt"])
    assert change_set(repo.place).staged == (ChangeEntry("b.txt", "A"),)
    index.unstage(repo.checkout, ["b.txt"])
    assert change_set(repo.place).unstaged == (ChangeEntry("b.txt", "?"),)
    index.discard(repo.checkout, ["b.txt"], "worktree", NOW)
    assert not (repo.work / "b.txt").exists()
    repo.write("c.txt", "c\n")
    index.stage(repo.checkout, ["c.txt"])

    index.discard(repo.checkout, ["c.txt"], "index", LATER)

    assert change_set(repo.place).staged == ()
    assert (repo.work / "c.txt").read_text() == "c\n"


def test_vector_21_a_commit_takes_what_is_staged_alone(repo):
    repo.write("staged.txt", "x")
    repo.write("unstaged.txt", "x")
    index.stage(repo.checkout, ["staged.txt"])

    made = index.commit(repo.checkout, "  Add a file\n\nWith reasons.\n")

    found = change_set(repo.place)
    assert (found.staged, found.unstaged) == ((), (ChangeEntry("unstaged.txt", "?"),))
    assert (made.sha, made.branch, made.subject) == (found.head, repo.branch, "Add a file")
    assert repo.git("log", "-1", "--format=%B", folder=repo.work).strip() == "Add a file\n\nWith reasons."


def test_all_files_can_be_staged_with_a_commit(repo):
    repo.write("new", "x")
    (repo.work / "README.md").unlink()

    index.commit(repo.checkout, "Change all", stages_all=True)

    assert repo.status() == ""


def test_a_commit_is_by_whom_the_caller_says(repo, tmp_path):
    settings = tmp_path / "settings"
    settings.write_text("[i18n]\n\tcommitEncoding = ISO-8859-1\n")
    repo.write("new", "x")
    caller = {"GIT_CONFIG_GLOBAL": str(settings), "GIT_AUTHOR_NAME": "Ann", "GIT_COMMITTER_EMAIL": "bob@example.com"}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in caller.items():
            patched.setenv(name, value)
        index.commit(repo.checkout, "Add", stages_all=True)

    assert "Ann|bob@example.com|ISO-8859-1" == repo.git("log", "-1", "--format=%an|%ce|%e", folder=repo.work)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("message", ["", " \n ", "a\0b", "x" * 100_001])
def test_a_commit_needs_a_message(repo, message):
    repo.write("x", "x")
    with pytest.raises(MessageMissing):
        index.commit(repo.checkout, message, stages_all=True)


def test_a_commit_needs_something_staged_and_a_branch(repo):
    repo.write("x", "x")
    with pytest.raises(NothingStaged):
        index.commit(repo.checkout, "Message")
    repo.git("switch", "-q", "--detach", folder=repo.work)
    with pytest.raises(BranchRefused, match="no branch"):
        index.commit(repo.checkout, "Message", stages_all=True)
    repo.git("switch", "-q", "-c", "elsewhere", folder=repo.work)
    with pytest.raises(BranchRefused, match="elsewhere"):
        index.commit(repo.checkout, "Message", stages_all=True)


def test_hooks_of_the_repository_run_at_a_commit_and_can_refuse_it(repo):
    hook = repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'no tabs please' >&2\nexit 1\n", repo.main)
    hook.chmod(0o755)
    repo.write("x", "x")
    with pytest.raises(GitFailed, match="no tabs please"):
        index.commit(repo.checkout, "Message", stages_all=True)
    hook.write_text("#!/bin/sh\nexit 0\n")

    index.commit(repo.checkout, "Message")


def test_a_locked_index_is_said_with_the_way_out(repo):
    lock = repo.main / ".git" / "worktrees" / repo.work.name / "index.lock"
    lock.touch()
    repo.write("x", "x")

    with pytest.raises(IndexLocked, match=r"index\.lock: delete that file"):
        index.stage(repo.checkout, ["x"])
    assert change_set(repo.place).unstaged == (ChangeEntry("x", "?"),)


def test_git_is_not_stopped_between_its_lock_file_and_the_note_of_it(tmp_path, monkeypatch):
    lock, gate, program = tmp_path / "index.lock", tmp_path / "gate", tmp_path / "git"
    program.write_text(f"#!/bin/sh\n: >{lock}\nuntil [ -e {gate} ]; do sleep 0.01; done\nrm {lock}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def is_stopped():
        if lock.exists():
            gate.touch()
        return gate.exists()

    done = Git(tmp_path).run("-c", "x.y=z", "add", "--all", cancelled=is_stopped)
    assert (done.problem, lock.exists()) == ("was stopped", False)


def test_what_is_discarded_comes_back_byte_for_byte(repo):
    content = {"crlf": b"a\r\nb\n", "bytes": b"\0\xff", "README.md": b"# Other\n", "d/e": b"deep"}
    repo.git("config", "core.autocrlf", "input")
    repo.write("info/attributes", "* text eol=crlf\n", repo.main / ".git")
    for name, data in content.items():
        repo.write(name, data)
    (repo.work / "run").write_text("x")
    (repo.work / "run").chmod(0o755)
    (repo.work / "link").symlink_to("nowhere")
    paths = [*content, "run", "link"]

    told = index.discard(repo.checkout, paths, "worktree", NOW)
    assert repo.status() == ""
    assert (repo.work / "README.md").read_text() == "# Hello\n"
    assert not (repo.work / "d").exists()
    back = discarded.undo(repo.checkout, "", LATER)

    assert {name: (repo.work / name).read_bytes() for name in content} == content
    assert os.access(repo.work / "run", os.X_OK)
    assert (repo.work / "link").readlink().name == "nowhere"
    assert told.reference.startswith(f"refs/agent-runner/discarded/{repo.place.session_id}/")
    assert back.reference > told.reference


def test_an_undo_can_be_undone_and_a_file_that_was_deleted_is_deleted_again(repo):
    (repo.work / "README.md").unlink()
    first = index.discard(repo.checkout, ["README.md"], "worktree", NOW)
    assert repo.status() == ""
    discarded.undo(repo.checkout, first.reference, LATER)
    assert repo.status() == " D README.md"

    discarded.undo(repo.checkout, "", LATER + timedelta(seconds=1))

    assert repo.status() == ""


def test_what_was_staged_alone_comes_back_to_the_index(repo):
    repo.write("x", "staged\n")
    index.stage(repo.checkout, ["x"])
    repo.write("x", "later\n")
    index.discard(repo.checkout, ["x"], "index", NOW)
    assert repo.status() == "?? x"

    discarded.undo(repo.checkout, "", LATER)

    assert repo.git("show", ":x", folder=repo.work) == "staged"
    assert (repo.work / "x").read_text() == "later\n"


def test_a_conflict_can_be_discarded_and_its_text_is_kept(repo):
    repo.write("README.md", "# Mine\n")
    repo.commit()
    repo.write("README.md", "# Theirs\n", repo.main)
    repo.commit(folder=repo.main)
    repo.git("merge", "-q", "main", folder=repo.work, check=False)
    text = (repo.work / "README.md").read_text()
    assert change_set(repo.place).unstaged == (ChangeEntry("README.md", "U"),)

    with pytest.raises(GitFailed):
        index.discard(repo.checkout, ["README.md"], "worktree", NOW)  # git asks which side is meant

    assert (repo.work / "README.md").read_text() == text


def test_there_is_nothing_to_undo_where_nothing_was_discarded(repo):
    with pytest.raises(FileMissing):
        discarded.undo(repo.checkout, "", NOW)
    repo.write("x", "x")
    index.discard(repo.checkout, ["x"], "worktree", NOW)
    with pytest.raises(FileMissing):
        discarded.undo(repo.checkout, "refs/heads/main", NOW)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    "message",
    ["", "[]", '{"side": "worktree"}', '{"side": "worktree", "paths": [1]}', '{"side": "x", "paths": ["a"]}']
    + [f'{{"side": "worktree", "paths": ["{path}"]}}' for path in ("../x", ".git/hooks/post-commit", "/etc/x")],
)
def test_a_discard_that_another_has_written_is_not_undone(repo, message):
    reference = f"refs/agent-runner/discarded/{repo.place.session_id}/x"
    commit = repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Title", "-m", message)
    repo.git("update-ref", reference, commit)

    with pytest.raises((FileMissing, PathRefused)):
        discarded.undo(repo.checkout, reference, NOW)

    assert repo.status() == ""


@pytest.mark.parametrize("path", ["../x", ".git/index", "out/x"])
def test_no_order_leaves_the_worktree(repo, path, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("keep")
    (repo.work / "out").symlink_to(outside)
    for refuse in (
        lambda: index.stage(repo.checkout, [path]),
        lambda: index.unstage(repo.checkout, [path]),
        lambda: index.discard(repo.checkout, [path], "worktree", NOW),
        lambda: index.stage_hunk(repo.checkout, path, "0"),
    ):
        with pytest.raises(PathRefused):
            refuse()

    assert (outside / "x").read_text() == "keep"


def test_orders_without_sense_are_refused(repo):
    with pytest.raises(UsageInvalid):
        index.discard(repo.checkout, [], "worktree", NOW)
    with pytest.raises(UsageInvalid):
        index.discard(repo.checkout, ["README.md"], "head", NOW)
    with pytest.raises(FileMissing):
        index.discard(repo.checkout, ["nothing"], "worktree", NOW)
    with pytest.raises(FileMissing):
        index.stage(repo.checkout, ["nothing"])


def test_what_cannot_be_kept_is_not_discarded(repo):
    with (repo.work / "huge").open("wb") as file:
        file.truncate(500 << 20)

    with pytest.raises(FileTooLarge):
        index.discard(repo.checkout, ["huge"], "worktree", NOW)

    assert (repo.work / "huge").exists()


def two_hunks(repo):
    lines = [f"{number}\n" for number in range(40)]
    repo.write("long", "".join(lines))
    repo.commit()
    lines[3] = "three\n"
    lines[30:32] = ["thirty\n", "thirty-one\n", "and more\n"]
    repo.write("long", "".join(lines))
    return file_diff(repo.checkout, "long").hunks


@pytest.mark.parametrize("place", [0, 1])
def test_one_hunk_is_staged_unstaged_and_discarded(repo, place):
    hunks = two_hunks(repo)
    other = hunks[1 - place]
    index.stage_hunk(repo.checkout, "long", hunks[place].digest)
    staged = file_diff(repo.checkout, "long", "index").hunks
    assert [one.lines for one in staged] == [hunks[place].lines]
    assert [one.lines for one in file_diff(repo.checkout, "long").hunks] == [other.lines]
    index.unstage_hunk(repo.checkout, "long", staged[0].digest)
    assert file_diff(repo.checkout, "long").hunks == hunks

    told = index.discard_hunk(repo.checkout, "long", hunks[place].digest, NOW)

    assert [one.lines for one in file_diff(repo.checkout, "long").hunks] == [other.lines]
    discarded.undo(repo.checkout, told.reference, LATER)
    assert file_diff(repo.checkout, "long").hunks == hunks


def test_some_lines_of_a_hunk_are_staged(repo):
    hunk = two_hunks(repo)[1]
    chosen = {place for place, line in enumerate(hunk.lines) if line == "+and more"}

    index.stage_hunk(repo.checkout, "long", hunk.digest, lines=chosen)

    staged = file_diff(repo.checkout, "long", "index").hunks[0]
    assert [line for line in staged.lines if line[0] != " "] == ["+and more"]
    with pytest.raises(UsageInvalid):
        index.stage_hunk(repo.checkout, "long", file_diff(repo.checkout, "long").hunks[0].digest, lines={0})


def test_a_hunk_of_a_file_that_has_changed_is_refused(repo):
    hunks = two_hunks(repo)
    repo.write("long", (repo.work / "long").read_text().replace("three\n", "drei\n"))

    with pytest.raises(FileChanged):
        index.stage_hunk(repo.checkout, "long", hunks[0].digest)
    index.stage_hunk(repo.checkout, "long", hunks[1].digest)

    assert change_set(repo.place).staged == (ChangeEntry("long", "M"),)


def test_a_hunk_between_lines_that_are_alike_lands_on_its_own_line(repo):
    repo.write("same", "x\n" * 30)
    repo.commit()
    repo.write("same", "x\n" * 10 + "y\n" + "x\n" * 20 + "z\n")
    hunks = file_diff(repo.checkout, "same").hunks

    index.stage_hunk(repo.checkout, "same", hunks[1].digest)

    assert repo.git("show", ":same", folder=repo.work).split("\n") == ["x"] * 30 + ["z"]


def test_a_hunk_seen_without_lines_around_it_is_not_staged(repo):
    repo.write("same", "a\na")
    repo.commit()
    repo.write("same", "a\n")
    bare = file_diff(repo.checkout, "same", "worktree", 0).hunks[0]

    with pytest.raises(FileChanged):
        index.stage_hunk(repo.checkout, "same", bare.digest)
    index.stage_hunk(repo.checkout, "same", file_diff(repo.checkout, "same").hunks[0].digest)

    assert repo.git("show", ":same", folder=repo.work) == "a"


def test_the_hunk_of_a_file_that_is_not_tracked_stages_it(repo):
    repo.write("a b", "one\n")

    index.stage_hunk(repo.checkout, "a b", file_diff(repo.checkout, "a b").hunks[0].digest)

    assert change_set(repo.place).staged == (ChangeEntry("a b", "A"),)


def test_odd_names_are_staged_discarded_and_undone(repo):
    names = ["new\nline", ":(top)x", "*", "\udcff", "-n"]
    repo.write("other", "stays")
    for name in names:
        with open(os.fsencode(repo.work) + b"/" + os.fsencode(name), "wb") as file:  # noqa: PTH123 - a name of bytes
            file.write(b"one\n")
    for name in names:  # alone: no name may mean others
        index.stage(repo.checkout, [name])
        assert [one.path for one in change_set(repo.place).staged] == [name]
        index.unstage(repo.checkout, [name])
    index.discard(repo.checkout, names, "worktree", NOW)
    assert [one.path for one in change_set(repo.place).unstaged] == ["other"]

    discarded.undo(repo.checkout, "", LATER)

    assert {one.path for one in change_set(repo.place).unstaged} == {"other", *names}


def test_a_branch_without_commits_is_staged_unstaged_and_gets_its_first_commit(repo, tmp_path):
    folder = tmp_path / "empty"
    (folder / "below").mkdir(parents=True)
    repo.git("init", "-q", "-b", "main", folder=folder)
    for key in ("user.name", "user.email"):
        repo.git("config", key, "x", folder=folder)
    repo.write("a", "a\n", folder)
    repo.write("below/b", "b\n", folder)
    checkout = open_checkout(Place("s", folder / "below"))  # a session may work in a folder of the repository
    assert checkout.root == folder
    index.stage(checkout, ["a"])
    index.unstage(checkout, ["a"])
    with pytest.raises(NothingStaged):
        index.commit(checkout, "First")
    index.stage(checkout, ())
    index.unstage(checkout, ())
    index.discard(checkout, ["a"], "worktree", NOW)
    discarded.undo(checkout, "", LATER)

    made = index.commit(checkout, "First", stages_all=True)

    assert made.branch == "main"
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD", folder=folder) == "a\nbelow/b"


def test_what_only_the_index_had_comes_back_though_another_file_is_in_conflict(repo):
    repo.write("README.md", "theirs\n", repo.main)
    repo.commit(folder=repo.main)
    repo.write("README.md", "ours\n")
    repo.commit()
    repo.git("merge", "main", folder=repo.work, check=False)
    repo.write("b", "only staged\n")
    repo.git("add", "b", folder=repo.work)
    repo.write("b", "later\n")

    index.discard(repo.checkout, ["b"], "index", NOW)
    discarded.undo(repo.checkout, "", LATER)

    assert ("UU README.md\nAM b", "only staged") == (repo.status(), repo.git("show", ":b", folder=repo.work))


def test_an_order_goes_to_the_repository_that_was_found(repo, tmp_path, swapped):
    other = tmp_path / "other"
    shutil.copytree(repo.main / ".git", other)
    hook = repo.write("hooks/pre-commit", f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n", other)
    hook.chmod(0o755)
    repo.write("new", "x\n")
    checkout = repo.checkout
    swapped({repo.work / ".git": f"gitdir: {other}/worktrees/{repo.work.name}\n"})

    made = index.commit(checkout, "More", stages_all=True)

    assert repo.git("rev-parse", repo.branch) == made.sha != repo.base_commit
    assert not (tmp_path / "ran").exists()
