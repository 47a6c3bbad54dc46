"""Merge, rebase, apply, undo: known before anything moves, with a backup, and never over what a person has there."""

import shutil
from datetime import timedelta
from itertools import chain, count

import pytest

from oulipoly_engine.core.operations.operations import Operation
from oulipoly_engine.core.worktrees.refusals import (
    BranchMoved,
    BranchRefused,
    CheckoutDirty,
    FileMissing,
    GitUnavailable,
    IndexLocked,
    MergeConflicts,
)
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.service.operations.operations import recover
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.place import Place, open_checkout
from oulipoly_engine.service.worktrees.base.repository import Resources
from oulipoly_engine.service.worktrees.base.repository_lock import (
    RepositoryBusy,
    common_folder,
    lock_path,
    lock_repository,
)
from oulipoly_engine.service.worktrees.changes import merging, moves
from oulipoly_engine.service.worktrees.changes.merge_plan import plan_merge
from oulipoly_engine.service.worktrees.changes.moves import settlers
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.operations import operations
from oulipoly_engine.testing import FakeClock


@pytest.fixture
def journal(tmp_path):
    store = open_store(tmp_path / "state.db")
    yield Resources(store, tmp_path / "locks", tmp_path / "logs", TickingClock())
    store.close()


class TickingClock(FakeClock):
    """A clock that never tells the same time twice: references are named by it."""

    def __init__(self):
        super().__init__()
        self._ticks = count()

    def now(self):
        return super().now() + timedelta(seconds=next(self._ticks))


def states(journal, repo):
    found = (operations.find(journal.store, state) for state in ("undone", "failed", "done", "begun"))
    moves = sorted(chain(*found), key=lambda move: move.begun_at)
    return [(move.kind, move.state) for move in moves if move.subject == repo.place.session_id]


def tip(repo, name="main"):
    return repo.git("rev-parse", name)


def test_a_branch_ahead_is_merged_by_fast_forward_with_the_main_checkout(repo, journal):
    repo.write("new/file", "x\n")
    (repo.work / "README.md").unlink()
    head = repo.commit("Change")
    before = tip(repo)
    repo.write("untracked", "mine", repo.main)
    told = plan_merge(repo.checkout).preview
    assert (told.into, told.is_fast_forward, told.checkout) == ("main", True, str(repo.main))
    assert [one.subject for one in told.commits] == ["Change"]
    assert set(told.files) == {"new/file", "README.md"}

    moved = merging.merge(journal, repo.checkout)

    assert (moved.branch, moved.before, moved.after) == ("main", before, head)
    assert tip(repo) == head
    assert repo.status(repo.main) == "?? untracked"
    assert (repo.main / "new" / "file").read_text() == "x\n"
    assert tip(repo, moved.backup) == before
    assert moved.backup.startswith(f"refs/agent-runner/backup/{repo.place.session_id}/")
    assert states(journal, repo) == [("merge", "done")]
    assert "merge aw/" in repo.git("reflog", "-1", "main")


def test_branches_that_have_both_moved_get_a_merge_commit(repo, journal):
    repo.write("mine", "x\n")
    head = repo.commit("Mine")
    repo.write("theirs", "y\n", repo.main)
    main = repo.commit("Theirs", folder=repo.main)
    repo.write("README.md", "being edited\n", repo.main)

    merging.merge(journal, repo.checkout, message="Bring it together")

    assert repo.git("log", "-1", "--format=%P %s") == f"{main} {head} Bring it together"
    assert repo.status(repo.main) == " M README.md"
    assert (repo.main / "mine").exists()


def test_a_branch_that_is_checked_out_nowhere_moves_alone(repo, journal):
    repo.git("branch", "release")
    repo.write("mine", "x\n")
    head = repo.commit()

    moved = merging.merge(journal, repo.checkout, "release")

    assert (moved.checkout, tip(repo, "release"), tip(repo)) == (None, head, repo.base_commit)
    assert repo.status(repo.main) == ""


