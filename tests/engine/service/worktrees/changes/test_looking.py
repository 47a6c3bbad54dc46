"""Status, diffs and files of a session's folder: what is told, what is refused, and what never runs."""

import errno
import hashlib
import os
import re
import shutil
import stat

import pytest

from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.core.worktrees.refusals import (
    BranchRefused,
    ChangesTimedOut,
    FileChanged,
    FileMissing,
    FileNotText,
    FileTooLarge,
    GitUnavailable,
    PathRefused,
)
from oulipoly_engine.errors import SystemRefused, UsageInvalid, translate_system_errors
from oulipoly_engine.paths import from_environment
from oulipoly_engine.records import replace
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import GitFailed
from oulipoly_engine.service.worktrees.base.orders import look_at
from oulipoly_engine.service.worktrees.base.place import Place, open_checkout
from oulipoly_engine.service.worktrees.changes import diffs
from oulipoly_engine.service.worktrees.changes.diffs import committed_files, file_diff
from oulipoly_engine.service.worktrees.changes.merge_plan import plan_merge
from oulipoly_engine.service.worktrees.changes.status import change_set, read_status
from oulipoly_engine.service.worktrees.changes.texts import put_text, read_text

LARGE = 500 << 20


def test_vector_16_a_file_is_untracked_then_staged_and_its_diff_is_told(repo):
    repo.write("foo.txt", "foo\n")
    assert change_set(repo.place).unstaged == (ChangeEntry("foo.txt", "?"),)
    assert "+foo" in file_diff(repo.checkout, "foo.txt").diff
    repo.git("add", "foo.txt", folder=repo.work)

    found = change_set(repo.place)
    told = file_diff(repo.checkout, "foo.txt", "index", 2)

    assert found.git_available
    assert (found.staged, found.unstaged) == ((ChangeEntry("foo.txt", "A"),), ())
    assert (told.is_binary, "foo.txt" in told.diff, "+foo" in told.diff) == (False, True, True)


def test_that_git_is_missing_is_told(repo, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    assert "git is not installed" in change_set(repo.place).reason


def test_how_far_the_branch_is_from_its_base(repo):
    repo.write("a", "a")
    repo.commit()
    repo.write("b", "b", repo.main)
    repo.commit(folder=repo.main)
    repo.write("c", "c", repo.main)
    repo.commit(folder=repo.main)

    found = change_set(repo.place)

    assert (found.branch, found.base, found.ahead, found.behind) == (repo.branch, "main", 1, 2)


def test_a_base_that_is_gone_is_stood_in_for_by_its_commit(repo):
    repo.git("switch", "-q", "-c", "other")
    repo.git("branch", "-q", "-D", "main")
    repo.write("a", "a")
    repo.commit()

    found = change_set(repo.place)

    assert (found.base, found.ahead, found.behind) == ("", 1, 0)


def test_a_base_at_a_remote_is_compared_with(repo, tmp_path):
    repo.git("update-ref", "refs/remotes/origin/next", "main")
    repo.write("a", "a")
    repo.commit()

    found = change_set(replace(repo.place, base="origin/next"))

    assert (found.base, found.ahead, found.behind) == ("origin/next", 1, 0)


def test_vector_17_read_write_and_write_with_the_etag(repo):
    read = read_text(repo.checkout, "README.md", "head")
    assert (read.content, read.etag) == ("# Hello\n", hashlib.sha256(b"# Hello\n").hexdigest())
    put_text(repo.checkout, "bar.txt", "abc\n")
    assert (repo.work / "bar.txt").read_text() == "abc\n"
    etag = read_text(repo.checkout, "bar.txt", "worktree").etag

    put_text(repo.checkout, "bar.txt", "def\n", expected_etag=etag)
    with pytest.raises(FileChanged):
        put_text(repo.checkout, "bar.txt", "ghi\n", expected_etag=etag)

    assert (repo.work / "bar.txt").read_text() == "def\n"
    assert repo.status() == "?? bar.txt"


def test_a_file_that_must_not_be_there_yet(repo):
    put_text(repo.checkout, "new/deep/file", "x", expected_etag="", stage=True)
    with pytest.raises(FileChanged):
        put_text(repo.checkout, "new/deep/file", "y", expected_etag="")

    assert repo.status() == "A  new/deep/file"
    assert read_text(repo.checkout, "new/deep/file", "index").content == "x"


def test_a_file_keeps_its_mode_when_it_is_written(repo):
    path = repo.write("run.sh", "a\n")
    path.chmod(0o755)

    put_text(repo.checkout, "run.sh", "b\n")

    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_vector_18_a_folder_without_git(tmp_path):
    found = change_set(Place("s", tmp_path))

    assert not found.git_available
    assert "not a git repository" in found.reason
    with pytest.raises(GitUnavailable):
        open_checkout(Place("s", tmp_path))


def test_a_bare_repository_and_a_folder_that_is_gone(repo, tmp_path):
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))

    assert "bare" in change_set(Place("s", tmp_path / "bare")).reason
    assert "gone" in change_set(Place("s", tmp_path / "nothing")).reason


