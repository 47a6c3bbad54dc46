"""No removal loses anything: what was in the worktree is kept first, and comes back as it was."""

import os
import shutil
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live.sessions import LiveSession, QueuedMessage
from oulipoly_engine.core.worktrees.worktree_refusals import (
    BaseMissing,
    BranchInUse,
    SalvageFailed,
    WorktreeBlocked,
    WorktreeBusy,
    WorktreeKept,
)
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.host import runtime_folder
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.worktrees import branches, survey
from oulipoly_engine.service.worktrees.base import repository, unread
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.guard import hold_for_start
from oulipoly_engine.service.worktrees.branches import find_repository
from oulipoly_engine.service.worktrees.remove import RemovalWish, remove
from oulipoly_engine.service.worktrees.snapshot.salvage import read_salvage, take_salvage
from oulipoly_engine.service.worktrees.survey import measure
from oulipoly_engine.store.live import live_queue, live_sessions


def plant_a_fifo(repo, path):
    os.mkfifo(repo.folder / ".git" / "worktrees" / path.name / "waits")


def pass_over(repo, path):
    repo.git("update-index", "--skip-worktree", "a.txt", "run.sh", "folder/b.bin", folder=path)
    repo.write("a.txt", "only here\n", path)
    (path / "run.sh").unlink()
    repo.git("update-index", "--assume-unchanged", ".gitignore", folder=path)
    repo.write(".gitignore", "only here\n", path)


def spoil_a_little(repo, path):
    """Staged, changed, both, deleted, untracked, renamed, links, modes, intent to add, odd names and bytes."""
    repo.write("a.txt", "staged\n", path)
    repo.git("add", "a.txt", folder=path)
    repo.write("a.txt", b"changed\r\nlines \xff\r\n", path)
    (path / "folder" / "b.bin").unlink()
    (path / "run.sh").chmod(0o644)
    repo.write("new/ü\n'\"", "untracked\r\n", path)
    repo.write("later", "later\n", path)
    repo.git("add", "-N", "later", folder=path)
    repo.write("staged", "staged\n", path)
    repo.git("add", "staged", folder=path)
    (path / "staged").unlink()
    (path / "link").symlink_to("/etc/passwd")
    (path / "broken").symlink_to("../nowhere")
    repo.write("empty", b"", path)


def merge(repo, path):
    conflict(repo, path)
    assert repo.run("merge", "main", folder=path).returncode


def rebase(repo, path):
    conflict(repo, path)
    assert repo.run("rebase", "main", folder=path).returncode


def cherry_pick(repo, path):
    conflict(repo, path)
    assert repo.run("cherry-pick", "main", folder=path).returncode


def bisect(repo, path):
    repo.git("bisect", "start", folder=path)
    repo.git("bisect", "bad", folder=path)


def conflict(repo, path):
    repo.write("a.txt", "theirs\n", path)
    repo.write("only theirs", "x\n", path)
    repo.commit("Theirs", path, adds=True)
    repo.write("a.txt", f"ours, and not that of {path.name}\n")
    repo.commit("Ours", adds=True)


def lose_a_commit(repo, path):
    """A commit that the reflog alone still knows."""
    repo.write("lost", "lost\n", path)
    repo.commit("Lost", path, adds=True)
    repo.git("reset", "-q", "--hard", "HEAD^", folder=path)


def file_for_folder(repo, path):
    (path / "folder" / "b.bin").unlink()
    (path / "folder").rmdir()
    repo.write("folder", "a file now\n", path)
    (path / "a.txt").unlink()
    repo.write("a.txt/inside", "a folder now\n", path)


def orphan(repo, path):
    repo.git("checkout", "-q", "--orphan", "lonely", folder=path)


STATES = {
    "clean": lambda repo, path: None,
    "changed": spoil_a_little,
    "passed over": pass_over,
    "a FIFO among git's files": plant_a_fifo,
    "merge": merge,
    "rebase": rebase,
    "cherry-pick": cherry_pick,
    "merge and changes": lambda repo, path: (merge(repo, path), repo.write("new", "x\n", path)),
    "bisect": bisect,
    "commits": lambda repo, path: (repo.write("x", "x\n", path), repo.commit("X", path, adds=True)),
    "lost commit": lose_a_commit,
    "file for folder": file_for_folder,
    "detached": lambda repo, path: (repo.git("checkout", "-q", "--detach", folder=path), repo.commit("D", path)),
}