def test_a_branch_that_another_worktree_has_is_merged_into_with_its_files(repo, journal, tmp_path):
    other = tmp_path / "other"
    repo.git("worktree", "add", "-q", "-b", "other", str(other))
    repo.write("mine", "x\n")
    repo.commit()
    repo.write("mine", "of the other", other)
    with pytest.raises(CheckoutDirty):
        merging.merge(journal, repo.checkout, "other")
    (other / "mine").unlink()

    moved = merging.merge(journal, repo.checkout, "other")

    assert (moved.checkout, (other / "mine").read_text()) == (str(other), "x\n")
    assert (repo.status(other), tip(repo)) == ("", repo.base_commit)


def test_a_bare_repository_has_branches_to_merge_into_and_no_files_to_apply_to(repo, journal, tmp_path):
    bare, work = tmp_path / "bare", tmp_path / "work"
    repo.git("clone", "-q", "--bare", ".", str(bare))
    repo.git("worktree", "add", "-q", "-b", "aw/bare", str(work), folder=bare)
    repo.git("config", "user.name", "x", folder=bare)
    repo.git("config", "user.email", "x", folder=bare)
    repo.write("mine", "x\n", work)
    head = repo.commit(folder=work)
    checkout = open_checkout(Place("s", work, bare, "aw/bare", "main", repo.base_commit))
    with pytest.raises(GitUnavailable):
        merging.apply(journal, checkout)

    assert merging.merge(journal, checkout).checkout is None
    assert repo.git("rev-parse", "main", folder=bare) == head


def test_a_conflict_is_known_before_anything_moves_and_can_be_handed_over(repo, journal):
    repo.write("README.md", "# Mine\n")
    repo.commit("Mine")
    repo.write("README.md", "# Theirs\n", repo.main)
    before = repo.commit("Theirs", folder=repo.main)
    assert plan_merge(repo.checkout).preview.conflicts == ("README.md",)
    for attempt in (merging.merge, merging.rebase, merging.apply):
        with pytest.raises(MergeConflicts) as error:
            attempt(journal, repo.checkout)
        assert error.value.extra == {"conflicts": ["README.md"]}

    told = merging.hand_conflict_over(repo.checkout)

    assert "- README.md" in told
    assert "Theirs" in told
    assert (tip(repo), repo.status(repo.main), repo.status()) == (before, "", "")
    assert states(journal, repo) == []
    repo.git("merge", "-q", "main", folder=repo.work, check=False)  # as the agent does
    repo.write("README.md", "# Both\n")
    repo.commit("Merge main")
    merging.merge(journal, repo.checkout)
    assert (repo.main / "README.md").read_text() == "# Both\n"
    with pytest.raises(BranchRefused):
        merging.hand_conflict_over(repo.checkout)


def test_what_is_merged_already_moves_nothing(repo, journal):
    moved = merging.merge(journal, repo.checkout)

    assert moved.before == moved.after == tip(repo)
    assert states(journal, repo) == []


def test_files_that_are_not_committed_are_not_left_out_in_silence(repo, journal):
    repo.write("forgotten", "x\n")
    for has_commit in (False, True):  # without any the branch itself is merged already
        if has_commit:
            repo.write("mine", "x\n")
            repo.git("add", "mine", folder=repo.work)
            repo.git("commit", "-qm", "mine", folder=repo.work)
        with pytest.raises(CheckoutDirty, match="forgotten is not committed"):
            merging.merge(journal, repo.checkout)

    merging.apply(journal, repo.checkout, committed_only=True)
    assert repo.status(repo.main) == "A  mine"
    merging.undo_move(journal, repo.checkout)
    merging.merge(journal, repo.checkout, committed_only=True)

    assert not (repo.main / "forgotten").exists()


def put_in_the_way(repo, way):
    """Put something into the main checkout that a merge would overwrite."""
    if way in ("changed", "staged"):
        repo.write("README.md", "# Person\n", repo.main)
        if way == "staged":
            repo.git("add", "README.md")
    elif way == "deleted":
        (repo.main / "README.md").unlink()
    elif way == "folder":
        repo.write("new/thing", "precious", repo.main)
    elif way == "file for folder":
        repo.write("deep", "precious", repo.main)
    else:
        repo.write("new", "precious", repo.main)
        if way == "ignored":
            repo.write(".git/info/exclude", "new\n/.agent-runner-worktrees/\n", repo.main)


