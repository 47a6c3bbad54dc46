"""A process that holds a container, before a Docker API that writes down what it is asked (vector 26)."""

import socket
import sys
import threading
from types import SimpleNamespace

import pytest

from oulipoly_engine.core.agents.containers import Bind, ContainerOrder, ContainerPlan
from oulipoly_engine.core.agents.limits import AgentLimits
from oulipoly_engine.core.images.refusals import ImageNotFound
from oulipoly_engine.errors import AgentFailed, IsolationUnavailable, SpawnFailed
from oulipoly_engine.executors.container_process import Holder, take_outcome
from oulipoly_engine.executors.docker_api import ensure_image, find_host, remove_left
from oulipoly_engine.facade.agents.agents import AgentWish
from oulipoly_engine.records import replace

PLAN = ContainerPlan("unix:///d", "busy:1", AgentLimits(64 << 20))
ORDER = ContainerOrder(PLAN, "a", "0:0", "/workspace", (Bind("/x", "/y"),), job_id="exec_1")


class Refusal(OSError):
    """What docker raises: its errors are OSErrors."""

    def __init__(self, status_code, explanation=""):
        super().__init__(explanation)
        self.status_code = status_code
        self.explanation = explanation


class FakeDocker:
    """A Docker API whose containers echo their stdin on stdout, in capitals on stderr."""

    def __init__(self, fails=(), known=(), oom=False, steps=()):
        self.calls = []
        self._fails = dict(fails)
        self._known = dict(known)
        self._oom = oom
        self._steps = steps
        self._far = None
        self._thread = None

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*words, **more):
            self.calls.append(name)
            if name in self._fails:
                raise self._fails[name]
            return getattr(self, f"_{name}", lambda *_, **__: None)(*words, **more)

        return call

    def _inspect_container(self, container):
        if container == "new":
            return {"State": {"Running": False, "ExitCode": 3, "OOMKilled": self._oom}}
        if container not in self._known:
            raise Refusal(404)
        return self._known[container]

    def _pull(self, image, **_):
        return ({"status": "Pulling"}, *self._steps)

    def _create_container_from_config(self, document, name):
        return {"Id": "new"}

    def _attach_socket(self, container, params):
        near, self._far = socket.socketpair()
        return near

    def _start(self, container):
        self._thread = threading.Thread(target=self._serve, args=(self._far,))
        self._thread.start()

    def end(self):
        if self._thread is not None:
            self._thread.join()
        if self._far is not None:
            self._far.close()

    def _serve(self, far):
        data = b""
        while block := far.recv(100):
            data += block
        for stream, content in ((1, data), (2, data.upper())):
            far.sendall(bytes((stream, 0, 0, 0)) + len(content).to_bytes(4, "big") + content)
        far.close()

    def _containers(self, all, filters):
        return [{"Id": "left"}] if "io.openotters.agent-id=a" in filters["label"] else []


def hold(docker, order=ORDER, stdin=b""):
    written = []
    near, far = socket.socketpair()
    far.sendall(stdin)
    far.close()
    with near:
        try:
            code = Holder(docker, order, lambda *frame: written.append(frame), near.fileno()).run(("tool",), {})
        finally:
            docker.end()
    return code, written


def test_stdin_is_given_and_half_closed_and_the_container_is_removed():
    docker = FakeDocker()
    code, written = hold(docker, stdin=b"hi")

    assert (code, written) == (3, [(1, b"hi"), (2, b"HI")])
    assert docker.calls == [
        "create_container_from_config",
        "attach_socket",
        "start",
        "inspect_container",
        "remove_container",
    ]


@pytest.mark.parametrize(
    ("call", "removed"), [("create_container_from_config", False), ("start", True)], ids=["create", "start"]
)
def test_container_that_cannot_be_had_is_said_and_not_left(call, removed):
    docker = FakeDocker({call: Refusal(500, "no such\nthing")})
    with pytest.raises(SpawnFailed, match="could not be started: no such thing"):
        hold(docker)

    assert ("remove_container" in docker.calls) is removed


