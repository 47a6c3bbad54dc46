"""What a probe from inside measures at each level is what the level promises."""

import os
from pathlib import Path

import pytest

from oulipoly_engine.core.boxes.allow_list import parse_allowed
from oulipoly_engine.core.boxes.box import Access, Box, Level, Limits, Mount, Network, protect_worktree
from oulipoly_engine.core.boxes.bubblewrap import PROXY_VARIABLES
from oulipoly_engine.core.boxes.report import ATTEMPTS, explain_leaks, judge_report, should_hold
from oulipoly_engine.errors import SystemRefused
from oulipoly_engine.process.boxes.groups import choose_group
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.boxes.proxy import AllowListProxy
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.records import replace
from oulipoly_engine.service.isolation import measure_box
from oulipoly_engine.service.start_probe import require_held, try_with_shell


@pytest.fixture
def box(tmp_path, home):
    """A work tree with a hook and a folder to read, at a level."""
    (tmp_path / "tree/.git/hooks").mkdir(parents=True)
    (tmp_path / "read").mkdir()
    (home / "letter").write_text("secret")

    def make(level, network, group=()):
        if not find_level(level).is_available:
            pytest.skip(find_level(level).obstacle)
        limits = Limits(memory_bytes=1 << 30, processes=8, file_bytes=1 << 20)
        mounts = (*protect_worktree(str(tmp_path / "tree")), Mount(str(tmp_path / "read"), Access.READ))
        return Box(level, mounts, network, limits=limits, group=group)

    return make


@pytest.mark.parametrize("network", [Network.NONE, Network.SHARED])
@pytest.mark.parametrize("level", list(Level))
def test_what_is_reached_is_what_the_level_does_not_hold(box, level, network, tmp_path, home):
    made = box(level, network)

    report = measure_box(made, {"ONLY": "this"}, home, tmp_path)

    promised = {name for name in ATTEMPTS if should_hold(made, name, is_root=os.getuid() == 0)}
    assert set() == set(report.unexpected)
    assert promised == set(report.held)
    assert str(tmp_path / "read") in report.readable
    assert str(tmp_path / "tree") in report.writable
    assert (str(tmp_path / "read") in report.writable) == (level is Level.NONE)
    assert "ONLY" in report.variables
    assert [] == [path.name for path in tmp_path.rglob(".probe*")]


@pytest.mark.parametrize("level", list(Level))
def test_control_group_holds_what_no_limit_of_a_process_does(box, level, tmp_path, home):
    name = f"agents-measured-{os.getpid()}"
    group = choose_group(name)
    if not group:
        pytest.skip("no control group can be made here")
    report = measure_box(box(level, Network.NONE, group), {}, home, tmp_path)

    assert report.unexpected == ()
    assert "processes" in report.held  # root's too
    assert [path.name for path in Path(group[0]).parent.glob(f"{name}*")] == []


def test_proxy_of_a_sealed_box_leads_to_no_metadata_and_nothing_else_out_of_it(box, tmp_path, home):
    made = replace(box(Level.SEALED, Network.PROXY), proxy=str(tmp_path / "proxy"))
    asked = []
    with AllowListProxy(tmp_path / "proxy", (parse_allowed("*.example"),), lambda *call: asked.append(call)):
        report = measure_box(made, PROXY_VARIABLES, home, tmp_path)

    assert [("169.254.169.254", "is not allowed")] == [(target.host, problem) for target, problem in asked]
    assert {name for name in ATTEMPTS if should_hold(made, name, is_root=os.getuid() == 0)} == set(report.held)


def test_box_is_measured_where_a_path_is_too_long_for_a_socket(box, tmp_path, home):
    folder = tmp_path / ("x" * 100)
    folder.mkdir()

    assert "unix_socket" in measure_box(box(Level.NONE, Network.SHARED), {}, home, folder).reached


def test_what_a_level_should_have_held_is_named():
    outcome = {"tcp": True, "udp": False, "readable": [], "writable": [], "variables": []}

    report = judge_report(Box(Level.GUARDED), outcome, is_root=False)

    assert (("tcp",), ("tcp",), ("udp",)) == (report.unexpected, report.reached, report.held)


@pytest.mark.parametrize(("level", "network"), [(Level.GUARDED, Network.SHARED), (Level.SEALED, Network.PROXY)])
def test_shell_at_a_start_tries_what_the_level_holds_and_leaves_nothing(box, level, network, tmp_path):
    made = box(level, network)
    before = sorted(tmp_path.rglob("*"))

    require_held(replace(made, tree=str(tmp_path / "read")), tmp_path)

    assert before == sorted(tmp_path.rglob("*"))


def test_shell_at_a_start_names_what_is_not_held(box, tmp_path):
    made = replace(box(Level.SEALED, Network.NONE), tree=str(tmp_path / "read"))
    names = try_with_shell(
        made, tmp_path, lambda words: run_script(EXEC, {}, arguments=words, cwd=tmp_path, timeout_s=10)
    )

    of_root = {"become_another", "make_namespaces"}
    seen = {"read_undeclared", "write_undeclared", "write_read_only", "see_process", "read_process", "signal_process"}
    assert seen | {"tcp", "machine_socket"} == {*names} - of_root
    assert "can read a file that was not declared" in explain_leaks(made, names, is_root=True)


@pytest.mark.parametrize("folder", ["", "/"])
def test_shell_at_a_start_tries_no_path_that_is_given_elsewhere(box, folder, tmp_path):
    around = Mount(folder or str(tmp_path), Access.WRITE)
    made = box(Level.GUARDED, Network.SHARED)
    given = replace(made, mounts=(around, *made.mounts), tree=str(tmp_path / "read"))

    require_held(given, tmp_path)


def test_shell_at_a_start_that_finds_no_room_is_no_crash(box, tmp_path):
    with pytest.raises(SystemRefused, match="could not be tried: No such file"):
        require_held(box(Level.GUARDED, Network.SHARED), tmp_path / "missing")
