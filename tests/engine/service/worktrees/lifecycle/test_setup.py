"""What a new worktree gets beside its files: commands that a person allowed, ignored files, ports, submodules."""

import socket
import subprocess
from pathlib import Path

import pytest

from oulipoly_engine.core.worktrees.setup_file import read_setup
from oulipoly_engine.core.worktrees.worktree_refusals import SetupFailed, SetupInvalid, SetupNotAllowed, WorktreeKept


def write_setup(repo, text, *, commits=True):
    repo.write(".agent-runner.toml", f"[worktree]\n{text}\n")
    if commits:
        repo.commit("Settings", adds=True)


def allow(trees, repo):
    trees.allow_setup(repo.folder, trees.setup_of(repo.folder).setup.digest)


def test_commands_run_only_once_a_person_has_allowed_just_these(repo, trees):
    write_setup(repo, "setup = ['env > seen', 'pwd']\nteardown = 'cp seen ../gone'")

    with pytest.raises(SetupNotAllowed, match=r"env > seen; pwd; cp seen .*worktree allow") as refusal:
        trees.create("s1", repo.folder)
    assert () == trees.list(has_removed=True)
    assert refusal.value.extra["digest"] == trees.setup_of(repo.folder).setup.digest
    allow(trees, repo)
    made = trees.create("s1", repo.folder)
    seen = dict(line.partition("=")[::2] for line in Path(made.path, "seen").read_text().splitlines())
    write_setup(repo, "setup = ['env > seen', 'pwd; pwd']\nteardown = 'cp seen ../gone'")

    with pytest.raises(SetupNotAllowed):
        trees.create("s2", repo.folder)
    trees.create("s3", repo.folder, runs_setup=False)
    assert not (repo.folder / ".agent-runner-worktrees/s3/seen").exists()
    ports = (str(made.port_first), str(made.port_first + 9), "10")
    assert ports == tuple(seen[name] for name in ("PORT_FIRST", "PORT_LAST", "PORT_COUNT"))
    assert (made.path, "aw/s1") == (seen["WORKTREE_PATH"], seen["WORKTREE_BRANCH"])
    assert trees.environment("s1").items() <= seen.items()
    trees.remove("s1", force=True)
    assert (repo.folder / ".agent-runner-worktrees" / "gone").exists()


def test_around_a_box_a_set_up_runs_once_and_no_tear_down_at_all(repo, trees):
    """Behind the box they would run outside of it what was written inside."""
    write_setup(repo, "setup = 'echo up >> ../ran'\nteardown = 'echo down >> ../ran'")
    allow(trees, repo)

    made = trees.create("s1", repo.folder, isolation="guarded")
    trees.remove("s1")
    restored = trees.restore("s1")

    assert ("guarded", "guarded") == (made.isolation, restored.isolation)
    assert "up\n" == Path(made.path).parent.joinpath("ran").read_text()


def test_withdrawn_commands_run_no_more_neither_in_new_worktrees_nor_in_those_there_are(repo, trees, engine):
    write_setup(repo, "setup = 'echo up >> ../ran'\nteardown = 'echo down >> ../ran'")
    allow(trees, repo)
    for session in ("s1", "s2"):
        trees.create(session, repo.folder)
    trees.remove("s2")
    (grant,) = engine.grants.list()
    assert ("commands", str(repo.folder)) == (grant.kind, grant.subject)
    assert trees.setup_of(repo.folder).setup.digest == grant.digest

    engine.grants.revoke(grant.grant_id[:6])

    assert () == engine.grants.list()
    assert not trees.setup_of(repo.folder).is_allowed
    with pytest.raises(SetupNotAllowed):
        trees.create("s3", repo.folder)
    with pytest.raises(SetupNotAllowed, match=r"not allowed any more: echo up .*--force"):
        trees.remove("s1")
    assert "its set-up was not run" in trees.restore("s2").reason
    trees.remove("s1", force=True)
    assert "up\nup\ndown\n" == (repo.folder / ".agent-runner-worktrees/ran").read_text()
    allow(trees, repo)
    trees.remove("s2")
    assert [grant.grant_id] == [again.grant_id for again in engine.grants.list()]