def test_nothing_in_the_main_checkout_is_ever_overwritten(repo, journal):
    repo.write("README.md", "# Mine\n")
    repo.write("new", "x\n")
    repo.write("deep/er/file", "x\n")
    repo.commit()
    before = tip(repo)
    for way in ("changed", "staged", "untracked", "folder", "file for folder", "deleted", "ignored"):
        put_in_the_way(repo, way)
        status = repo.status(repo.main)
        assert plan_merge(repo.checkout).preview.in_the_way, way
        for attempt in (merging.merge, merging.apply):
            with pytest.raises(CheckoutDirty, match="would be overwritten"):
                attempt(journal, repo.checkout)

        assert (tip(repo), repo.status(repo.main)) == (before, status), way
        assert states(journal, repo) == []
        repo.git("reset", "-q", "--hard")
        repo.git("clean", "-fdq")
        assert repo.status(repo.main) == ""


def test_a_file_may_become_a_folder_and_a_folder_a_file(repo, journal):
    repo.write("a", "x\n", repo.main)
    repo.write("b/c", "x\n", repo.main)
    repo.commit(folder=repo.main)
    repo.git("merge", "-q", "--ff-only", "main", folder=repo.work)
    (repo.work / "a").unlink()
    repo.write("a/c", "y\n")
    (repo.work / "b" / "c").unlink()
    (repo.work / "b").rmdir()
    repo.write("b", "y\n")
    repo.commit()

    merging.merge(journal, repo.checkout)

    assert ((repo.main / "a" / "c").read_text(), (repo.main / "b").read_text()) == ("y\n", "y\n")
    assert repo.status(repo.main) == ""


def test_rebase_puts_the_commits_on_top_and_keeps_their_authors(repo, journal):
    repo.write("one", "1\n")
    repo.git("add", "-A", folder=repo.work)
    author = "Jürgen <j@example.com>"
    date = "2020-01-02T03:04:05+01:00"
    repo.git("commit", "-qm", "One\n\nBody", f"--author={author}", f"--date={date}", folder=repo.work)
    repo.write("two", "2\n")
    head = repo.commit("Two")
    repo.write("theirs", "y\n", repo.main)
    main = repo.commit("Theirs", folder=repo.main)
    repo.write("loose", "stays\n")

    moved = merging.rebase(journal, repo.checkout)

    assert (moved.before, moved.after) == (head, tip(repo, repo.branch))
    assert repo.git("log", "--format=%s", f"main..{repo.branch}") == "Two\nOne"
    assert tip(repo, f"{repo.branch}~2") == main
    assert repo.git("log", "-1", "--format=%an <%ae> %aI%n%b", f"{repo.branch}~1").strip() == f"{author} {date}\nBody"
    assert repo.status() == "?? loose"
    assert tip(repo, moved.backup) == head
    assert merging.rebase(journal, repo.checkout).before == moved.after


def test_rebase_leaves_out_what_the_other_branch_has(repo, journal):
    repo.write("one", "1\n")
    repo.commit("One")
    repo.write("one", "1\n", repo.main)
    main = repo.commit("The same", folder=repo.main)

    assert merging.rebase(journal, repo.checkout).after == main


def test_a_branch_with_merges_is_not_rebased(repo, journal):
    repo.write("theirs", "y\n", repo.main)
    repo.commit(folder=repo.main)
    repo.write("mine", "x\n")
    repo.commit()
    repo.git("merge", "-q", "--no-edit", "main", folder=repo.work)
    repo.write("more", "y\n", repo.main)
    repo.commit(folder=repo.main)

    with pytest.raises(BranchRefused, match="merge commit"):
        merging.rebase(journal, repo.checkout)