def test_a_worktree_without_its_git_file_is_never_taken_for_the_main_checkout(repo):
    (repo.work / ".git").unlink()
    repo.write("x", "x")

    found = change_set(repo.place)

    assert not found.git_available
    assert "not a" in found.reason


def test_a_worktree_that_points_to_another_repository_is_refused(repo, tmp_path):
    other = type(repo)(tmp_path / "other")
    (repo.work / ".git").write_text(f"gitdir: {other.main}/.git/worktrees/{other.work.name}\n")

    assert "not a worktree of" in change_set(repo.place).reason


def test_a_detached_head_and_a_branch_without_commits(repo, tmp_path):
    repo.git("switch", "-q", "--detach", folder=repo.work)
    assert change_set(repo.place).branch is None
    empty = tmp_path / "empty"
    empty.mkdir()
    repo.git("init", "-q", "-b", "main", folder=empty)
    repo.write("x", "x\n", empty)
    repo.git("add", "x", folder=empty)

    found = change_set(Place("s", empty))

    assert (found.head, found.branch, found.ahead, found.staged) == (None, "main", None, (ChangeEntry("x", "A"),))
    assert "+x" in file_diff(open_checkout(Place("s", empty)), "x", "index").diff
    with pytest.raises(FileMissing):
        read_text(open_checkout(Place("s", empty)), "x", "head")


@pytest.mark.parametrize("path", ["../etc/passwd", "/etc/passwd", ".git/config", "out/passwd", "out", "in/file"])
def test_vector_19_no_file_endpoint_leaves_the_worktree(repo, path):
    (repo.work / "out").symlink_to("/etc")
    repo.write("real/file", "x")
    (repo.work / "in").symlink_to("real")
    checkout = repo.checkout
    for side in ("worktree", "index"):
        with pytest.raises(PathRefused):
            file_diff(checkout, path, side)
    for rev in ("worktree", "index", "head"):
        with pytest.raises((PathRefused, FileMissing)):
            read_text(checkout, path, rev)
    with pytest.raises(PathRefused):
        put_text(checkout, path, "owned")

    assert (repo.work / "real" / "file").read_text() == "x"


def test_a_link_within_the_worktree_is_a_change_like_others(repo):
    (repo.work / "link").symlink_to("README.md")

    assert "+README.md" in file_diff(repo.checkout, "link").diff
    with pytest.raises(PathRefused):
        read_text(repo.checkout, "link")


def test_fifos_and_folders_are_not_files(repo):
    os.mkfifo(repo.work / "fifo")
    (repo.work / "folder").mkdir()
    for name in ("fifo", "folder"):
        with pytest.raises(PathRefused):
            read_text(repo.checkout, name)
        with pytest.raises(PathRefused):
            put_text(repo.checkout, name, "x")


@pytest.mark.parametrize(("side", "context"), [("head", 3), ("worktree", 21), ("worktree", -1)])
def test_sides_and_context_have_their_bounds(repo, side, context):
    with pytest.raises(UsageInvalid):
        file_diff(repo.checkout, "README.md", side, context)


