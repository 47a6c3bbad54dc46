"""What nobody has used for long goes by itself: only what is clean and merged, and nothing that would be lost by it."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.process.lock import try_lock
from oulipoly_engine.service.worktrees import remove
from oulipoly_engine.testing import FakeClock
from oulipoly_engine.web.attention import Attention
from oulipoly_tui.bridge import EngineBridge

DAY = 86_400


@pytest.fixture
def clock():
    """Begin now: files have the times of the system."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture
def configure(engine):
    """Writes config.toml."""

    def write(text):
        path = engine._home.paths.config / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


@pytest.fixture
def retention(engine):
    return engine.retention


def gone(pruned):
    return {status.worktree.session_id for status in pruned.gone}


def reasons(pruned):
    return {status.worktree.session_id: reason for status, reason in pruned.kept}


def test_clean_and_merged_worktrees_go_once_unused_for_long_and_are_told_of_once(repo, clock, trees, retention):
    for name in ("clean", "dirty", "ahead"):
        trees.create(name, repo.folder)
    repo.write("x", "x\n", Path(trees.find("dirty").path))
    repo.write("x", "x\n", Path(trees.find("ahead").path))
    repo.commit("ahead", Path(trees.find("ahead").path), adds=True)
    clock.jump(29 * DAY)
    early = retention.prune()
    clock.jump(2 * DAY)
    planned, done, again = retention.prune(dry_run=True), retention.prune(), retention.prune()

    assert (set(), {"clean"}, {"clean"}, set()) == (gone(early), gone(planned), gone(done), gone(again))
    assert {"dirty": "it has 1 changed file", "ahead": "it has commits that are not merged"} == reasons(done)
    assert "it went by itself: clean, merged and unused for 30 days" == trees.find("clean").reason
    assert [["clean"], []] == [[tree.session_id for tree in retention.take_news("app")] for _ in range(2)]
    assert ["clean"] == [tree.session_id for tree in retention.take_news("serve")]
    assert "ready" == trees.restore("clean").state
    assert set() == gone(retention.prune())  # who brings one back uses it


def test_none_goes_where_the_setting_says_never_or_nothing_may_change(repo, engine, clock, trees, configure, retention):
    trees.create("s1", repo.folder)
    clock.jump(400 * DAY)
    configure("work_prune_days = 0\n")

    assert set() == gone(retention.prune())
    engine._home.read_only = True
    configure("")
    assert set() == gone(retention.prune())
    assert "ready" == trees.find("s1").state


def look_at_changes(engine, tree):
    engine.changes.status(tree.session_id)


def stage_with_git(engine, tree):
    os.utime(Path(tree.git_folder) / "worktrees" / tree.session_id / "index", (engine._home.now().timestamp(),) * 2)


def rename_a_file(engine, tree):
    os.utime(tree.path, (engine._home.now().timestamp(),) * 2)


@pytest.mark.parametrize("use", [look_at_changes, stage_with_git, rename_a_file])
def test_one_that_was_used_or_looked_at_since_stays(repo, engine, clock, trees, use, retention):
    tree = trees.create("s1", repo.folder)
    clock.jump(25 * DAY)
    use(engine, tree)
    clock.jump(10 * DAY)

    assert {"s1": "it was used, or looked at, less than 30 days ago"} == reasons(retention.prune())
    clock.jump(21 * DAY)
    assert {"s1"} == gone(retention.prune())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows where processes work")
