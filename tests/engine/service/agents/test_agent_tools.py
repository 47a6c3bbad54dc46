"""Tools of agents (vectors 16 to 19)."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from oulipoly_engine import stopping
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, Job, Overrides, PlannedTool
from oulipoly_engine.core.agents.limits import AgentLimits
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.errors import AgentStateInvalid, Interrupted, SpawnFailed, ToolMissing, ToolUnknown
from oulipoly_engine.process.boxes.groups import choose_group, end_group
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.liveness import here, is_alive, own_mark, start_ticks
from oulipoly_engine.records import replace
from oulipoly_engine.service.agents.tools import Tail, Tools, end_process
from oulipoly_engine.service.agents.tree import write_tree
from oulipoly_engine.store.agents import agents, jobs
from oulipoly_engine.store.base.db import open_store

NOW = SystemClock().now()
NO_LIMITS = AgentLimits()
HIDES_AND_TAKES_TOO_MUCH = """#!/bin/sh
PATH=/usr/bin:/bin
setsid sh -c 'echo > hidden; exec sleep 600' > /dev/null 2>&1 &
while [ ! -e hidden ]; do :; done
held=$(head -c 24M /dev/zero | tail -c 24M | tail -c 24M | wc -c)
[ "$held" = 25165824 ] || exit 9
"""


class Ran:
    """An agent with one tool, and what came of its runs."""

    def __init__(self, folder):
        self.folder = folder
        self.store = open_store(folder / "state.db")
        self.agent = Agent("1", "meteo", "x", "none", "ready", NOW, NOW)
        agents.insert(self.store, self.agent)
        self.insert = jobs.insert

    def declare(self, script, isolation="none", limits=NO_LIMITS):
        program = self.folder / "tool.sh"
        program.write_text(script)
        tools = (PlannedTool("tool", program=str(program)), PlannedTool("absent"))
        self.agent = replace(
            self.agent, isolation=isolation, plan=AgentPlan(tools=tools, overrides=Overrides(limits=limits))
        )
        write_tree(self.folder / "trees/1", self.agent, ())
        return self

    def run(self, *arguments, tool="tool", stdin=b"", **more):
        job = Job("exec_1", "1", "exec", tool, "running", NOW, arguments, owner=own_mark(), begun_at=NOW)
        self.insert(self.store, job)
        runner = Tools(self.store, self.folder / "trees", SystemClock().now)
        return runner.run(self.agent, job, stdin, **more)

    @property
    def record(self):
        return jobs.find(self.store, "exec_1")[0]


@pytest.fixture
def ran(tmp_path):
    ran = Ran(tmp_path)
    yield ran
    ran.store.close()


class Sink(list):
    def write(self, data):
        self.append(data)


def test_tool_has_its_words_its_stdin_its_folder_and_no_variable_of_ours(ran, monkeypatch):
    monkeypatch.setenv("CANARY", "x")
    ran.declare('#!/bin/sh\nread -r line\necho "$* $line $PWD $CANARY"\necho oops >&2\nexit 3\n')
    out = Sink()
    result = ran.run("-a", "b c", stdin=b"in\n", stdout=out)

    assert result.exit_code == 3
    assert b"".join(out) == result.stdout == f"-a b c in {ran.folder}/trees/1/workspace \n".encode()
    assert result.stderr == b"oops\n"
    record = ran.record
    assert (record.status, record.exit_code, record.stderr, record.stdout_bytes) == (
        "done",
        3,
        "oops\n",
        len(result.stdout),
    )


def test_receiver_that_fails_does_not_hinder_a_tool(ran):
    class Broken:
        def write(self, data):
            raise OSError

    ran.declare("#!/bin/sh\necho a\necho b\n")

    assert ran.run(stdout=Broken()).stdout == b"a\nb\n"


@pytest.mark.parametrize(
    ("status", "tool", "error", "words"),
    [
        ("stopped", "tool", AgentStateInvalid, "agent start meteo"),
        ("ready", "curl", ToolUnknown, "declares: absent, tool$"),
        ("ready", "absent", ToolMissing, "--tool absent="),
        ("ready", "tool", SpawnFailed, "missing #! line"),
    ],
)
def test_tool_that_cannot_run_says_why_and_leaves_a_record(ran, status, tool, error, words):
    ran.declare("no program")
    ran.agent = replace(ran.agent, status=status)
    with pytest.raises(error, match=words):
        ran.run(tool=tool)

    assert (ran.record.status, ran.record.exit_code, ran.record.handle) == ("error", None, "")
    assert ran.record.problem


def test_tool_that_is_stopped_leaves_its_output_and_no_process(ran):
    ran.declare("#!/bin/sh\necho begun\n/bin/sleep 600 &\necho $! >&2\nwait\n")
    stop = threading.Event()

    class Stopper(list):
        def write(self, data):
            self.append(data)
            stop.set()

    pids = Stopper()
    results = []

    def work():
        with stopping.stoppable(stop):
            results.append(ran.run(stderr=pids))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)

    assert results[0].stdout == b"begun\n"
    assert ran.record.status == "cancelled"
    assert not is_alive(int(b"".join(pids)))


def test_tool_that_is_interrupted_leaves_what_it_wrote(ran):
    class Interrupting:
        def write(self, data):
            raise Interrupted(2)

    ran.declare("#!/bin/sh\necho begun\nexec /bin/sleep 600\n")
    with pytest.raises(Interrupted):
        ran.run(stdout=Interrupting())

    assert (ran.record.status, ran.record.stdout, ran.record.stdout_bytes) == ("cancelled", "begun\n", 6)


def test_tool_that_was_cancelled_before_it_had_a_number_ends_at_once(ran):
    ran.declare("#!/bin/sh\nexec /bin/sleep 600\n")
    insert = jobs.insert

    def insert_cancelled(store, job):
        insert(store, job)
        jobs.move(store, job.job_id, "cancel", NOW)

    ran.insert = insert_cancelled
    result = ran.run()

    assert result.exit_code != 0
    assert ran.record.status == "cancelled"


def test_tool_that_takes_too_long_ends(ran):
    ran.declare("#!/bin/sh\necho begun\nexec /bin/sleep 600\n")
    result = ran.run(timeout_s=2.0)  # long enough to begin on a busy machine

    assert (result.exit_code, result.timed_out, result.stdout) == (124, True, b"begun\n")


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize(
    ("limits", "line", "words"),
    [
        (
            AgentLimits(file_bytes=2048),
            "exec /usr/bin/head -c 9999 /bin/sh > long",
            "longer file than its limit of 2 kB",
        ),
        (AgentLimits(memory_bytes=64 << 20), "exec /bin/dd if=/dev/zero bs=200M count=1", "no more memory"),
        (AgentLimits(processor_s=1), "while :; do :; done", "more processor time than its limit of 1 s"),
        (AgentLimits(time_s=1), "exec /bin/sleep 600", "longer than its limit of 1 s"),
    ],
)
def test_limit_of_an_agent_ends_its_tool_and_is_named(ran, level, limits, line, words):
    if find_level(level).obstacle:
        pytest.skip(f"this machine cannot give the level {level}")
    ran.declare(f"#!/bin/sh\n{line}\n", level.value, limits)
    result = ran.run()

    assert result.exit_code
    assert words in result.limit
    assert ran.record.problem == result.limit


def test_files_of_an_agent_end_its_tool_and_let_none_begin_until_some_are_removed(ran):
    ran.declare('#!/bin/sh\n[ "$1" ] || exit 0\n/bin/dd if=/dev/zero of=a bs=1M count=1\n/bin/dd if=/dev/zero '
                "of=b bs=1M count=1\nexec /bin/sleep 600\n", limits=AgentLimits(disk_bytes=3 << 19))  # fmt: skip
    result = ran.run("fill")
    ran.insert = lambda store, job: None
    with pytest.raises(SpawnFailed, match="more disk than their limit of 1 MB: remove some"):
        ran.run()
    (ran.folder / "trees/1/workspace/a").unlink()

    assert result.exit_code
    assert "more disk than their limit" in result.limit
    assert ran.record.problem == result.limit
    assert ran.run().exit_code == 0


@pytest.mark.parametrize("level", list(Level))
def test_control_group_of_an_agent_limits_all_its_processes_and_ends_what_has_left_them(ran, level):
    group = choose_group(f"agents-test-{os.getpid()}")
    if not group or find_level(level).obstacle:
        pytest.skip(f"this machine gives no control group, or not the level {level}")
    limits = AgentLimits(memory_bytes=40 << 20, processes=30)
    ran.declare(HIDES_AND_TAKES_TOO_MUCH, level.value, limits)
    ran.agent = replace(ran.agent, plan=replace(ran.agent.plan, group=group))
    try:
        result = ran.run()
        left = Path(group[0], "cgroup.procs").read_text()
    finally:
        end_group(group)

    assert result.exit_code == 9
    assert "more memory than its limit: 40 MB for all its processes" in result.limit
    assert left or level is Level.SEALED  # whose processes end with it
    assert [folder for folder in group if Path(folder).exists()] == []


@pytest.mark.parametrize(("folder", "words"), [("absent/agents-1", "No such file"), ("agents-1", "it has no pids.max")])
def test_tool_does_not_begin_outside_of_its_control_group(ran, folder, words):
    ran.declare("#!/bin/sh\necho begun > ../tmp/begun\n", limits=AgentLimits(processes=30))
    ran.agent = replace(ran.agent, plan=replace(ran.agent.plan, group=(str(ran.folder / folder),)))
    with pytest.raises(SpawnFailed, match=f"cannot be had from here .{words}"):
        ran.run()

    assert not (ran.folder / "trees/1/tmp/begun").exists()


def test_secret_in_its_output_is_not_kept(ran):
    ran.declare("#!/bin/sh\necho sk-ant-api03-" + "a" * 80 + "\n")
    result = ran.run()

    assert b"aaaa" in result.stdout
    assert "aaaa" not in ran.record.stdout


def test_secret_that_is_cut_off_is_not_kept():
    tail = Tail()
    for data in (b"sk-ant-api03-" + b"a" * 80, b" end", b"x" * 1000, b"\n", b"y" * ((64 << 10) - 1050)):
        tail.add(data)

    assert tail.size > 64 << 10
    assert tail.text().startswith("endx")


@pytest.mark.parametrize("level", ["guarded", "sealed"])
def test_box_of_an_agent_holds_its_tools(ran, level):
    if find_level(Level(level)).obstacle:
        pytest.skip(f"this machine cannot give the level {level}")
    secret = ran.folder / "secret"
    secret.write_text("secret")
    lines = (f"/bin/cat {secret} || echo refused", "echo mine > own && /bin/cat own", "echo x > ../etc/x || echo no")
    ran.declare("\n".join(("#!/bin/sh", *lines, "")), level)
    result = ran.run()

    assert (result.exit_code, result.stdout) == (0, b"refused\nmine\nno\n")


def test_address_that_a_sealed_tool_may_not_reach_is_in_the_log_once(ran):
    if find_level(Level.SEALED).obstacle:
        pytest.skip("this machine cannot give the level sealed")
    ask = 'exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT evil.test:443 HTTP/1.1\\r\\n\\r\\n" >&3; read -r line <&3'
    ran.declare(f'#!/bin/bash\n{ask}; {ask}\necho "$line"\n', "sealed")
    result = ran.run()
    lines = (ran.folder / "logs/agents/1.log").read_text().splitlines()

    assert b"403 Forbidden" in result.stdout
    assert [line.partition("] ")[2] for line in lines] == ["network: evil.test:443 is not allowed"]


def test_process_of_a_job_is_ended_where_its_number_means_it():
    process = subprocess.Popen(("/bin/sleep", "600"), start_new_session=True)
    mark = f"{process.pid} {start_ticks(process.pid)}"
    job = Job("j", "1", "job", "tool", "running", NOW, handle=f"{mark} elsewhere")
    end_process(job)
    end_process(replace(job, handle=""))
    end_process(replace(job, handle=f"{process.pid} 1 {here()}"))
    was_alive = process.poll() is None
    end_process(replace(job, handle=f"{mark} {here()}"))

    assert was_alive
    assert process.wait(60) < 0
