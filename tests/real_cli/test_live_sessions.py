"""Live sessions with the real CLIs: turns in one process, approvals, interrupts, death and resumption, forks."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what lives is looked up in /proc"),
]

CLIS = pytest.mark.parametrize("cli", ["claude", "codex"])
PATIENCE_S = 40


class Live:
    """One live session, by our own commands."""

    def __init__(self, world, model, *arguments):
        self.world = world
        self.first = self.ask("new", model, *arguments)
        self.id = self.first["session_id"]

    def ask(self, verb, *arguments, group="session"):
        ran = self.world.run(group, verb, *arguments, "--json")
        assert ran.exit_code == 0, f"{verb}: {ran.stdout}{ran.stderr}"
        return json.loads(ran.stdout)

    def send(self, text, *arguments):
        return self.ask("send", self.id, text, *arguments)

    def order(self, verb, *arguments):
        ran = self.world.run("session", verb, self.id, *arguments)
        assert ran.exit_code == 0, f"{verb}: {ran.stdout}{ran.stderr}"

    def status(self):
        return self.ask("status", self.id)

    def until(self, probe):
        """Return what the probe finds as soon as it finds something."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = probe()
            if found:
                return found
            time.sleep(0.2)
        raise AssertionError(f"nothing came of it: {self.status()}")

    def request(self):
        return self.until(lambda: self.ask("list", group="requests")["requests"])[0]


@pytest.fixture
def live(world):
    """Return what begins a session, and close them all at last."""
    begun = []

    def begin(model, *arguments):
        begun.append(Live(world, model, *arguments))
        return begun[-1]

    yield begin
    for session in begun:
        world.run("session", "close", session.id)
    end = time.monotonic() + PATIENCE_S
    while processes(world) and time.monotonic() < end:
        time.sleep(0.1)
    assert [] == processes(world)


def processes(world):
    """List the processes that live in this world's home."""
    home, found = f"HOME={world.home}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = home in (folder / "environ").read_bytes().split(b"\0")
            is_zombie = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if is_ours and not is_zombie:
            found.append(int(folder.name))
    return found


def runs(pid, name):
    try:
        return name in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@CLIS
def test_two_turns_are_served_by_one_process(world, live, api, cli):
    session = live(f"{cli}-one", "--prompt", "first", "--wait")
    before = set(processes(world))
    second = session.send("second", "--wait")

    assert f"{cli}-one heard: first" == session.first["reply"]
    assert f"{cli}-one heard: second" == second["reply"]
    assert before & set(processes(world))
    assert {f"{cli}-one"} == {call.account for call in api.calls}


@CLIS
@pytest.mark.parametrize(("answer", "is_made"), [("approve", True), ("deny", False)])
def test_command_runs_if_it_is_allowed(world, live, api, plan, cli, answer, is_made):
    api.plans[f"{cli}-one"] = plan(tool_command="touch made.txt")
    session = live(f"{cli}-one", "--prompt", "make it")
    request = session.request()
    world.run("requests", answer, request["id"])
    session.until(lambda: not session.status()["busy"])

    assert "command_approval" == request["kind"]
    assert "touch made.txt" in request["prompt"]["command"]
    assert is_made == (world.project / "made.txt").exists()


@CLIS
def test_interrupted_session_goes_on(live, api, plan, cli):
    api.plans[f"{cli}-one"] = plan(holds_back=True)
    session = live(f"{cli}-one", "--prompt", "slow")
    api.wait_for_call(f"{cli}-one")
    session.order("interrupt")
    session.until(lambda: not session.status()["busy"])
    api.plans.clear()

    assert f"{cli}-one heard: again" == session.send("again", "--wait")["reply"]


@CLIS
def test_killed_session_is_resumed_under_its_id(world, live, api, plan, cli):
    session = live(f"{cli}-one", "--prompt", "first", "--wait")
    native_id = session.status()["native_id"]
    api.plans[f"{cli}-one"] = plan(holds_back=True)
    session.send("slow")
    session.until(lambda: len(api.calls) > 1)
    for pid in [one for one in processes(world) if runs(one, cli.encode())]:
        os.kill(pid, signal.SIGKILL)
    session.until(lambda: not session.status()["busy"])
    api.plans.clear()

    assert f"{cli}-one heard: after" == session.send("after", "--wait")["reply"]
    assert native_id == session.status()["native_id"]


@CLIS
def test_fork_leaves_the_session_as_it_is(world, live, cli):
    session = live(f"{cli}-one", "--prompt", "first", "--wait")
    forked = session.ask("fork", session.id)["session_id"]
    answer = session.ask("send", forked, "in the fork", "--wait")
    kept = session.send("in the first", "--wait")
    world.run("session", "close", forked)

    assert session.id != forked
    assert (f"{cli}-one heard: in the fork", f"{cli}-one heard: in the first") == (answer["reply"], kept["reply"])


@pytest.mark.parametrize(("refusal", "code"), [("login", "unauthorized"), ("spent", "usage_limit")])
def test_refused_turn_says_why_and_the_next_is_answered(world, live, api, plan, refusal, code):
    session = live("codex-one", "--prompt", "first", "--wait")
    api.plans["codex-one"], api.refreshes = plan(refusal=refusal), False
    refused = json.loads(world.run("session", "send", session.id, "second", "--wait", "--json").stdout)
    api.plans.clear()

    assert ("failed", code) == (refused["status"], refused["code"])
    assert "codex-one heard: third" == session.send("third", "--wait")["reply"]