def test_a_binary_file_is_told_by_size_and_sum(repo):
    content = b"\0\1\2" * 100
    repo.write("blob", content)
    untracked = file_diff(repo.checkout, "blob")
    repo.git("add", "blob", folder=repo.work)
    staged = file_diff(repo.checkout, "blob", "index")

    for told in (untracked, staged):
        assert (told.is_binary, told.diff, told.size) == (True, "", 300)
        assert told.sha == hashlib.sha256(content).hexdigest()


def test_a_large_diff_is_refused_and_a_huge_file_is_not_even_read(repo):
    repo.write("long", "line\n" * 200_000)
    with (repo.work / "huge").open("wb") as file:
        file.truncate(LARGE)
    repo.write("text", "a" * (2 << 20))
    for path, limit in (("long", "512,000"), ("huge", "16,777,216")):
        with pytest.raises(FileTooLarge, match=f"more than the {limit} "):
            file_diff(repo.checkout, path)
    for path in ("huge", "text"):
        with pytest.raises(FileTooLarge):
            read_text(repo.checkout, path)

    assert [one.path for one in change_set(repo.place).unstaged] == ["huge", "long", "text"]


def test_a_tracked_file_that_became_huge_is_not_read_either(repo):
    with (repo.work / "README.md").open("r+b") as file:
        file.truncate(LARGE)

    with pytest.raises(FileTooLarge):
        file_diff(repo.checkout, "README.md")
    assert change_set(repo.place).unstaged == (ChangeEntry("README.md", "M"),)


def test_git_that_takes_too_long_is_given_up(repo, monkeypatch):
    monkeypatch.setattr(diffs, "DIFF_TIMEOUT_S", 0.0)

    with pytest.raises(ChangesTimedOut):
        file_diff(repo.checkout, "README.md")


def test_what_a_branch_has_committed_since_it_began(repo):
    repo.write("README.md", "# Hello you\n")
    repo.write("a b", "x\n")
    repo.commit()
    repo.git("mv", "a b", "b", folder=repo.work)
    repo.commit()
    repo.write("README.md", "# Not committed\n")
    repo.write("theirs", "x\n", repo.main)
    repo.commit(folder=repo.main)

    assert committed_files(repo.checkout) == (ChangeEntry("README.md", "M"), ChangeEntry("b", "A"))
    assert "+# Hello you" in file_diff(repo.checkout, "README.md", "branch").diff
    repo.git("mv", "README.md", "c", folder=repo.work)
    repo.git("commit", "-qm", "Move", folder=repo.work)
    repo.git("update-ref", "refs/heads/main", f"{repo.branch}~1")
    assert committed_files(repo.checkout) == (ChangeEntry("c", "R", "README.md"),)
    with pytest.raises(BranchRefused):
        committed_files(open_checkout(Place("s", repo.main)))


def test_only_utf_8_is_text(repo):
    repo.write("latin", b"gr\xfc\xdfe\n")

    assert "gr\ufffd" in file_diff(repo.checkout, "latin").diff
    with pytest.raises(FileNotText):
        read_text(repo.checkout, "latin")
    with pytest.raises(FileNotText):
        put_text(repo.checkout, "x", "\ud800")


NAMES = [
    "a b",
    "tab\there",
    "new\nline",
    'quo"te',
    "-n",
    ":(top)x",
    "*",
    "[a]",
    "gr\u00fc\u00dfe",
    "\udcff",
    "back\\slash",
]