def test_apply_stages_the_changes_without_a_commit_and_undo_takes_them_out_again(repo, journal):
    repo.write("mine", "x\n")
    repo.write("README.md", "# Mine\n")
    repo.commit()
    before = tip(repo)
    repo.write("staged", "by a person\n", repo.main)
    repo.git("add", "staged")

    moved = merging.apply(journal, repo.checkout)

    assert (moved.branch, tip(repo)) == ("main", before)
    assert repo.status(repo.main) == "M  README.md\nA  mine\nA  staged"
    merging.undo_move(journal, repo.checkout)
    assert repo.status(repo.main) == "A  staged"
    assert states(journal, repo) == [("apply", "done"), ("undo", "done")]


def test_apply_takes_what_is_not_committed_along_and_leaves_the_session_as_it_is(repo, journal):
    repo.write("gone", "old\n", repo.main)
    repo.write(".gitignore", "*.log\n", repo.main)
    repo.commit(folder=repo.main)
    repo.git("merge", "-q", "--ff-only", "main", folder=repo.work)
    repo.write("committed", "x\n")
    repo.commit()
    repo.write("staged", "x\n")
    repo.git("add", "staged", folder=repo.work)
    repo.write("README.md", "# Mine\n")
    repo.write("deep/er/untracked", "x\n").chmod(0o755)
    (repo.work / "link").symlink_to("README.md")
    (repo.work / "gone").unlink()
    repo.write("build.log", "x\n")
    repo.write("own", "by a person, not staged\n", repo.main)
    session, before = repo.status(), repo.status(repo.main)
    preview = merging.preview_apply(repo.checkout)

    moved = merging.apply(journal, repo.checkout)

    expected = ["M  README.md", "A  committed", "A  deep/er/untracked", "D  gone", "A  link", "A  staged", "?? own"]
    assert (expected, session) == (repo.status(repo.main).split("\n"), repo.status())
    assert moved.files == preview.files == ("README.md", "committed", "deep/er/untracked", "gone", "link", "staged")
    assert (preview.into, len(preview.uncommitted), preview.is_merged, preview.in_the_way) == ("main", 5, False, ())
    assert ((repo.main / "deep/er/untracked").stat().st_mode & 0o100, (repo.main / "build.log").exists()) == (64, False)
    merging.undo_move(journal, repo.checkout)
    assert (before, session) == (repo.status(repo.main), repo.status())


def test_apply_refuses_a_true_clash_with_what_is_not_committed_before_anything_moves(repo, journal):
    repo.write("README.md", "# Session\n")
    repo.write("new", "of the session\n")
    repo.write("new", "of a person\n", repo.main)
    assert merging.preview_apply(repo.checkout).in_the_way == ("new",)
    with pytest.raises(CheckoutDirty, match=r"new in .* would be overwritten"):
        merging.apply(journal, repo.checkout)
    (repo.main / "new").unlink()
    repo.write("README.md", "# Person\n", repo.main)
    with pytest.raises(CheckoutDirty, match=r"README\.md in .* would be overwritten"):
        merging.apply(journal, repo.checkout)
    repo.commit(folder=repo.main)
    with pytest.raises(MergeConflicts, match="commit it in the session"):
        merging.apply(journal, repo.checkout)

    assert ((repo.main / "README.md").read_text(), repo.status(repo.main)) == ("# Person\n", "")
    assert states(journal, repo) == []


def test_apply_refuses_what_no_commit_can_hold_and_leaves_it_out_when_told(repo, journal):
    repo.write("mine", "x\n")
    repo.commit()
    repo.git("init", "-q", str(repo.work / "nested"))
    with pytest.raises(CheckoutDirty, match=r"nested/ .*repository of its own"):
        merging.apply(journal, repo.checkout)
    shutil.rmtree(repo.work / "nested")
    repo.write("mine", "y\n", repo.main)
    repo.commit(folder=repo.main)
    repo.git("merge", "-q", "main", folder=repo.work, check=False)
    with pytest.raises(CheckoutDirty, match=r"mine .*conflict"):
        merging.apply(journal, repo.checkout)

    assert states(journal, repo) == []