def test_a_set_up_that_fails_leaves_nothing_and_says_what_it_printed(repo, trees, home):
    write_setup(repo, "setup = ['echo TOKEN=sk-ant-0123456789abcdef0123; echo why >&2; touch x; false']")
    allow(trees, repo)

    with pytest.raises(SetupFailed, match=r"ended with 1: .*why") as failure:
        trees.create("s1", repo.folder)

    (failed,) = trees.list(has_removed=True)
    assert ("failed", set(), {"main"}) == (failed.worktree.state, repo.worktrees(), repo.branches())
    log = Path(failure.value.message.rpartition("all it printed: ")[2].rstrip(")"))
    assert "why" in log.read_text()
    assert "0123456789abcdef" not in log.read_text() + failure.value.message
    assert 0o600 == log.stat().st_mode & 0o777


def test_a_tear_down_that_fails_keeps_the_worktree_unless_it_is_forced(repo, trees):
    write_setup(repo, "teardown = 'echo stuck; false'")
    allow(trees, repo)
    path = Path(trees.create("s1", repo.folder).path)

    with pytest.raises(SetupFailed, match="stuck"):
        trees.remove("s1")
    assert ("ready", True) == (trees.find("s1").state, "stuck" in trees.find("s1").reason)
    trees.guard("s1")
    trees.remove("s1", force=True)

    assert not path.exists()


def test_a_restore_survives_a_set_up_that_fails_by_now(repo, trees):
    write_setup(repo, "setup = 'test ! -e ../offline'")
    allow(trees, repo)
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("new", "new\n", path)
    trees.remove("s1", force=True)
    repo.write(".agent-runner-worktrees/offline", "")

    restored = trees.restore("s1")

    assert ("ready", "new\n") == (restored.state, (path / "new").read_text())
    assert "its set-up failed" in restored.reason


def test_ignored_files_are_copied_and_linked_and_links_that_lead_out_are_refused(repo, trees, tmp_path):
    write_setup(repo, "copy = ['.env', 'ignored/cache', 'not-there', 'a.txt']\nlink = ['ignored/modules/']")
    repo.write(".env", "KEY=1\n").chmod(0o600)
    repo.write("ignored/cache/deep/x", "x\n")
    (repo.folder / "ignored/cache/out").symlink_to("/etc")
    repo.write("ignored/modules/m", "m\n")
    repo.write("a.txt", "dirty\n")
    path = Path(trees.create("s1", repo.folder).path)

    assert ("KEY=1\n", 0o600) == ((path / ".env").read_text(), (path / ".env").stat().st_mode & 0o777)
    assert ("x\n", "/etc") == (
        (path / "ignored/cache/deep/x").read_text(),
        str((path / "ignored/cache/out").readlink()),
    )
    assert str(repo.folder / "ignored/modules") == str((path / "ignored/modules").readlink())
    assert "one\n" == (path / "a.txt").read_text()
    trees.remove("s1")
    assert "m\n" == (repo.folder / "ignored/modules/m").read_text()

    (repo.folder / "out").symlink_to(tmp_path)
    write_setup(repo, "copy = ['out/secret']")
    repo.write("secret", "s\n", tmp_path)
    with pytest.raises(SetupFailed, match="leads through the link"):
        trees.create("s2", repo.folder)
    assert {"main"} == repo.branches()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("copy = ['../x']", "give a path below"),
        ("copy = ['/etc/passwd']", "give a path below"),
        ("link = ['.git/config']", "give a path below"),
        ("link = ['a/.GIT/x']", "give a path below"),
        ("setup = 1", "`setup` is not a text or a list of texts"),
        ("setup = ['']", "`setup` is not a text"),
        ("steup = 'x'", "no key 'steup'"),
        ("ports = 101", "from 0 to 100"),
        ("ports = true", "from 0 to 100"),
        ("timeout_s = 0", "from 1 to 3600"),
        ("setup = [", "not valid TOML"),
    ],
)
def test_a_file_of_settings_that_is_wrong_says_where(text, message):
    with pytest.raises(SetupInvalid, match=message):
        read_setup(f"[worktree]\n{text}\n")


