"""Where control groups can be made: of both versions, as /proc and the mounts tell."""

import pytest

from oulipoly_engine.process.boxes.groups import choose_group, count_refusals


@pytest.fixture
def machine(tmp_path):
    """A way to write a /proc of this process, with mounts at folders of ours."""

    def write(groups, *mounts):
        lines = [f"{number} 1 0:1 {root} {tmp_path}/{place} rw - {kind}" for number, (root, place, kind) in
                 enumerate(mounts)]  # fmt: skip
        (tmp_path / "mountinfo").write_text("\n".join(lines))
        (tmp_path / "cgroup").write_text(groups)
        return tmp_path

    return write


def delegate(folder, controllers):
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").touch()
    (folder / "cgroup.subtree_control").write_text(controllers)


def test_group_of_version_2_lies_where_memory_and_pids_are_controlled(machine, tmp_path):
    for name, controllers in (("two", ""), ("two/app", "memory pids"), ("two/app/mine.scope", "")):
        delegate(tmp_path / name, controllers)
    proc = machine("0::/app/mine.scope\n", ("/", "two", "cgroup2 cgroup2 rw"))

    assert choose_group("agents-1", proc) == (f"{tmp_path}/two/app/agents-1",)


def test_group_of_version_1_lies_below_our_own_of_each_controller(machine, tmp_path):
    for name in ("memory/mine", "pids"):
        delegate(tmp_path / name, "")
    mounts = (("/", "memory", "cgroup cgroup rw,memory"), ("/box", "pids", "cgroup cgroup rw,pids"))
    proc = machine("4:memory:/mine\n3:pids:/box\n0::/\n", *mounts, ("/", "two", "cgroup2 cgroup2 rw"))

    assert choose_group("agents-1", proc) == (f"{tmp_path}/memory/mine/agents-1", f"{tmp_path}/pids/agents-1")


@pytest.mark.parametrize(
    ("groups", "mounts"),
    [
        ("0::/mine\n", (("/", "two", "cgroup2 cgroup2 rw"),)),
        ("0::/\n", (("/other", "two", "cgroup2 cgroup2 rw"),)),
        ("4:memory:/\n", (("/", "memory", "cgroup cgroup rw,memory"),)),
        ("0::/mine\n", ()),
        ("rubbish", (("/", "two", "cgroup2 cgroup2 rw"),)),
    ],
    ids=["not delegated", "outside of what is mounted", "no pids", "not mounted", "rubbish"],
)
def test_no_group_is_made_elsewhere(machine, tmp_path, groups, mounts):
    delegate(tmp_path / "two/mine", "")

    assert choose_group("agents-1", machine(groups, *mounts)) == ()


def test_refusals_are_read_of_either_version(tmp_path):
    (tmp_path / "memory.events").write_text("low 0\noom 2\noom_kill 3\n")
    (tmp_path / "pids.events").write_text("max 5\n")
    both = count_refusals((str(tmp_path),))

    assert (both.memory, both.processes) == (3, 5)
    assert count_refusals(()) == count_refusals((str(tmp_path / "absent"),))
