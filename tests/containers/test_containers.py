"""Agents in real containers, behind the Docker API that DOCKER_HOST names: scripts/test-containers starts one."""

import io
import os
import signal
import tarfile
import threading
import time

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, Job, Overrides, PlannedTool
from oulipoly_engine.core.agents.containers import ContainerPlan
from oulipoly_engine.core.agents.limits import AgentLimits
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.errors import AgentFailed, SpawnFailed
from oulipoly_engine.executors.docker_api import connect, find_host, list_containers, remove_left
from oulipoly_engine.facade.agents.agents import AgentWish
from oulipoly_engine.host.loop import Loop
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.liveness import has_ended_mark, own_mark
from oulipoly_engine.records import replace
from oulipoly_engine.service.agents.containers import measure_container
from oulipoly_engine.service.agents.supervisor import Pace, Supervisor, choose_address
from oulipoly_engine.service.agents.tools import Tools, end_process
from oulipoly_engine.service.agents.tree import write_tree
from oulipoly_engine.store.agents import agents, jobs
from oulipoly_engine.store.base.db import open_store

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300)]
NOW = SystemClock().now()
LEVELS = ("none", "guarded", "sealed", "container")
PROGRAMS = ("sh", "cat", "sleep", "id", "head", "dd", "ls", "touch", "nc", "tail", "env", "kill", "true")
PACE = Pace(0.05, 0.2, 60.0, 0.05, 0.1, 15.0, 0.05)
IMAGE = "localhost/agents-test/busybox:latest"  # podman imports by no other tag, and calls what has no registry so
RUNTIME = """#!/bin/sh
echo "begun $*"
trap 'echo INT; exit 0' INT
nc -ll -p 9999 -e sleep 100 &
while :; do wait; sleep 1; done
"""


@pytest.fixture(scope="session")
def docker():
    client = connect(find_host())
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add("/bin/busybox", "bin/busybox")
        for name in PROGRAMS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type = tarfile.SYMTYPE
            link.linkname = "busybox"
            tar.addfile(link)
    client.import_image_from_data(data.getvalue(), repository=IMAGE.rpartition(":")[0], tag="latest")
    yield client
    client.close()


def is_podman(docker):
    return "podman" in str(docker.version().get("Components")).lower()


class World:
    """One agent of a level, with a tool."""

    def __init__(self, folder, docker):
        self.folder = folder
        self.docker = docker
        self.store = open_store(folder / "state.db")
        self.agent = None
        self.runner = Tools(self.store, folder / "trees", SystemClock().now)

    @property
    def root(self):
        return self.folder / "trees/1"

    def declare(self, level, script="", **plan):
        tool = self.folder / "tool.sh"
        tool.write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\n{script}\n")
        tools = (PlannedTool("tool", program=str(tool)),)
        container = ContainerPlan(find_host(), plan.pop("image", IMAGE), plan.pop("limits", AgentLimits()))
        status = plan.pop("status", "ready")
        agent_plan = AgentPlan(tools=tools, container=container, **plan)
        self.agent = Agent("1", "meteo", "x", level, status, NOW, NOW, plan=agent_plan)
        agents.insert(self.store, self.agent)
        write_tree(self.root, self.agent, ())

    def run(self, *arguments, stdin=b"", **more):
        job = Job("exec_1", "1", "exec", "tool", "running", NOW, arguments, owner=own_mark(), begun_at=NOW)
        jobs.insert(self.store, job)
        return self.runner.run(self.agent, job, stdin, **more)

    @property
    def record(self):
        return jobs.find(self.store, "exec_1")[0]

    def containers(self):
        return list(list_containers(self.docker, "1"))


@pytest.fixture
def world(tmp_path, docker):
    remove_left(docker, "1")
    world = World(tmp_path, docker)
    yield world
    left = world.containers()
    remove_left(docker, "1")
    world.store.close()
    assert left == []


@pytest.fixture(params=LEVELS)
def level(request):
    if request.param in tuple(Level) and (obstacle := find_level(Level(request.param)).obstacle):
        pytest.skip(obstacle)
    return request.param


def wait_for(is_so, patience_s=60.0):
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# The contract, on every level ---------------------------------------------------------------------------------------
def test_tool_has_its_words_its_stdin_its_workspace_and_its_exit_code(world, level):
    world.declare(level, 'read -r line; echo "$* $line"; touch made; echo oops >&2; exit 3')
    result = world.run("-a", "b c", stdin=b"in\n")

    assert (result.exit_code, result.stdout, result.stderr) == (3, b"-a b c in\n", b"oops\n")
    assert (world.root / "workspace/made").is_file()
    assert (world.record.status, world.record.exit_code) == ("done", 3)