def test_a_file_of_settings_that_is_not_committed_counts_and_a_link_does_not(repo, trees, tmp_path):
    write_setup(repo, "ports = 3", commits=False)
    assert 3 == trees.create("s1", repo.folder).port_count
    (repo.folder / ".agent-runner.toml").rename(tmp_path / "elsewhere.toml")
    (repo.folder / ".agent-runner.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(SetupInvalid, match="it is a link"):
        trees.create("s2", repo.folder)
    repo.commit("A link", adds=True)

    with pytest.raises(SetupInvalid, match="not a regular file"):
        trees.create("s2", repo.folder)


def test_ports_are_not_shared_and_those_that_are_listened_on_are_left_out(repo, make_repository, trees):
    first = trees.create("s1", repo.folder).port_first
    with socket.socket() as server:
        server.bind(("127.0.0.1", first + 12))
        server.listen()
        second = trees.create("s2", make_repository("other").folder).port_first
    trees.remove("s1")
    third = trees.create("s3", repo.folder).port_first
    again = trees.restore("s1").port_first

    assert (first + 13, first) == (second, third)
    assert again not in range(first, second + 10)
    write_setup(repo, "ports = 0")
    assert None is trees.create("s4", repo.folder).port_first


def test_submodules_come_from_the_main_checkout_and_work_in_them_is_not_lost(repo, make_repository, trees):
    other = make_repository("other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.folder), "lib/other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.folder), "absent")
    repo.commit("Submodules")
    repo.git("submodule", "--quiet", "deinit", "-f", "absent")
    subprocess.run(["rm", "-rf", repo.folder / ".git/modules/absent"], check=True)
    other.folder.rename(other.folder.parent / "offline")

    made = trees.create("s1", repo.folder)
    inner = Path(made.path, "lib/other")

    assert ("one\n", ["absent"]) == ((inner / "a.txt").read_text(), trees.find("s1").settings["empty_submodules"])
    assert str(other.folder) == repo.git("remote", "get-url", "origin", folder=inner)
    assert "" == repo.git("status", "--porcelain", folder=made.path)
    repo.identify(inner)
    repo.write("a.txt", "changed\n", inner)
    with pytest.raises(WorktreeKept, match="lib/other has changes that are not committed"):
        trees.remove("s1", force=True)
    repo.commit("Changed", inner, adds=True)
    with pytest.raises(WorktreeKept, match="lib/other has commits that are nowhere else"):
        trees.remove("s1", force=True)
    repo.git("fetch", "-q", str(inner), "HEAD", folder=repo.folder / "lib/other")
    trees.remove("s1", force=True)
    trees.restore("s1")

    assert "changed\n" == (inner / "a.txt").read_text()


def test_commands_by_the_command_line(repo, agents):
    write_setup(repo, "setup = ['echo \x1b[31m']".replace("\x1b", "\\u001b").replace("'", '"'))

    asked = agents("worktree", "allow", "--repo", repo.folder)
    allowed = agents("worktree", "allow", "--repo", repo.folder, "--yes")
    listed = agents("worktree", "list", "--json", cwd=repo.folder)

    assert (2, 0, 0) == (asked.returncode, allowed.returncode, listed.returncode), asked.stderr + allowed.stderr
    assert b"$ echo" in asked.stderr
    assert b"\x1b" not in asked.stderr
    assert b'"worktrees": []' in listed.stdout


def test_what_a_tear_down_deletes_was_kept_before(repo, trees):
    write_setup(repo, "teardown = 'rm -rf a.txt build'")
    allow(trees, repo)
    path = Path(trees.create("s1", repo.folder, runs_setup=True).path)
    repo.write("a.txt", "changed\n", path)
    repo.write("build/new", "new\n", path)

    trees.remove("s1", force=True)
    trees.restore("s1")

    assert ("changed\n", "new\n") == ((path / "a.txt").read_text(), (path / "build" / "new").read_text())