def test_a_second_apply_says_how_the_first_one_is_taken_out(repo, journal):
    repo.write("new", "x\n")
    merging.apply(journal, repo.checkout)
    repo.write("new", "y\n")

    with pytest.raises(CheckoutDirty, match="apply --undo"):
        merging.apply(journal, repo.checkout)

    merging.undo_move(journal, repo.checkout)
    merging.apply(journal, repo.checkout)
    assert (repo.main / "new").read_text() == "y\n"


def test_the_undo_of_an_apply_keeps_what_a_person_has_changed_since(repo, journal):
    repo.write("new", "x\n")
    repo.write("README.md", "# Session\n")
    merging.apply(journal, repo.checkout)
    repo.write("new", "edited since\n", repo.main)

    with pytest.raises(GitFailed):
        merging.undo_move(journal, repo.checkout)

    assert ((repo.main / "new").read_text(), (repo.main / "README.md").read_text()) == ("edited since\n", "# Session\n")


def test_a_merge_is_undone_as_long_as_nothing_was_built_on_it(repo, journal):
    before = tip(repo)
    repo.write("mine", "x\n")
    repo.commit()
    merging.merge(journal, repo.checkout)
    merging.undo_move(journal, repo.checkout)
    assert (tip(repo), repo.status(repo.main)) == (before, "")
    with pytest.raises(FileMissing):
        merging.undo_move(journal, repo.checkout)
    merging.merge(journal, repo.checkout)
    repo.write("built", "y\n", repo.main)
    repo.commit(folder=repo.main)

    with pytest.raises(BranchMoved):
        merging.undo_move(journal, repo.checkout)


def test_branches_that_cannot_be_merged_into(repo, journal):
    for into, word in (("nothing", "no branch"), (repo.branch, "itself"), ("-x", "no branch"), ("main~0", "no branch")):
        with pytest.raises(BranchRefused, match=word):
            plan_merge(repo.checkout, into)
    repo.git("switch", "-q", "-c", "other")
    repo.git("branch", "-q", "-D", "main")
    with pytest.raises(BranchRefused, match="no branch 'main', where it began"):
        merging.merge(journal, repo.checkout)
    repo.git("switch", "-q", "--detach", folder=repo.work)
    with pytest.raises(BranchRefused, match="no branch is checked out"):
        merging.merge(journal, repo.checkout, "other")


def test_a_branch_that_another_moves_meanwhile_is_not_run_over(repo, journal, monkeypatch):
    repo.write("mine", "x\n")
    repo.commit()
    kept = moves.order

    def order(git, *words, **options):
        if words[:3] == ("update-ref", "-m", f"merge {repo.branch}"):
            repo.git("update-ref", "refs/heads/main", other)
        return kept(git, *words, **options)

    other = repo.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Other")
    monkeypatch.setattr(moves, "order", order)
    with pytest.raises(BranchMoved):
        merging.merge(journal, repo.checkout)

    assert (tip(repo), repo.status(repo.main)) == (other, "")
    assert states(journal, repo) == [("merge", "undone")]


def test_a_locked_index_stops_a_merge_before_its_first_step(repo, journal, monkeypatch):
    monkeypatch.setattr(moves, "_LOCK_PATIENCE_S", 0.05)
    repo.write("mine", "x\n")
    repo.commit()
    (repo.main / ".git" / "index.lock").touch()

    with pytest.raises(IndexLocked):
        merging.merge(journal, repo.checkout)

    assert (tip(repo), states(journal, repo)) == (repo.base_commit, [])


