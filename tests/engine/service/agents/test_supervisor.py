"""Agents with a runtime of their own (vectors 21 to 23, 29)."""

import socket
import sys
import threading
import time

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent, AgentPlan
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.host.loop import Loop
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.records import replace
from oulipoly_engine.service.agents.supervisor import Pace, Supervisor, choose_address
from oulipoly_engine.service.agents.tree import write_tree
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import open_store

NOW = SystemClock().now()
PACE = Pace(0.01, 0.05, 20.0, 0.05, 0.1, 10.0, 0.02)
RUNTIME = f"""#!{sys.executable} -IS
import os, signal, socket, sys, time
mood = os.environ["RUNTIME_MOOD"]
print(" ".join(sys.argv[1:]), flush=True)
count = os.path.exists("../tmp/begun") + os.path.exists("../tmp/again")
open("../tmp/again" if count else "../tmp/begun", "w").close()
if mood == "deaf":
    signal.signal(signal.SIGINT, lambda *_: print("INT", flush=True))
if mood == "mute" or (mood == "late" and count < 2):
    time.sleep(0 if mood == "late" else 600)
    sys.exit(7)
host, port = sys.argv[sys.argv.index("--addr") + 1].split(":")

def reaches(kind, *address):
    with socket.socket(socket.AF_INET, kind) as client:
        client.settimeout(5)
        try:
            client.connect(address)
            client.send(b"x")
            return client.recv(1) == b"y"
        except OSError:
            return False

with socket.create_server((host, int(port))) as server:
    while mood == "probe":
        client, _ = server.accept()
        with client:
            tcp, udp = map(int, os.environ["RUNTIME_PORTS"].split())
            tries = ((1, host, tcp), (2, host, udp), (2, "169.254.169.254", 80))
            client.sendall(" ".join(map(str, (port, *(reaches(*each) for each in tries)))).encode())
    server.accept()
    if mood == "cut":
        server.accept()  # once it was said to be ready
        for pid in (int(name) for name in os.listdir("/proc") if name.isdecimal() and name != "1"):
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
    if mood in ("crash", "clean"):
        sys.exit(5 if mood == "crash" else 0)
    while True:
        time.sleep(0.05)
"""


class Supervised:
    """An agent and its supervisor, in a thread."""

    def __init__(self, folder, mood, pace, isolation="none", ports=""):
        self.folder = folder
        program = folder / "runtime.py"
        program.write_text(RUNTIME)
        plan = AgentPlan("m/x", str(program), configs={"mood": mood, "ports": ports})
        agent = Agent("1", "meteo", "x", isolation, "starting", NOW, NOW, plan=plan)
        self.address = choose_address(agent, folder / "s")
        agent = replace(agent, plan=replace(plan, address=self.address))
        write_tree(folder / "trees/1", agent, ())
        store = open_store(folder / "state.db")
        agents.insert(store, agent)
        store.close()
        self.supervisor = None
        self._begun = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(pace,))
        self.thread.start()
        self._begun.wait(60)

    def _run(self, pace):
        store = open_store(self.folder / "state.db")
        with Loop() as loop:
            self.supervisor = Supervisor(store, loop, self.folder / "trees", self.log, "1", pace)
            self._begun.set()
            self.supervisor.run()
        store.close()

    @property
    def log(self):
        return self.folder / "log"

    def end(self):
        self.supervisor.ask_stop()
        self.thread.join(60)
        assert not self.thread.is_alive()

    def history(self):
        store = open_store(self.folder / "state.db")
        changes = agents.read_history(store, "1")
        store.close()
        return [f"{change.status} {change.reason}".strip() for change in changes]


@pytest.fixture
def supervise(tmp_path):
    begun = []

    def supervise(mood, pace=PACE, **more):
        begun.append(Supervised(tmp_path, mood, pace, **more))
        return begun[-1]

    yield supervise
    for supervised in begun:
        supervised.end()


def test_runtime_is_ready_when_it_answers_and_a_polite_one_ends_by_int(supervise):
    supervised = supervise("kind")
    status = supervised.supervisor.tracker.wait_for(("ready", "failed"), 20)
    supervised.end()
    lines = supervised.log.read_text()

    assert status == "ready"
    assert supervised.history() == ["starting", "ready", "stopped"]
    assert f"serve --root {supervised.folder}/trees/1 --model m/x --addr 127.0.0.1:" in lines
    assert "KeyboardInterrupt" in lines