def test_tool_gets_much_and_gives_much(world, level):
    world.declare(level, "cat; exit 0")
    taken = bytearray()

    class Sink:
        def write(self, data):
            taken.extend(data)

    data = bytes(range(256)) * 8192
    assert world.run(stdin=data, stdout=Sink()).exit_code == 0
    assert bytes(taken) == data


def test_tool_sees_no_variable_of_ours(world, level, monkeypatch):
    monkeypatch.setenv("CANARY", "x")
    world.declare(level, 'echo "$CANARY$HOME $OTTERS_AGENT_ROOT"')
    root = str(world.root)

    assert world.run().stdout.decode().split() == [f"{root}/home", root]


def test_tool_that_takes_too_long_is_ended(world, level):
    world.declare(level, "echo begun; sleep 600")
    began = time.monotonic()
    result = world.run(timeout_s=5)

    assert result.timed_out
    assert time.monotonic() - began < 30


def test_cancelled_tool_leaves_nothing(world, level):
    world.declare(level, "touch begun; sleep 600 & sleep 600")
    thread = threading.Thread(target=lambda: (wait_for((world.root / "workspace/begun").exists), cancel(world.folder)))
    thread.start()
    world.run()
    thread.join()

    assert world.record.status == "cancelled"


def cancel(folder):
    store = open_store(folder / "state.db")
    jobs.move(store, "exec_1", "cancel", NOW)
    end_process(jobs.find(store, "exec_1")[0])
    store.close()


def test_read_only_mount_holds_where_the_level_says_so(world, level, tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "text").write_text("given")
    world.declare(
        level,
        'place=${1}; cat "$place/text"; touch "$place/made" 2>/dev/null || echo " held"',
        mounts=(Mount(str(folder), "/data", "", True),),
    )
    place = "/data" if level == "container" else str(folder)

    assert world.run(place).stdout == (b"given" if level == "none" else b"given held\n")


# Of containers alone ------------------------------------------------------------------------------------------------
def test_container_that_cannot_be_made_is_an_error_of_the_tool(world):
    world.declare("container", image="localhost/agents-test/absent:1")
    with pytest.raises(SpawnFailed, match="could not be started"):
        world.run()

    assert world.record.status == "error"


def test_memory_limit_ends_a_tool_with_its_reason(world):
    limits = AgentLimits(memory_bytes=16 << 20)
    world.declare(
        "container",
        "exec dd if=/dev/zero of=/dev/null bs=100M count=1",
        limits=limits,
    )
    result = world.run()

    assert result.exit_code == 137
    if not is_podman(world.docker):  # 4.3 does not say why
        assert "more memory than its limit of 16 MB" in world.record.problem


def test_processes_are_limited_for_root_as_well(world):
    world.declare(
        "container", "for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; echo all", limits=AgentLimits(processes=5)
    )

    assert b"all" not in world.run().stdout


def test_what_a_killed_holder_leaves_is_removed_by_its_label(world):
    world.declare("container", "touch begun; sleep 600")
    thread = threading.Thread(target=lambda: kill_holder(world))
    thread.start()
    world.run()
    thread.join()
    left = world.containers()

    assert len(left) == 1
    assert remove_left(world.docker, "1", "exec_2") == 0
    assert remove_left(world.docker, "1", "exec_1") == 1


def kill_holder(world):
    wait_for((world.root / "workspace/begun").exists)
    store = open_store(world.folder / "state.db")
    os.kill(int(jobs.find(store, "exec_1")[0].handle.split()[0]), signal.SIGKILL)
    store.close()


def test_probe_from_inside_finds_what_a_container_should_hold(world, tmp_path):
    world.declare("container")
    report = measure_container(world.root, world.agent, None, tmp_path)

    assert set(report.unexpected) == unheld(world.docker)
    assert {"tcp", "metadata"} <= set(report.reached)
    assert {"read_undeclared", "see_process", "become_another", "unix_socket"} <= set(report.held)
    assert f"{world.root}/workspace" in report.writable
    assert f"{world.root}/etc" not in report.writable


def unheld(docker):
    """Return what a container does not hold, though a box would: podman's filter lets users make namespaces."""
    return {"make_namespaces"} if is_podman(docker) else set()