def test_a_merge_that_leaves_a_lock_is_undone_once_the_lock_is_gone(repo, journal, monkeypatch):
    monkeypatch.setattr(moves, "_LOCK_PATIENCE_S", 0.05)
    repo.write("mine", "x\n")
    repo.write("README.md", "# Mine, and longer\n")
    repo.commit()
    lock = repo.main / ".git" / "index.lock"
    kept = moves.order

    def order(git, *words, **options):
        if words[0] == "read-tree":  # as git does when it is killed by force
            lock.touch()
            repo.write("README.md", "# Mine", repo.main)
            raise GitFailed("killed")
        return kept(git, *words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(moves, "order", order)
        with pytest.raises(GitFailed):
            merging.merge(journal, repo.checkout)
    assert states(journal, repo) == [("merge", "begun")]
    with pytest.raises(IndexLocked):
        merging.merge(journal, repo.checkout)
    lock.unlink()

    assert recover(journal.store, settlers(journal)) == ("a merge of main that was cut off was undone",)

    assert (repo.status(repo.main), tip(repo)) == ("", repo.base_commit)
    merging.merge(journal, repo.checkout)


def test_what_a_person_writes_after_a_kill_is_not_undone(repo, journal):
    repo.write("mine", "x\n")
    head = repo.commit()
    place = repo.main
    now = journal.clock.now()
    detail = {"folder": str(place), "branch": "main", "reference": "refs/heads/main", "checkout": str(place)}
    detail |= {"old": repo.base_commit, "new": head, "backup": ""}
    operations.begin(journal.store, Operation("o", repo.place.session_id, "merge", "begun", detail, now))
    repo.write("mine", "a person's own\n", place)

    recover(journal.store, settlers(journal))

    assert (place / "mine").read_text() == "a person's own\n"
    assert states(journal, repo) == [("merge", "undone")]


def test_a_repository_that_is_gone_keeps_no_move_open(repo, journal, tmp_path):
    detail = {"folder": str(tmp_path / "gone"), "branch": "main", "reference": "refs/heads/main", "checkout": ""}
    detail |= {"old": "1", "new": "2", "backup": ""}
    now = journal.clock.now()
    operations.begin(journal.store, Operation("o", repo.place.session_id, "merge", "begun", detail, now))

    assert recover(journal.store, settlers(journal)) == ()

    assert states(journal, repo) == [("merge", "failed")]


def test_one_process_at_a_time_works_on_a_repository(repo, journal):
    with hold_lock(lock_path(journal.locks, repo.main / ".git"), 1.0) as is_ours:
        assert is_ours
        with pytest.raises(RepositoryBusy), lock_repository(journal.locks, common_folder(Git(repo.work)), 0.05):
            pass


def test_a_session_in_the_repository_itself_has_nothing_to_apply(repo, journal):
    checkout = open_checkout(Place("s", repo.main))

    with pytest.raises(BranchRefused):
        merging.apply(journal, checkout)
    with pytest.raises(BranchRefused, match="--into"):
        merging.merge(journal, checkout)


def test_a_merge_driver_that_the_repository_names_is_not_run(repo, journal, tmp_path):
    repo.write("README.md", "1\n2\n3\n4\n5\n", repo.main)
    repo.write(".gitattributes", "* merge=bad\n", repo.main)
    repo.commit(folder=repo.main)
    repo.git("merge", "-q", "--ff-only", "main", folder=repo.work)
    repo.write("README.md", "1\n2\n3\n4\nfive\n")
    repo.commit()
    repo.write("README.md", "one\n2\n3\n4\n5\n", repo.main)
    repo.commit(folder=repo.main)
    repo.git("config", "merge.bad.driver", f"touch {tmp_path / 'seen'}")

    merging.merge(journal, repo.checkout)

    assert not (tmp_path / "seen").exists()
    assert (repo.main / "README.md").read_text() == "one\n2\n3\n4\nfive\n"


def test_a_branch_in_the_middle_of_a_rebase_is_not_moved_under_it(repo, journal):
    repo.write("new", "new\n")
    repo.commit()
    repo.git("switch", "-q", "-c", "side")
    repo.write("README.md", "side\n", repo.main)
    repo.commit(folder=repo.main)
    repo.git("switch", "-q", "main")
    repo.write("README.md", "main\n", repo.main)
    before = repo.commit(folder=repo.main)
    repo.git("rebase", "side", check=False)

    with pytest.raises(BranchRefused, match="in the middle of a rebase"):
        merging.merge(journal, repo.checkout)

    assert before == repo.git("rev-parse", "main")