@pytest.mark.parametrize("way", ["folder", "file"])
def test_one_in_which_something_runs_stays(repo, clock, trees, way, retention):
    path = Path(trees.create("s1", repo.folder).path)
    clock.jump(31 * DAY)
    folder, line = (path / "folder", "echo; read x") if way == "folder" else ("/", f"exec 3<{path}/a.txt; echo; read x")
    with subprocess.Popen(["sh", "-c", line], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        assert {"s1": f"process {child.pid} works in it"} == reasons(retention.prune())
        child.communicate(b"\n")

    assert {"s1"} == gone(retention.prune())


def test_what_git_ignores_keeps_a_worktree_unless_the_main_checkout_has_the_same_or_the_user_says_so(
    repo, clock, trees, configure, retention
):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write(".env", "SECRET=1\n")
    repo.write(".env", "SECRET=1\n", path)  # as `copy` brings it
    (path / "ignored").symlink_to(repo.folder / "folder")  # as `link` does; `ignored/` is no pattern for a link
    repo.git("config", "core.excludesFile", str(repo.write("../excludes", "ignored\nlog\n")))
    clock.jump(31 * DAY)
    assert {"s1"} == gone(retention.prune(dry_run=True))
    repo.write("log", "x\n", path)
    repo.write(".env", "SECRET=2\n", path)
    os.utime(path, (0, 0))

    expected = "it has what git ignores and nothing would keep: .env, log (files and whole folders: 2)"
    assert {"s1": expected} == reasons(retention.prune())
    configure("work_prune_ignored = true\n")
    assert {"s1"} == gone(retention.prune())


def test_another_process_that_prunes_is_not_waited_for(repo, engine, clock, trees, retention):
    trees.create("s1", repo.folder)
    clock.jump(31 * DAY)
    with try_lock(engine._home.paths.locks / "work-prune"):
        assert set() == gone(retention.prune())

    assert {"s1"} == gone(retention.prune())


@pytest.mark.parametrize("step", ["_begin", "_keep_contents", "take_away", "_delete_branch"])
def test_a_kill_at_any_step_leaves_it_as_it_was_or_gone_and_told(repo, clock, trees, monkeypatch, step, retention):
    trees.create("s1", repo.folder)
    clock.jump(31 * DAY)
    original = getattr(remove, step)

    def cut(*words):
        original(*words)
        raise KeyboardInterrupt  # as a kill: nothing of ours runs behind it

    with monkeypatch.context() as patch:
        patch.setattr(remove, step, cut)
        with pytest.raises(KeyboardInterrupt):
            retention.prune()

    trees.reconcile()
    is_gone = step != "_begin"
    assert ("removed" if is_gone else "ready") == trees.find("s1").state
    assert is_gone == (not Path(trees.find("s1").path).exists())
    assert (["s1"] if is_gone else []) == [tree.session_id for tree in retention.take_news("app")]
    repo.assert_sound()


def gone_tree(clock):
    return Worktree("0123456789", "/r", "/r/w", "aw/0", "main", "c", "removed", clock.now(), clock.now())


class Retention:
    """Lets one go at each call."""

    def __init__(self, clock):
        self.clock, self.pruned, self.shortened, self.faces = clock, 0, 0, []

    def prune(self):
        self.pruned += 1

    def shorten_events(self):
        self.shortened += 1

    def take_news(self, face):
        self.faces.append(face)
        return (gone_tree(self.clock),)


def test_the_app_asks_at_its_start_and_each_day_and_says_what_went(clock):
    retention, said = Retention(clock), []
    app = SimpleNamespace(
        engine=SimpleNamespace(retention=retention),
        options=SimpleNamespace(read_only=False),
        now=clock.now,
        work=lambda _name, function, act: act(function()),
        say=said.append,
    )
    bridge = EngineBridge(app, None, None)
    for _ in range(3):
        bridge.prune_daily()
        bridge.prune_daily()
        clock.jump(DAY)

    assert (3, 3, ["app"] * 3) == (retention.pruned, retention.shortened, retention.faces)
    assert (
        "1 unused worktree, clean and merged, was removed: 01234567; `agents worktree restore ID` brings one back"
        == said[0]
    )


def test_the_server_asks_and_says_on_stderr_what_went(clock, capfd):
    attention = Attention.__new__(Attention)  # without its threads
    retention = Retention(clock)
    attention._engine = SimpleNamespace(retention=retention)
    attention._ended = SimpleNamespace(is_set=lambda: False, wait=lambda _seconds: True)
    attention._prune_daily()

    assert (1, 1) == (retention.pruned, retention.shortened)
    assert "removed: 01234567" in capfd.readouterr().err