def test_files_with_odd_names_are_files(repo):
    lines = {name: f"one of {number};\n" for number, name in enumerate(NAMES)}
    for name, line in lines.items():
        with open(os.fsencode(repo.work) + b"/" + os.fsencode(name), "wb") as file:  # noqa: PTH123 - a name of bytes
            file.write(line.encode())
    assert sorted(one.path for one in change_set(repo.place).unstaged) == sorted(NAMES)
    for name, line in lines.items():
        assert added(file_diff(repo.checkout, name).diff) == [f"+{line}"]
    repo.git("add", "-A", folder=repo.work)
    assert sorted(one.path for one in change_set(repo.place).staged) == sorted(NAMES)
    for name, line in lines.items():
        assert added(file_diff(repo.checkout, name, "index").diff) == [f"+{line}"]
        assert read_text(repo.checkout, name, "index").content == line

        put_text(repo.checkout, name, "two\n")

        assert added(file_diff(repo.checkout, name).diff) == ["+two\n"]


def added(diff):
    """Return the lines that a diff adds: no name may mean other files as well."""
    return [line for line in diff.splitlines(keepends=True) if line.startswith(("+one", "+two"))]


def test_a_look_starts_nothing_that_the_repository_s_configuration_names(repo, tmp_path):
    seen = tmp_path / "seen"
    run = f"touch {seen}; cat"
    repo.write("README.md", "# Hello\n", repo.main)
    for key, value in {
        "filter.bad.clean": run,
        "filter.bad.smudge": run,
        "filter.bad.process": run,
        "filter.bad.required": "true",
        "diff.bad.command": run,
        "diff.bad.textconv": run,
        "diff.external": run,
        "core.fsmonitor": run,
        "core.hooksPath": str(tmp_path),
        "core.pager": run,
        "merge.bad.driver": run,
        "gpg.program": run,
        "log.showSignature": "true",
    }.items():
        repo.git("config", key, value)
    repo.write(".gitattributes", "* filter=bad diff=bad merge=bad\n")
    repo.write("README.md", "# Other\n")
    repo.write("new", "new\n")
    seen.unlink(missing_ok=True)

    found = change_set(repo.place)
    told = file_diff(repo.checkout, "README.md")
    read_text(repo.checkout, "README.md", "head")

    assert not seen.exists()
    assert {one.path for one in found.unstaged} == {".gitattributes", "README.md", "new"}
    assert "-# Hello" in told.diff
    assert "+# Other" in told.diff


@pytest.mark.parametrize("where", ["config", "config.worktree", ".git"])
def test_a_look_starts_nothing_that_is_named_at_the_moment_of_the_look(repo, tmp_path, swapped, where):
    seen, shared = tmp_path / "seen", repo.main / ".git"
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.write(".gitattributes", "* filter=bad diff=bad merge=bad\n")
    repo.write("README.md", "# Theirs\n")
    repo.commit()
    repo.write("README.md", "# Ours\n", repo.main)
    repo.commit(folder=repo.main)
    repo.write("README.md", "# Other\n")
    keys = ("clean", "smudge", "process")
    bad = '\n[filter "bad"]\n' + "".join(f'{key} = "touch {seen}; cat"\n' for key in keys) + "required\n"
    bad += f'[merge "bad"]\ndriver = "touch {seen}"\n[diff "bad"]\ntextconv = "touch {seen}; cat"\n'
    bad += f'[diff]\nexternal = "touch {seen}"\n[core]\nfsmonitor = "touch {seen}"\n'
    other = tmp_path / "other"
    shutil.copytree(shared, other)
    (other / "config").write_text((shared / "config").read_text() + bad)
    planted = {
        "config": (shared / "config", (other / "config").read_text()),
        "config.worktree": (shared / "worktrees" / repo.work.name / "config.worktree", bad),
        ".git": (repo.work / ".git", f"gitdir: {other}/worktrees/{repo.work.name}\n"),
    }[where]
    checkout = repo.checkout
    swapped(dict([planted]))

    found = read_status(checkout.quiet).unstaged
    for side in ("worktree", "index", "branch"):
        file_diff(checkout, "README.md", side)
    merged = plan_merge(checkout).preview

    assert planted[0].read_text() == planted[1]
    assert ([one.path for one in found], merged.conflicts) == (["README.md"], ("README.md",))
    assert not seen.exists()