# A runtime of its own -----------------------------------------------------------------------------------------------
class Supervised:
    """A supervisor in a thread."""

    def __init__(self, world):
        self.world = world
        self.supervisor = None
        self._begun = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        self._begun.wait(20)

    def _run(self):
        store = open_store(self.world.folder / "state.db")
        with Loop() as loop:
            folder = self.world.folder
            self.supervisor = Supervisor(store, loop, folder / "trees", folder / "log", "1", PACE)
            self._begun.set()
            self.supervisor.run()
        store.close()

    def end(self):
        self.supervisor.ask_stop()
        self.thread.join(60)
        assert not self.thread.is_alive()


def history(world):
    return [f"{change.status} {change.reason}".strip() for change in agents.read_history(world.store, "1")]


def declare_runtime(world, script=RUNTIME, **plan):
    runtime = world.folder / "runtime.sh"
    runtime.write_text(script)
    address = choose_address(Agent("1", "meteo", "x", "container", "starting", NOW, NOW), world.folder)
    world.declare("container", runtime=str(runtime), model="m/x", address=address, status="starting", **plan)


def test_runtime_is_ready_when_it_listens_and_is_stopped_by_int(world):
    declare_runtime(world)
    supervised = Supervised(world)
    status = supervised.supervisor.tracker.wait_for(("ready", "failed"), 60)
    names = [each["Names"] for each in world.docker.containers()]
    supervised.end()

    assert status == "ready"
    assert ["/otters-1"] in names or ["otters-1"] in names
    assert history(world) == ["starting", "ready", "stopped"]
    log = (world.folder / "log").read_text()
    assert "begun serve --root /agent --model m/x --addr 0.0.0.0:9999" in log
    assert "INT\n" in log


def test_runtime_whose_supervisor_was_killed_is_adopted(world):
    declare_runtime(world)
    first = Supervised(world)
    first.supervisor.tracker.wait_for(("ready", "failed"), 60)
    (container,) = world.containers()
    process = first.supervisor._process
    first.supervisor._fail = lambda *_: None
    os.killpg(process.pid, signal.SIGTERM)  # as the watch of a killed supervisor does
    first.thread.join(60)
    second = Supervised(world)
    wait_for(lambda: "runs on" in (world.folder / "log").read_text())
    still = world.containers()
    second.end()

    assert still == [container]
    assert history(world) == ["starting", "ready", "stopped"]


def test_runtime_that_cannot_be_made_has_failed_at_its_start(world):
    declare_runtime(world, image="localhost/agents-test/absent:1")
    supervised = Supervised(world)
    wait_for(lambda: "failed init" in history(world))
    supervised.end()

    assert "could not be started" in (world.folder / "log").read_text()


# All of it ----------------------------------------------------------------------------------------------------------
AGENTFILE = "FROM scratch\nNAME meteo\nMODEL m/x\nRUNTIME example.com/runtime\nBIN greet example.com/greet\n"


@pytest.fixture
def wish(live, docker):
    folder = live.root / "meteo"
    folder.mkdir()
    (folder / "Agentfile").write_text(AGENTFILE)
    live.put_program("runtime", RUNTIME)
    live.put_program("greet", "#!/bin/sh\ncat /agent/etc/context/WORKSPACE.md\n")
    return AgentWish(str(folder), "calm", "container", Overrides(base_image=IMAGE))


def test_agent_outlives_its_supervisor_is_used_and_removed(live, docker, wish):
    work = live.engine.agents
    agent = work.run(wish)
    text = work.exec("calm", "greet").stdout.decode()
    pid = int(work.find("calm").owner.split()[0])
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: has_ended_mark(work.find("calm").owner))
    statuses = [standing.status for standing in (*work.list(), *work.list())]
    successor = int(work.find("calm").owner.split()[0])
    report = work.inspect("calm").report
    running = list(list_containers(docker, agent.agent_id))
    work.stop("calm")
    left = list(list_containers(docker, agent.agent_id))
    work.remove("calm")

    assert "You are in a container" in text
    assert "- where you work: `/workspace`" in text
    assert statuses == ["ready", "ready"]
    assert successor != pid
    assert set(report.unexpected) == unheld(docker)
    assert (len(running), left) == (1, [])


def test_image_that_cannot_be_pulled_fails_the_pull(live, wish):
    absent = replace(wish.overrides, base_image="127.0.0.1:9/absent:1")
    with pytest.raises(AgentFailed, match="cannot be pulled"):
        live.engine.agents.run(replace(wish, overrides=absent))
    (standing,) = live.engine.agents.list()

    assert (standing.status, standing.agent.reason) == ("failed", "pull")
