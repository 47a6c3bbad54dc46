"""The files of a checkout at a turn's end come back as they were, and so do those that were there meanwhile."""

import os
import resource
import shutil
import time
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.worktrees.changes import FileChanges, LeftOut
from oulipoly_engine.core.worktrees.refusals import FileMissing, PathRefused
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import GitFailed
from oulipoly_engine.service.worktrees.snapshot import turns
from oulipoly_engine.service.worktrees.snapshot.turns import preview_turn, restore_turn, take_turn

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def picture(repo):
    """Return all files and links of the worktree, and what git says of its index and its branch."""
    files = {}
    for path in sorted(repo.work.rglob("*")):
        name = os.fsencode(path.relative_to(repo.work))
        if path.is_symlink():
            files[name] = str(path.readlink())
        elif path.is_file() and path.name != ".git":
            files[name] = (bool(path.stat().st_mode & 0o100), path.read_bytes())
    return files, repo.git("ls-files", "--stage", folder=repo.work), repo.git("rev-parse", "HEAD", folder=repo.work)


def objects_of(repo):
    return sorted((repo.main / ".git" / "objects").rglob("*")), repo.git("for-each-ref")


def fill(repo):
    """Make files of all kinds: tracked and not, with line ends and a filter that git would run, links, odd names."""
    repo.write(".gitattributes", "* text=auto eol=crlf\n*.f filter=loud ident\n")
    repo.git("config", "filter.loud.clean", f"touch {repo.main}/ran; tr a-z A-Z")
    repo.write("a", "one\r\ntwo\n")
    repo.write("b.f", "$Id: x$\r\n")
    repo.write("folder/c", bytes(range(256)))
    repo.write("folder/deep/d", "d")
    repo.write("new\nline", "x")
    repo.write("run", "#!/bin/sh\n").chmod(0o755)
    (repo.work / "link").symlink_to("/nowhere")
    repo.git("add", "a", folder=repo.work)


def change(repo):
    """Change the same files in each way."""
    repo.write("a", "three\r\n")
    (repo.work / "b.f").unlink()
    shutil.rmtree(repo.work / "folder")
    repo.write("folder", "a file now")
    (repo.work / "link").unlink()
    repo.write("link/inner", "a folder now")
    (repo.work / "run").chmod(0o644)
    (repo.work / "new\nline").unlink()
    (repo.work / "new\nline").symlink_to("a")
    repo.write(os.fsdecode(b"\xff"), "later")


def test_files_go_back_and_forth_byte_for_byte(repo):
    fill(repo)
    first = picture(repo)
    begun = take_turn(repo.checkout, "1", NOW)
    change(repo)
    second = picture(repo)
    foreseen = preview_turn(repo.checkout, begun.reference).changes
    assert second == picture(repo)

    back = restore_turn(repo.checkout, begun.reference, NOW)

    assert first == picture(repo)
    assert foreseen == back.changes
    assert foreseen == FileChanges(
        changing=("a", "new\nline", "run"),
        coming=("b.f", "folder/c", "folder/deep/d", "link"),
        going=("folder", "link/inner", "\udcff"),
    )
    assert restore_turn(repo.checkout, begun.reference, LATER).before is None  # twice does no harm
    assert restore_turn(repo.checkout, back.before.reference, LATER).changes.coming == foreseen.going
    assert second == picture(repo)
    assert not (repo.main / "ran").exists()
    assert begun.reference == f"refs/agent-runner/turn/{repo.place.session_id}/1"
    assert repo.git("rev-parse", f"{begun.reference}^") == repo.base_commit


def test_nothing_is_written_where_nothing_has_changed(repo):
    fill(repo)
    begun = take_turn(repo.checkout, "1", NOW)
    before = objects_of(repo)
    os.utime(repo.work / "a")

    again = take_turn(repo.checkout, "2", LATER)

    assert (begun.reference, begun.tree, False) == (again.reference, again.tree, again.is_new)
    assert before == objects_of(repo)