def test_what_was_in_a_worktree_comes_back_as_it_was(repo, trees):
    """Each state has a worktree of one repository: git looks for faults and for garbage once for all of them."""
    paths = {}
    for state, spoil in STATES.items():
        paths[state] = Path(trees.create(f"s{len(paths)}", repo.folder).path)
        spoil(repo, paths[state])
    before = {state: repo.picture(path) for state, path in paths.items()}
    branches = repo.branches()

    salvages = {path.name: trees.remove(path.name, force=True).worktree.salvage for path in paths.values()}
    assert ([], set()) == ([state for state, path in paths.items() if path.exists()], repo.worktrees())
    repo.assert_sound()
    repo.git("-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")  # what no reference holds is gone now
    for path in paths.values():
        trees.restore(path.name)

    for state, path in paths.items():
        assert before[state] == repo.picture(path), state
    assert branches == repo.branches()
    for name, salvage in salvages.items():
        assert salvage.startswith(f"refs/agent-runner/salvage/{name}/2")
    repo.assert_sound()
    assert "" == repo.git("status", "--porcelain")


def test_a_salvage_is_a_stash_that_git_alone_can_apply(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("a.txt", "changed\n", path)
    repo.write("new", "untracked\n", path)
    before = repo.picture(path)

    salvage = take_salvage(trees.find("s1"), SystemClock().now())
    again = take_salvage(trees.find("s1"), SystemClock().now())

    assert before == repo.picture(path)
    assert salvage.ref != again.ref
    repo.git("stash", "apply", "-q", salvage.ref)
    assert ("changed\n", "untracked\n") == ((repo.folder / "a.txt").read_text(), (repo.folder / "new").read_text())


def test_line_ends_and_filters_change_no_byte_of_what_was_changed(repo, trees):
    repo.write(".gitattributes", "*.txt text eol=crlf\n*.up filter=up\n")
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    repo.git("config", "filter.up.smudge", "tr A-Z a-z")
    repo.commit("Attributes", adds=True)
    repo.write("info/attributes", "* text eol=crlf\n", repo.folder / ".git")
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("a.txt", b"mixed\r\nand\nlines\r\n", path)
    repo.write("new.txt", b"mixed\r\nand\n", path)
    repo.write("x.up", "MiXed\n", path)
    repo.write(".gitattributes", "* text eol=lf\n", path)
    before = repo.picture(path)[0]

    trees.remove("s1", force=True)
    trees.restore("s1")

    assert before == repo.picture(path)[0]


def test_without_force_changes_and_unfinished_merges_stay(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("new", "x\n", path)
    with pytest.raises(WorktreeKept, match="has 1 changed file that nobody has committed"):
        trees.remove("s1")
    (path / "new").unlink()
    repo.git("bisect", "start", folder=path)
    with pytest.raises(WorktreeKept, match="unfinished bisection"):
        trees.remove("s1")
    repo.git("bisect", "reset", folder=path)

    assert "ready" == trees.remove("s1", dry_run=True).worktree.state
    trees.guard("s1")
    assert (True, False) == (trees.remove("s1").deleted_branch, path.exists())


def test_a_branch_with_commits_of_its_own_stays_and_a_merged_one_goes(repo, trees):
    for name in ("s1", "s2", "s3"):
        path = Path(trees.create(name, repo.folder).path)
        repo.write(name, name, path)
        repo.commit(name, path, adds=True)
    repo.git("merge", "-q", "--no-edit", "aw/s2")
    repo.git("merge", "-q", "--squash", "aw/s3")
    repo.commit("Squashed")

    removed = {name: trees.remove(name).deleted_branch for name in ("s1", "s2", "s3")}

    assert {"s1": False, "s2": True, "s3": True} == removed
    assert {"main", "aw/s1"} == repo.branches()


def test_only_what_is_clean_and_merged_goes_by_itself(repo, clock, trees):
    for name in ("clean", "dirty", "ahead", "gone", "merged"):
        trees.create(name, repo.folder)
    repo.write("x", "x\n", Path(trees.find("dirty").path))
    for name in ("ahead", "merged"):
        repo.write(name, name, Path(trees.find(name).path))
        repo.commit(name, Path(trees.find(name).path), adds=True)
    repo.git("merge", "-q", "--no-edit", "aw/merged")
    subprocess.run(["rm", "-rf", trees.find("gone").path], check=True)

    early = trees.prune()
    clock.advance(3600)
    planned, done = trees.prune(dry_run=True), trees.prune()

    gone = {"clean", "merged"}
    assert gone == {one.worktree.session_id for one in planned.gone} == {one.worktree.session_id for one in done.gone}
    assert (set(), {"its session is about to begin"}) == (set(early.gone), {why for _, why in early.kept})
    assert {"dirty": "it has 1 changed file", "ahead": "it has commits that are not merged"}.items() <= {
        one.worktree.session_id: why for one, why in done.kept
    }.items()
    assert all(one.size_bytes > 0 for one in planned.gone)
    assert {"dirty", "ahead"} <= {Path(one).name for one in repo.worktrees()}
    repo.assert_sound()


def test_prune_drops_old_references_of_removed_worktrees_but_never_the_newest(repo, clock, trees):
    path = Path(trees.create("s1", repo.folder).path)
    trees.create("there", repo.folder)
    clock.jump(-100 * 24 * 3600)
    for text in ("first", "second"):
        repo.write("new", text, path)
        trees.remove("s1", force=True)
        clock.advance(60)
        if text == "first":
            trees.restore("s1")
    head = repo.git("rev-parse", "HEAD")
    for name in ("backup/s1/20200101T000000.000000Z", "backup/s1/mine", "backup/there/20200101T000000.000000Z"):
        repo.git("update-ref", f"refs/agent-runner/{name}", head)
    clock.jump(9 * 24 * 3600)
    early = trees.prune(dry_run=True)
    clock.jump(91 * 24 * 3600)
    planned, done, again = trees.prune(dry_run=True), trees.prune(), trees.prune()
    trees.restore("s1")

    assert () == early.references == again.references
    assert planned.references == done.references
    assert ("salvage", "s1", "all of the worktree on aw/s1") == (
        done.references[0].kind,
        done.references[0].session_id,
        done.references[0].holds,
    )
    left = repo.git("for-each-ref", "--format=%(refname)", "refs/agent-runner").split()
    assert 4 == len(left)
    assert done.references[0].name not in left
    assert "second" == (path / "new").read_text()


def test_a_session_whose_messages_wait_keeps_its_worktree_until_it_is_closed(repo, engine, clock, trees):
    trees.create("s1", repo.folder)
    now = clock.now()
    session = LiveSession("s1", trees.find("s1").path, "r", "codex", "m", now, now)
    with engine._home.lend_store() as store:
        live_sessions.insert(store, session)
        live_queue.append(store, QueuedMessage("q1", "s1", "hello", "queued", now))
    early = trees.prune()
    with engine._home.lend_store() as store:
        live_sessions.update(store, "s1", now, ended="canceled")
    late = trees.prune()

    assert ["messages wait for its session"] == [why for _, why in early.kept]
    assert ["s1"] == [one.worktree.session_id for one in late.gone]


def note_session(engine, session_id, folder, **more):
    now = engine._home.now()
    with engine._home.lend_store() as store:
        live_sessions.insert(store, LiveSession(session_id, str(folder), "r", "codex", "m", now, now))
        live_sessions.update(store, session_id, now, **more)


def test_a_young_session_keeps_its_worktree_until_it_ends_or_is_old(repo, engine, clock, trees):
    for name in ("old", "young", "ended", "forked"):
        trees.create(name, repo.folder)
    note_session(engine, "old", trees.find("old").path)
    clock.advance(3600)
    note_session(engine, "young", trees.find("young").path)
    note_session(engine, "ended", trees.find("ended").path, ended="closed")
    note_session(engine, "forked", trees.find("forked").path, ended="closed")
    note_session(engine, "fork", trees.find("forked").path)  # works in the folder of the one that it was forked from
    pruned = trees.prune()

    assert {"old", "ended"} == {one.worktree.session_id for one in pruned.gone}
    assert {"young", "forked"} == {one.worktree.session_id for one, _ in pruned.kept}
    assert {"its session is about to begin"} == {why for _, why in pruned.kept}


def test_a_removal_waits_for_a_start_and_then_keeps_the_worktree(repo, engine, clock, trees, monkeypatch):
    made, paths, comes = trees.create("s1", repo.folder), engine._home.paths, threading.Event()
    note_session(engine, "s1", made.path, ended="closed")  # a message begins its process anew
    clock.advance(3600)
    hold, pruned = repository.hold_lock_with_children, []
    monkeypatch.setattr(repository, "hold_lock_with_children", lambda *words: (comes.set(), hold(*words))[1])
    prune = threading.Thread(target=lambda: pruned.append(trees.prune()))
    with engine._home.lend_store() as store, hold_for_start(store, paths.locks, "s1", made.path):
        prune.start()
        assert comes.wait(60)
        _, host = runtime_folder.claim_name(paths.live_runtime, hosts.host_id("s1"))
    prune.join(60)
    os.close(host)

    assert ["session s1 runs: `agents session close s1` ends it first"] == [why for _, why in pruned[0].kept]
    assert Path(made.path).is_dir()


def test_a_session_that_runs_keeps_its_worktree(repo, engine, trees):
    made = trees.create("s1", repo.folder)
    with engine._home.lend_store() as store, pytest.raises(WorktreeBusy, match="session s1 runs"):
        remove(
            engine._home.wiring.worktree_resources(store),
            RemovalWish("s1", force=True),
            is_running=lambda name: name == "s1",
        )

    assert Path(made.path).is_dir()
    trees.guard("s1")


def test_a_worktree_whose_folder_was_deleted_is_removed_and_comes_back_from_its_index(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("staged", "staged\n", path)
    repo.git("add", "staged", folder=path)
    subprocess.run(["rm", "-rf", path], check=True)
    with pytest.raises(WorktreeBlocked, match="was deleted"):
        trees.guard("s1")

    trees.remove("s1")
    assert set() == repo.worktrees()
    trees.restore("s1")

    assert "A  staged" == repo.git("status", "--porcelain", folder=path)
    trees.guard("s1")


def test_a_worktree_that_git_has_forgotten_has_its_files_kept(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("a.txt", "changed\n", path)
    repo.write("new", "new\n", path)
    subprocess.run(["rm", "-rf", repo.folder / ".git" / "worktrees" / "s1"], check=True)

    trees.remove("s1", force=True)
    trees.restore("s1")

    assert {" M a.txt", "?? new"} == set(repo.git("status", "--porcelain", folder=path).split("\n"))
    trees.guard("s1")


@pytest.mark.parametrize("kind", ["removed twice", "restored twice"])
def test_two_at_once(repo, trees, kind):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("new", "new\n", path)
    if kind == "restored twice":
        trees.remove("s1", force=True)
    results = []

    def act():
        try:
            done = trees.remove("s1", force=True) if kind == "removed twice" else trees.restore("s1")
            results.append(getattr(done, "was_gone", None))
        except RequestRefused as error:
            results.append(type(error))

    threads = [threading.Thread(target=act) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    wanted = {False, True} if kind == "removed twice" else {None, RequestRefused}
    assert wanted == set(results)
    if kind == "removed twice":
        trees.restore("s1")
    assert "?? new" == repo.git("status", "--porcelain", folder=path)
    repo.assert_sound()


def test_a_repository_inside_a_worktree_is_not_lost(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    subprocess.run(["git", "init", "-q", path / "inner"], check=True)
    repo.write("inner/x", "x\n", path)

    with pytest.raises(SalvageFailed, match="inner is a git repository of its own"):
        trees.remove("s1", force=True)

    trees.guard("s1")
    assert "x\n" == (path / "inner" / "x").read_text()
    assert "of its own" in trees.list()[0].worktree.reason


def test_links_and_paths_that_lead_out_are_not_followed(repo, trees, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    repo.write("keep", "keep\n", precious)
    path = Path(trees.create("s1", repo.folder).path)
    (path / "out").symlink_to(precious)
    (path / "a.txt").unlink()
    (path / "a.txt").symlink_to(precious / "keep")
    trees.remove("s1", force=True)
    trees.restore("s1")
    assert (str(precious), "keep\n") == (str((path / "out").readlink()), (precious / "keep").read_text())

    path.rename(tmp_path / "moved")
    path.symlink_to(precious)
    trees.remove("s1", force=True)

    assert ["keep"] == [one.name for one in precious.iterdir()]
    assert (tmp_path / "moved" / "run.sh").exists()
    (repo.folder / ".agent-runner-worktrees").rename(tmp_path / "trees")
    trees.create("s2", repo.folder)
    (repo.folder / ".agent-runner-worktrees").rename(tmp_path / "trees2")
    (repo.folder / ".agent-runner-worktrees").symlink_to(tmp_path / "trees2")
    with pytest.raises(GitFailed, match="not in the folder of worktrees"):
        trees.remove("s2", force=True)
    assert (tmp_path / "trees2" / "s2" / "a.txt").exists()


def test_what_cannot_be_restored_says_why_and_stays_kept(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("x", "x\n", path)
    repo.commit("X", path, adds=True)
    trees.remove("s1")
    with pytest.raises(RequestRefused, match="is removed"):
        trees.create("s1", repo.folder)

    path.mkdir()
    with pytest.raises(RequestRefused, match="is there: move it away"):
        trees.restore("s1")
    path.rmdir()
    repo.git("switch", "-q", "aw/s1")
    with pytest.raises(BranchInUse, match="checked out in"):
        trees.restore("s1")
    repo.commit("More")
    repo.git("switch", "-q", "main")
    with pytest.raises(BranchInUse, match=r"has moved since: `git branch -f aw/s1 [0-9a-f]{40}`"):
        trees.restore("s1")

    assert "removed" == trees.find("s1").state
    repo.git("branch", "-f", "aw/s1", "aw/s1^")
    assert "ready" == trees.restore("s1").state


def test_a_repository_that_is_gone(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("new", "new\n", path)
    (repo.folder / ".git").rename(repo.folder / "git-elsewhere")

    with pytest.raises(WorktreeKept, match=r"is gone, so what is in .* cannot be kept"):
        trees.remove("s1", force=True)
    assert "new\n" == (path / "new").read_text()
    assert "is gone" in trees.list()[0].look.problem
    subprocess.run(["rm", "-rf", path], check=True)
    trees.remove("s1")

    with pytest.raises(RequestRefused, match="nothing was kept"):
        trees.restore("s1")


def test_an_index_that_is_locked_does_not_hinder_and_comes_back_unlocked(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("new", "new\n", path)
    repo.git("add", "new", folder=path)
    repo.write(".git/worktrees/s1/index.lock", "")

    trees.remove("s1", force=True)
    trees.restore("s1")

    assert "A  new" == repo.git("status", "--porcelain", folder=path)
    repo.git("add", "-A", folder=path)


FAILING_GIT = """#!/bin/sh
case " $* " in *" {word} "*) echo "fatal: {message}" >&2; {action};; esac
exec {real} "$@"
"""


def test_nothing_is_removed_where_it_cannot_be_kept(repo, trees, tmp_path, monkeypatch):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("new", "new\n", path)
    before = repo.picture(path)
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    for word in ("hash-object", "write-tree", "commit-tree", "update-ref"):
        git.write_text(
            FAILING_GIT.format(
                word=word, message="No space left on device", action="exit 128", real=shutil.which("git")
            )
        )
        git.chmod(0o755)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{git.parent}:{os.environ['PATH']}")
            with pytest.raises(SalvageFailed, match=r"is not removed: git .*: the disk is full"):
                trees.remove("s1", force=True)

        assert before == repo.picture(path), word
        assert "the disk is full" in trees.find("s1").reason
        trees.guard("s1")


def test_something_that_still_writes_is_noticed(repo, trees, tmp_path, monkeypatch):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("log", "begin\n", path)
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    write = f"echo more >> {path}/log"
    git.write_text(
        FAILING_GIT.format(
            word="write-tree", message="-", action=f'{write}; exec {shutil.which("git")} "$@"', real=shutil.which("git")
        )
    )
    git.chmod(0o755)
    path_before = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{git.parent}:{path_before}")

    with pytest.raises(SalvageFailed, match="something still writes files"):
        trees.remove("s1", force=True)

    monkeypatch.setenv("PATH", path_before)
    assert (path / "log").read_text().startswith("begin\nmore\n")


def test_sizes_count_each_file_once_and_do_not_take_long(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    plain = trees.list()[0].size_bytes
    repo.write("ignored/large", b"x" * 1_000_000, path)
    for number in range(5):
        os.link(path / "ignored/large", path / f"ignored/again {number}")
    (path / "out").symlink_to("/usr")
    found = trees.list()[0]

    assert 1_000_000 <= found.size_bytes - plain < 1_100_000
    assert (0, True) == measure(path, 0.0)
    assert (None, False) == (trees.list(measures=False)[0].size_bytes, found.is_size_cut)


def test_a_list_reads_no_large_file_and_an_order_reads_what_it_needs(repo, trees, engine, clock, monkeypatch):
    path = Path(trees.create("s1", repo.folder).path)
    for name in ("a.txt", "folder/b.bin"):
        os.utime(path / name, (0, 0))
    exact = trees.list()[0].look.changed_files
    monkeypatch.setattr(unread, "_READ_AT_MOST", 100)  # b.bin has 256
    repo.write("run.sh", "changed\n", path)
    found = trees.list()[0].look
    seen = engine.changes.status("s1")
    clock.advance(3600)

    assert (0, 2, 0) == (exact, found.changed_files, found.untracked_files)
    assert {("folder/b.bin", "M"), ("run.sh", "M")} == {(one.path, one.status) for one in seen.unstaged}
    assert ("run.sh",) == engine.changes.preview_merge("s1").uncommitted
    assert repo.git("status", "--porcelain", folder=path) == " M run.sh"


def test_each_size_has_its_share_of_the_time(repo, trees, monkeypatch):
    for name in ("s1", "s2", "s3"):
        trees.create(name, repo.folder)
    monkeypatch.setattr(survey, "measure", lambda _path, deadline: (0, deadline > 0))

    assert {(None, False)} == {(one.size_bytes, one.is_size_cut) for one in trees.list()}


def test_removal_empties_no_folder_that_a_link_leads_to(repo, trees, tmp_path):
    made = trees.create("s1", repo.folder)
    elsewhere = tmp_path / "elsewhere"
    Path(made.path).rename(elsewhere)
    Path(made.path).symlink_to(elsewhere)
    (elsewhere / "precious").write_text("nowhere else\n")

    trees.remove("s1", force=True)

    assert not Path(made.path).is_symlink()
    assert "nowhere else\n" == (elsewhere / "precious").read_text()


def make_repository_at_the_top(repo, path):
    (path / ".git").unlink()
    make_repository(repo, path)


def make_repository_of_a_folder(repo, path):
    make_repository(repo, path / "folder")


def add_a_repository(repo, path):
    repo.write("inner/file", "inner\n", path)
    make_repository(repo, path / "inner")
    repo.git("-c", "advice.addEmbeddedRepo=false", "add", "inner", folder=path)


def make_repository(repo, folder):
    repo.git("init", "-q", folder=folder)
    repo.identify(folder)
    repo.commit("Nowhere else", folder=folder, adds=True)


@pytest.mark.parametrize("make", [make_repository_at_the_top, make_repository_of_a_folder, add_a_repository])
def test_a_worktree_with_a_repository_of_its_own_stays(repo, trees, make):
    made = trees.create("s1", repo.folder)
    make(repo, Path(made.path))

    with pytest.raises(RequestRefused, match=r"repository of its own|nowhere else"):
        trees.remove("s1", force=True)

    assert any("Nowhere else" in repo.git("log", folder=each.parent) for each in Path(made.path).rglob(".git"))


def test_a_file_whose_name_git_refuses_keeps_its_worktree(repo, trees):
    made = trees.create("s1", repo.folder)
    kept = repo.write("git~1/file", "only here\n", Path(made.path))

    with pytest.raises(SalvageFailed, match="git~1/file"):
        trees.remove("s1", force=True)

    assert kept.exists()


@pytest.mark.parametrize("at_that_moment", [False, True])
def test_no_look_and_no_removal_runs_what_is_planted_in_the_configuration(
    repo, trees, tmp_path, swapped, at_that_moment
):
    repo.write("x.f", "same\n")
    repo.commit("More", adds=True)
    made = trees.create("s1", repo.folder)
    path, ran = Path(made.path), tmp_path / "ran"
    configuration = repo.folder / ".git" / "config"
    clean = configuration.read_text()
    repo.write("a.txt", "zero\none\n")
    repo.commit("Ours", adds=True)
    repo.write("a.txt", "one\ntwo\n", path)
    repo.commit("Theirs", folder=path, adds=True)
    for key in ("filter.p.clean", "filter.p.process", "merge.p.driver", "core.fsmonitor", "diff.external"):
        repo.git("config", key, f"echo {key} >>{ran}; cat")
    repo.write("info/attributes", "* filter=p merge=p\n", repo.folder / ".git")
    repo.write("x.f", "SAME\n", path)
    if at_that_moment:
        swapped({configuration: configuration.read_text()})
        configuration.write_text(clean)

    trees.list()
    trees.prune(dry_run=True)
    with pytest.raises(WorktreeKept):
        trees.remove("s1")
    trees.remove("s1", force=True)

    assert not ran.exists()


def test_a_look_fetches_nothing_that_is_missing(repo, trees, tmp_path):
    path, ran = Path(trees.create("s1", repo.folder).path), tmp_path / "ran"
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(repo.folder),
        "remote.origin.uploadpack": f"touch {ran}; git-upload-pack",
    }.items():
        repo.git("config", key, value)
    for name in ("refs/heads/aw/s1", "refs/heads/other"):
        (repo.folder / ".git" / name).write_text(f"{'1' * 40}\n")

    assert trees.list()[0].look.problem
    with suppress(GitFailed):
        find_repository(path)

    assert not ran.exists()


def test_what_git_ignores_is_named_before_a_removal_and_after(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("ignored/a", b"x", path)
    repo.write("ignored/b", b"x", path)

    assert ("ignored/",) == trees.remove("s1", dry_run=True).ignored
    removal = trees.remove("s1")
    assert ("ignored/",) == removal.ignored
    assert 'without what git ignores: "ignored/"' in repo.git("log", "-1", "--format=%s", removal.worktree.salvage)


def test_the_branches_of_sessions_come_behind_the_others(repo, trees, monkeypatch):
    trees.create("s1", repo.folder)
    with monkeypatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", "4000000000 +0000")
        tip = repo.commit("Later", Path(trees.find("s1").path))
    monkeypatch.setattr(branches, "_MOST", 3)
    for number in range(4):
        repo.git("branch", f"aw/{number}", tip)

    assert ("main", "aw/0", "aw/1") == find_repository(repo.folder).branches
    with pytest.raises(BaseMissing, match="there are main, aw/0"):
        trees.create("s2", repo.folder, "mian")


def test_a_salvage_that_was_changed_writes_nothing_elsewhere(repo, trees):
    made = trees.create("s1", repo.folder)
    repo.write("new", "new\n", Path(made.path))
    ref = trees.remove("s1", force=True).worktree.salvage
    known = read_salvage(Git(repo.folder), ref)
    blob = bytes.fromhex(repo.git("rev-parse", f"{known.untracked}:new"))
    inner = repo.write("tree", b"100644 escaped\0" + blob, repo.folder / ".git")
    for _level in range(3):
        name = repo.git("hash-object", "-t", "tree", "-w", "--literally", str(inner))
        inner.write_bytes(b"40000 ..\0" + bytes.fromhex(name))
    outwards = repo.git("hash-object", "-t", "tree", "-w", "--literally", str(inner))
    planted = repo.git("commit-tree", outwards, "-m", "untracked files")
    for change in ({known.untracked: planted}, {known.index: f"--output={repo.folder}/escaped"}):
        message = repo.git("log", "-1", "--format=%B", known.commit)
        for old, new in change.items():
            message = message.replace(old, new)
        commit = repo.git("commit-tree", f"{known.commit}^{{tree}}", "-p", known.commit, "-m", message)
        repo.git("update-ref", ref, commit)

        with pytest.raises(SalvageFailed):
            trees.restore("s1")

    assert [] == [*repo.folder.rglob("escaped"), *repo.folder.parent.glob("escaped")]
    repo.git("update-ref", ref, known.commit)
    trees.restore("s1")
    assert "new\n" == (Path(made.path) / "new").read_text()