def test_the_user_s_own_filters_work_in_a_look_and_the_repository_s_stand_for_none(repo, home, tmp_path):
    (home / ".gitconfig").write_text('[filter "up"]\nclean = tr a-z A-Z\nsmudge = cat\nrequired\n')
    repo.write(".gitattributes", "*.up filter=up\n*.bad filter=bad\n")
    repo.write("x.up", "WORD\n")
    repo.commit()
    repo.write("x.up", "word\n")
    for name in ("up", "bad"):
        repo.git("config", f"filter.{name}.clean", f"touch {tmp_path / 'seen'}; cat")
        repo.git("config", f"filter.{name}.required", "true")
    repo.write("y.bad", "x\n")

    assert change_set(repo.place).unstaged == (ChangeEntry("y.bad", "?"),)
    assert not (tmp_path / "seen").exists()


def test_a_look_has_the_values_of_the_repository_s_configuration(repo):
    odd = 'a"b\\c \t # ; \r \xff \nnew '
    for name in ("origin", 'o"d.d \\', "Gr\u00fc\u00dfe"):
        repo.git("config", f"remote.{name}.url", odd)
        repo.git("config", "--add", f"remote.{name}.url", "second")
        repo.git("config", f"remote.{name}.uploadpack", odd)
    with (repo.main / ".git" / "config").open("a") as file:
        file.write("[core]\nquotepath\nsshCommand = x\n[include]\npath = more\n")
    (repo.main / ".git" / "more").write_text("[core]\nautocrlf = input\nfsmonitor = x\n")
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.sparseCheckout", "true", folder=repo.work)

    quiet = repo.checkout.quiet
    told = [
        entry
        for entry in repo.git("config", "--list", "-z", "--local", "--includes").split("\0")[:-1]
        if not re.search(r"uploadpack\n|^include|sshcommand|fsmonitor|worktreeconfig|^core\.(bare|logall)", entry)
    ]

    assert os.fsdecode(quiet.check("config", "--list", "-z", "--local")).split("\0")[:-1] == [
        *told,
        "core.sparsecheckout\ntrue",
    ]
    assert len(told) > 10


def test_what_a_look_needs_is_gone_behind_it(repo):
    checkout = repo.checkout
    folder = from_environment().data / "looks"
    own = [*folder.iterdir()]
    left = folder / "left"
    left.mkdir()
    (left / "refs").symlink_to(repo.main / ".git" / "refs")
    os.utime(left, (0, 0))

    change_set(repo.place)
    assert [*folder.iterdir()] == own
    del checkout

    assert [*folder.iterdir()] == []
    assert repo.git("rev-parse", "main") == repo.base_commit
    folder.rmdir()
    folder.write_text("")
    with pytest.raises(GitFailed, match="looks"):
        change_set(repo.place)


def test_a_submodule_is_told_without_going_into_it(repo, tmp_path):
    other = type(repo)(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.main), "module", folder=repo.work)
    repo.commit("Add a module")
    repo.write("module/README.md", "changed\n")
    assert change_set(repo.place).unstaged == ()
    repo.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qam", "x", folder=repo.work / "module")

    assert change_set(repo.place).unstaged == (ChangeEntry("module", "M", None, is_submodule=True),)
    assert "+Subproject commit" in file_diff(repo.checkout, "module").diff


def test_a_full_disk_leaves_the_old_file_and_no_half_of_the_new_one(repo, monkeypatch):
    def refuse(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tree_files.os, "fsync", refuse)
    with pytest.raises(SystemRefused, match=r"README\.md: .*make room"), translate_system_errors():
        put_text(repo.checkout, "README.md", "new\n")

    assert repo.status() == ""


def test_a_git_that_is_missing_is_said_to_be_so(repo, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "git"
    program.write_text("#!/bin/sh\nexit 127\n")
    program.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        found = change_set(repo.place)

    assert not found.git_available
    assert "not installed" in found.reason


def test_an_old_git_is_named_as_the_reason(repo):
    checkout = repo.checkout

    with pytest.raises(GitFailed, match=r"2\.38"):
        look_at(checkout.quiet, "merge-base", "--no-such-option")