def test_what_is_in_no_snapshot_is_named_and_stays(repo, monkeypatch):
    monkeypatch.setattr(turns, "LARGEST", 100)
    repo.write("large", "small\n")
    repo.write("build", "a file\n")
    repo.write("log", "first\n")
    begun = take_turn(repo.checkout, "1", NOW)
    repo.write("large", "x" * 101)
    (repo.work / "build").unlink()
    repo.write("build/out.o", "o")
    (repo.work / "log").unlink()
    repo.write(".gitignore", "*.o\nlog/\ncache/\n")
    repo.write("log/1", "later\n")
    repo.write("cache/1", "later\n")
    repo.git("init", "-q", str(repo.work / "inner"))
    repo.write("git~1/refused", "x")
    kept = {name: (repo.work / name).read_text() for name in ("large", "build/out.o", "log/1")}

    back = restore_turn(repo.checkout, begun.reference, LATER)

    assert back.before.left_out == LeftOut(("build/out.o", "cache/"), ("inner/",), ("large",), ("git~1/refused",))
    assert back.changes == FileChanges(going=(".gitignore",), staying=("build", "large", "log"))
    assert kept == {name: (repo.work / name).read_text() for name in kept}


def test_only_chosen_files_and_folders_are_given_back(repo):
    for name in ("a", "folder/b", "folder/c", "folders"):
        repo.write(name, "old")
    begun = take_turn(repo.checkout, "1", NOW)
    for name in ("a", "folder/b", "folder/c", "folder/new", "folders"):
        repo.write(name, "new")

    back = restore_turn(repo.checkout, begun.reference, LATER, ["folder/", "a"])

    assert back.changes == FileChanges(changing=("a", "folder/b", "folder/c"), going=("folder/new",))
    assert (repo.work / "folders").read_text() == "new"


def kill_at(patch, step):
    """Have the step after so many files end it all."""
    steps = iter(range(step))

    def wrap(real):
        def stop(*words):
            if next(steps, None) is None:
                raise KeyboardInterrupt
            real(*words)

        return stop

    for name in ("place_file", "remove_file"):
        patch.setattr(tree_files, name, wrap(getattr(tree_files, name)))


def test_a_kill_leaves_old_files_or_new_ones_and_the_way_back(repo, monkeypatch):
    fill(repo)
    first = picture(repo)
    begun = take_turn(repo.checkout, "1", NOW)
    change(repo)
    second = picture(repo)
    moved = take_turn(repo.checkout, "2", LATER)

    for step, wanted, then in ((0, first, begun), (1, second, moved), (4, first, begun), (8, second, moved)):
        kill_at(monkeypatch, step)
        with pytest.raises(KeyboardInterrupt):
            restore_turn(repo.checkout, begun.reference, LATER)
        monkeypatch.undo()
        between = picture(repo)[0]
        assert all(content in (first[0].get(name), second[0].get(name)) for name, content in between.items())
        restore_turn(repo.checkout, then.reference, LATER)
        assert wanted == picture(repo)
        restore_turn(repo.checkout, moved.reference, LATER)


def test_what_a_kill_has_left_of_a_restore_goes_with_a_later_one(repo):
    begun = take_turn(repo.checkout, "1", NOW)
    place = repo.main / ".git" / "worktrees" / repo.work.name / "agent-runner-restoring"
    for name, age_s in (("old", 100_000), ("new", 0)):
        (place / name).mkdir(parents=True)
        os.utime(place / name, (time.time() - age_s,) * 2)
    (repo.work / "README.md").unlink()

    restore_turn(repo.checkout, begun.reference, LATER)

    assert ["new"] == [left.name for left in place.iterdir()]


def test_a_spoiled_memory_of_the_files_is_made_anew(repo):
    begun = take_turn(repo.checkout, "1", NOW)
    memory = repo.main / ".git" / "worktrees" / repo.work.name / "agent-runner-index"
    memory.write_bytes(b"DIRC" + bytes(100))

    assert begun.tree == take_turn(repo.checkout, "2", LATER).tree


def test_a_memory_of_the_files_that_cannot_be_written_is_missed_by_nobody(repo, monkeypatch):
    def refuse(*_):
        raise FileNotFoundError

    with monkeypatch.context() as patch:
        patch.setattr(turns.shutil, "copy2", refuse)
        begun = take_turn(repo.checkout, "1", NOW)
    repo.write("a", "two")

    assert ("a",) == restore_turn(repo.checkout, begun.reference, LATER).changes.going


@pytest.mark.parametrize("reference", ["refs/heads/main", "refs/agent-runner/turn/none/1", "--all"])
def test_only_the_files_of_a_turn_are_given_back(repo, reference):
    with pytest.raises(FileMissing):
        restore_turn(repo.checkout, reference, NOW)