def test_end_for_memory_is_written_down(tmp_path):
    order = replace(ORDER, outcome=str(tmp_path / "outcome"))
    hold(FakeDocker(oom=True), order)
    outcome = take_outcome(tmp_path / "outcome")

    assert outcome.container_id == "new"
    assert "more memory than its limit of 64 MB" in outcome.problem
    assert take_outcome(tmp_path / "outcome").problem == ""


def container(agent_id, running=True):
    return {
        "Id": "new",
        "Config": {"Labels": {"io.openotters.agent-id": agent_id}},
        "State": {"Running": running},
    }


def test_left_container_of_its_name_makes_room_and_anothers_stays():
    order = replace(ORDER, name="otters-a")
    docker = FakeDocker(known={"otters-a": container("a")})
    docker._serve = lambda far: far.close()
    hold(docker, order)
    strange = FakeDocker(known={"otters-a": container("somebody")})
    with pytest.raises(SpawnFailed, match="not the agent's"):
        hold(strange, order)

    assert docker.calls[:3] == ["inspect_container", "remove_container", "create_container_from_config"]
    assert strange.calls == ["inspect_container"]


def test_container_that_runs_is_adopted_and_one_that_has_ended_is_not():
    order = replace(ORDER, name="otters-a", is_adopted=True)
    docker = FakeDocker(known={"otters-a": container("a")})
    attach = docker._attach_socket

    def attach_and_end(*words):
        near = attach(*words)
        docker._far.close()
        return near

    docker._attach_socket = attach_and_end
    assert hold(docker, order)[0] == 3
    with pytest.raises(SpawnFailed, match="ended meanwhile"):
        hold(FakeDocker(known={"otters-a": container("a", running=False)}), order)

    assert "create_container_from_config" not in docker.calls
    assert "start" not in docker.calls


def test_image_is_pulled_only_where_it_is_absent():
    here = FakeDocker()
    here._inspect_image = lambda _: {}
    absent = FakeDocker({"inspect_image": Refusal(404)})
    ensure_image(here, "busy:1")
    ensure_image(absent, "busy:1")
    no_network = {"pull": Refusal(500, "no network")}
    for fails, steps in ((no_network, ()), ({}, [{"error": "no network"}])):
        with pytest.raises(ImageNotFound, match="cannot be pulled: no network; --base-image"):
            ensure_image(FakeDocker({"inspect_image": Refusal(404), **fails}, steps=steps), "busy:1")

    assert (here.calls, absent.calls) == (["inspect_image"], ["inspect_image", "pull"])


def test_only_containers_of_the_agent_are_removed():
    docker = FakeDocker()

    assert (remove_left(docker, "a"), remove_left(docker, "b")) == (1, 0)
    assert docker.calls == ["containers", "remove_container", "containers"]


def test_machine_without_docker_says_what_to_do(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:2375")
    with pytest.raises(IsolationUnavailable, match="unix://PATH"):
        find_host()


@pytest.mark.parametrize(
    ("fails", "reason", "why"),
    [
        ({"inspect_image": Refusal(404), "pull": Refusal(500, "no network")}, "pull", "cannot be pulled: no network"),
        ({"containers": Refusal(500, "no space")}, "init", "the Docker API refuses: no space"),
    ],
    ids=["pull", "containers"],
)
def test_agent_whose_docker_refuses_has_failed_with_the_reason(live, monkeypatch, fails, reason, why):
    (live.root / "Agentfile").write_text("FROM scratch\nNAME x\nMODEL demo-codex\n")
    monkeypatch.setenv("DOCKER_HOST", "unix:///d")
    monkeypatch.setitem(sys.modules, "docker", SimpleNamespace(APIClient=lambda **_: FakeDocker(fails)))
    monkeypatch.setitem(sys.modules, "docker.errors", SimpleNamespace(DockerException=Refusal))
    with pytest.raises(AgentFailed, match=why):
        live.engine.agents.run(AgentWish(str(live.root), "calm", "container"))
    agent = live.engine.agents.find("calm")

    assert ("failed", reason, True) == (agent.status, agent.reason, why in agent.problem)