def test_runtime_that_ignores_int_gets_one_and_is_killed(supervise):
    supervised = supervise("deaf", replace(PACE, grace_s=0.3))
    supervised.supervisor.tracker.wait_for(("ready",), 20)
    supervised.end()

    assert supervised.history()[-1] == "stopped"
    assert supervised.log.read_text().count("INT\n") == 1


def test_runtime_that_ends_before_it_is_ready_is_started_again(supervise):
    supervised = supervise("late")
    supervised.supervisor.tracker.wait_for(("ready",), 20)
    supervised.end()

    again = ["failed init", "pulling", "starting"]
    assert supervised.history() == ["starting", *again, *again, "ready", "stopped"]


@pytest.mark.parametrize(("mood", "end"), [("crash", "failed crashed"), ("clean", "stopped")])
def test_runtime_that_ends_by_itself_is_not_started_again(supervise, mood, end):
    supervised = supervise(mood)
    supervised.thread.join(60)

    assert supervised.history() == ["starting", "ready", end]


def test_runtime_that_never_answers_has_failed_and_leaves_no_process(supervise):
    supervised = supervise("mute", replace(PACE, ready_s=0.5))
    supervised.thread.join(60)

    assert supervised.history() == ["starting", "failed readiness_timeout"]


def test_stop_while_it_waits_to_try_again_ends_at_once(supervise):
    supervised = supervise("late", replace(PACE, base_s=600, cap_s=600))
    supervised.supervisor.tracker.wait_for(("failed",), 20)
    began = time.monotonic()
    supervised.end()

    assert time.monotonic() - began < 10
    assert supervised.history() == ["starting", "failed init"]


def test_container_that_cannot_be_made_has_failed_at_its_start_and_says_why(supervise):
    supervised = supervise("kind", replace(PACE, base_s=600, cap_s=600), isolation="container")
    supervised.supervisor.tracker.wait_for(("failed",), 60)
    supervised.end()

    assert supervised.history() == ["starting", "failed init"]
    assert "failed (init): before it was ready: " in supervised.log.read_text()
    assert "ocker" in supervised.log.read_text()  # no package of that name, or no API


@pytest.fixture
def served_ports():
    """Two ports of this machine, of TCP and of UDP, behind which whoever asks is answered."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.01)
        yield f"{tcp.getsockname()[1]} {udp.getsockname()[1]}"
        tcp.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has asked
            tcp.accept()
        with pytest.raises(TimeoutError):
            udp.recv(1)


def test_sealed_runtime_is_reached_by_its_socket_alone_and_reaches_no_port_of_this_machine(supervise, served_ports):
    if obstacle := find_level(Level.SEALED).obstacle:
        pytest.skip(obstacle)
    supervised = supervise("probe", isolation="sealed", ports=served_ports)
    path = supervised.address.removeprefix("unix:")
    status = supervised.supervisor.tracker.wait_for(("ready", "failed"), 20)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        answer = client.makefile().read()
    supervised.end()

    assert status == "ready"
    assert answer == "9999 False False False"
    assert supervised.history() == ["starting", "ready", "stopped"]
    assert "KeyboardInterrupt" in supervised.log.read_text()  # it was asked to end, in its box
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(FileNotFoundError):
        client.connect(path)


def test_sealed_runtime_to_which_nothing_leads_any_more_has_crashed(supervise):
    if obstacle := find_level(Level.SEALED).obstacle:
        pytest.skip(obstacle)
    supervised = supervise("cut", isolation="sealed")
    supervised.supervisor.tracker.wait_for(("ready", "failed"), 20)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(supervised.address.removeprefix("unix:"))
        supervised.thread.join(60)

    assert supervised.history() == ["starting", "ready", "failed crashed"]
    assert "the relay that leads into its box was ended" in supervised.log.read_text()


def test_address_stays_over_starts_and_follows_the_isolation(tmp_path):
    agent = Agent("1-2", "meteo", "x", "guarded", "starting", NOW, NOW)
    address = choose_address(agent, tmp_path)
    started = replace(agent, plan=replace(agent.plan, address=address))
    sealed = replace(started, isolation="sealed")

    assert address.startswith("127.0.0.1:")
    assert address == choose_address(started, tmp_path)
    assert f"unix:{tmp_path}/12.sock" == choose_address(sealed, tmp_path)