def test_a_snapshot_that_another_has_written_leads_nowhere_else(repo):
    begun = take_turn(repo.checkout, "1", NOW)
    blob = repo.git("hash-object", "-w", str(repo.work / "README.md"))
    plan = repo.write("plan", b"100644 escaped\0" + bytes.fromhex(blob), repo.main)
    for name in ("..", "."):
        tree = repo.git("hash-object", "-t", "tree", "-w", "--literally", str(plan))
        plan.write_bytes(f"40000 {name}\0".encode() + bytes.fromhex(tree))
    tree = repo.git("hash-object", "-t", "tree", "-w", "--literally", str(plan))
    repo.git("update-ref", begun.reference, repo.git("commit-tree", tree, "-m", "x"))

    with pytest.raises(PathRefused):
        restore_turn(repo.checkout, begun.reference, LATER)

    assert [] == [*repo.main.rglob("escaped")]


@pytest.mark.parametrize(("limit", "most"), [("MOST_FILES", 1), ("MOST_BYTES", 5)])
def test_too_much_for_a_snapshot_is_refused_until_git_ignores_it(repo, monkeypatch, limit, most):
    repo.write("large", "123456")
    repo.write("README.md", "")
    monkeypatch.setattr(turns, limit, most)
    with pytest.raises(GitFailed, match="have git ignore"):
        take_turn(repo.checkout, "1", NOW)

    repo.write(".git/info/exclude", "large\n/.agent-runner-worktrees/\n", repo.main)
    assert take_turn(repo.checkout, "1", NOW).is_new


def test_what_no_snapshot_has_is_named_before_it_is_written_over(repo):
    repo.write("a", "one")
    repo.write("b", "one")
    begun = take_turn(repo.checkout, "1", NOW)
    repo.write("a", "two")
    take_turn(repo.checkout, "2", LATER)
    assert ("a",) == preview_turn(repo.checkout, begun.reference).changes.changing
    assert () == preview_turn(repo.checkout, begun.reference).unsaved

    repo.write("b", "by hand")
    repo.write("c", "new")
    preview = preview_turn(repo.checkout, begun.reference)
    assert {"b", "c"} <= {*preview.unsaved}
    assert ("a", "b", "c") == (*preview.changes.changing, *preview.changes.going)


def test_a_submodule_is_named_and_stays_as_it_is(repo, tmp_path):
    repo.git("init", "-q", str(tmp_path / "other"))
    for folder in (repo.main, tmp_path / "other"):
        repo.git("config", "user.name", "A Person", folder=folder)
        repo.git("config", "user.email", "person@example.com", folder=folder)
    repo.write("inside", "one", tmp_path / "other")
    repo.commit(folder=tmp_path / "other")
    repo.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "other"),
        "part",
        folder=repo.work,
    )
    repo.commit()
    repo.write("a", "old")
    begun = take_turn(repo.checkout, "1", NOW)
    repo.write("a", "new")
    repo.write("part/inside", "two")

    assert ("part/",) == preview_turn(repo.checkout, begun.reference).left_out.repositories
    assert ("a",) == restore_turn(repo.checkout, begun.reference, LATER).changes.touched
    assert "two" == (repo.work / "part" / "inside").read_text()


def test_files_go_back_though_the_branch_is_another_and_another_git_has_the_index_locked(repo):
    repo.write("a", "old")
    begun = take_turn(repo.checkout, "1", NOW)
    repo.git("switch", "-q", "-c", "other", folder=repo.work)
    repo.write("a", "new")
    head = repo.commit()
    repo.git("gc", "--quiet", "--prune=now")
    lock = repo.main / ".git" / "worktrees" / repo.work.name / "index.lock"
    lock.touch()

    back = restore_turn(repo.checkout, begun.reference, LATER)

    assert ("old", head) == ((repo.work / "a").read_text(), repo.git("rev-parse", "other"))
    assert lock.exists()
    lock.unlink()
    restore_turn(repo.checkout, back.before.reference, LATER)
    assert "" == repo.status()


def test_on_a_full_disk_nothing_goes_back_and_later_everything(repo):
    repo.write("a", "x" * 50_000)
    repo.write("b", "old")
    begun = take_turn(repo.checkout, "1", NOW)
    repo.write("a", "new")
    (repo.work / "b").unlink()
    repo.write("c", "new")
    before = picture(repo)
    take_turn(repo.checkout, "2", LATER)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # bytes of a file: what a full disk is for it
        try:
            restore_turn(repo.checkout, begun.reference, LATER)
        except (GitFailed, OSError):
            os._exit(3)
        os._exit(0)

    assert 3 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert before == picture(repo)
    restore_turn(repo.checkout, begun.reference, LATER)
    assert ("old", False) == ((repo.work / "b").read_text(), (repo.work / "c").exists())
