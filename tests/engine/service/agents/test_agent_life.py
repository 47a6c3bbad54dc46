"""The life of agents on the user's own accounts, in a demo world."""

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from oulipoly_engine.core.agents.agents import Overrides
from oulipoly_engine.core.agents.limits import AgentLimits
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.agents.states import Standing
from oulipoly_engine.core.images import manifest as parts
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused
from oulipoly_engine.errors import (
    AccountUnusable,
    AgentFailed,
    AgentNotFound,
    AgentStateInvalid,
    JobNotFound,
    LiveSessionNotFound,
    NameTaken,
    ProgramMissing,
    RequestRefused,
    ToolUnknown,
    TooManyAgents,
    UsageInvalid,
)
from oulipoly_engine.facade.agents import serving
from oulipoly_engine.facade.agents.agents import AgentWish
from oulipoly_engine.process.liveness import here, own_mark
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.records import replace
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import open_store

GONE = f"1 1 {here() or ''}"  # the mark of a process that has ended
FILE = """FROM scratch
NAME meteo
MODEL demo-codex
CONTEXT SOUL <<END
You tell the weather.
END
ENV MODE=fast
ADD cities.json
BIN jq example.com/jq
"""
RUNTIME = f"""#!{sys.executable} -IS
import socket, sys
host, port = sys.argv[-1].split(":")
server = socket.create_server((host, int(port)))
while True:
    server.accept()
"""


@pytest.fixture
def source(live):
    folder = live.root / "meteo"
    folder.mkdir()
    (folder / "Agentfile").write_text(FILE)
    (folder / "cities.json").write_text("{}")
    return str(folder)


@pytest.fixture
def change(live):
    """Return a way to change an agent's row, as a killed process leaves it."""

    def change(agent, standing, owner):
        store = open_store(live.engine.paths.state_db)
        with store.write():
            row = agents.AgentRow
            fields = {row.status: standing.status, row.reason: standing.reason, row.owner: owner}
            store.run(row.update(fields).where(row.agent_id == agent.agent_id))
        store.close()

    return change


def test_agent_is_asked_in_a_live_session_of_its_own_environment(live, source):
    work = live.engine.agents
    agent = work.run(AgentWish(source, "calm", "none"))
    session = work.begin_session("calm")
    turn = live.live.send(session.session_id, "Hello", waits=True)
    (host,) = live.live.hosts()
    environ = Path(f"/proc/{host.pid}/environ").read_bytes().decode()
    variables = dict(entry.split("=", 1) for entry in environ.split("\0") if entry)
    details = work.inspect("calm")
    work.stop("calm")

    root = str(work.root(agent))
    assert (turn.status, bool(turn.reply)) == ("completed", True)
    assert session.workspace == f"{root}/workspace"
    assert session.opening.idle_s == 60
    assert any("You tell the weather." in word for word in session.opening.args)
    assert variables["HOME"] == f"{root}/home"
    assert variables["PATH"].startswith(f"{root}/usr/bin:")
    assert variables["MODE"] == "fast"
    assert "XDG_RUNTIME_DIR" not in variables
    assert details.sessions == (session.session_id,)
    assert live.live.hosts() == ()
    with pytest.raises(AgentStateInvalid, match="agent start calm"):
        work.begin_session("calm")


def test_account_that_cannot_serve_is_left_out_with_its_reason(live, source, monkeypatch):
    work = live.engine.agents
    missing = {"demo-codex2"}

    def find_cli(runtime):
        if runtime.account in missing:
            raise ProgramMissing(f"no program of {runtime.account}")
        return "codex"

    monkeypatch.setattr(serving, "find_cli", find_cli)
    work.run(AgentWish(source, "calm", "none"))
    account = work.begin_session("calm").account
    (host,) = live.live.hosts()
    candidates = live.engine.pools.past_decision(host.invocation)["candidates"]
    missing.add("demo-codex1")
    with pytest.raises(AccountUnusable, match="demo-codex1: no program of demo-codex1; demo-codex2: no program"):
        work.begin_session("calm")
    log = work.read_log("calm")
    work.stop("calm")

    assert account == "demo-codex1"
    assert [each["why_not"] for each in candidates] == [None, "cannot serve: no program of demo-codex2"]
    assert "left out was demo-codex2: no program of demo-codex2" in log[-1]


def test_turn_that_takes_longer_than_the_limit_of_its_agent_ends_and_says_so(live, source):
    work = live.engine.agents
    work.run(AgentWish(source, "calm", "none", overrides=Overrides(limits=AgentLimits(time_s=1))))
    session = work.begin_session("calm")
    turn = live.live.send(session.session_id, "[[stall:60]]", waits=True)
    after = live.live.send(session.session_id, "Hello", waits=True)
    work.stop("calm")

    assert (turn.status, turn.message) == ("failed", "it took longer than its limit of 1 s")
    assert after.status == "completed"


def test_last_message_gets_another_answer_as_a_branch_and_sessions_are_deleted_once(live, source):
    work = live.engine.agents
    work.run(AgentWish(source, "calm", "none"))
    with pytest.raises(LiveSessionNotFound, match="prompt it first"):
        work.go_back("calm")
    session_id = work.begin_session("calm").session_id
    for text in ("Hello", "And now?"):
        live.live.send(session_id, text, waits=True)
    went_back = [work.go_back("calm"), work.go_back("calm", session_id[:8])]  # as if killed behind the first
    live.live.send(session_id, went_back[0][1], waits=True)
    work.close_session(session_id)
    tree = live.engine.sessions.branches.tree(session_id, "user")
    asked = [entry.preview for entry in tree.entries]
    listed = [status.session.session_id for status in work.list_sessions("calm")]
    deleted = [work.delete_session("calm", session_id[:8]), work.delete_session("calm", session_id)]

    assert went_back == [(session_id, "And now?")] * 2
    assert asked == ["Hello", "And now?", "And now?"]
    assert tree.layout.parents == [-1, 0, 0]
    assert listed == [session_id]
    assert deleted == [(session_id, True), (session_id, False)]
    assert work.list_sessions("calm") == ()
    with pytest.raises(LiveSessionNotFound, match="not one of the agent"):
        work.delete_session("calm", "none")


def _refuse(_paths):
    raise RequestRefused("a process does not end")


def test_agent_is_stopped_started_and_removed_with_its_tree(live, source, monkeypatch):
    work = live.engine.agents
    agent = work.run(AgentWish(source, "calm", "none"))
    with pytest.raises(NameTaken):
        work.run(AgentWish(source, "calm", "none"))
    with pytest.raises(AgentStateInvalid, match="already running"):
        work.start("calm")
    (work.root(agent) / "workspace/notes").write_text("mine")
    with monkeypatch.context() as patch:
        patch.setattr("oulipoly_engine.service.live.hosts.survey", _refuse)
        with pytest.raises(RequestRefused):
            work.stop("calm")
    assert work.find("calm").status == "ready"  # what it runs has not ended
    stopped = [work.stop("calm").status, work.stop("calm").status]
    work.start("calm")
    kept = (work.root(agent) / "workspace/notes").read_text()
    data = (work.root(agent) / "etc/data/cities.json").read_text()
    work.remove(agent.agent_id[:8])

    assert (stopped, kept, data) == (["stopped", "stopped"], "mine", "{}")
    assert not work.root(agent).exists()
    assert work.list() == ()
    with pytest.raises(AgentNotFound):
        work.stop("calm")


@pytest.mark.parametrize(
    ("text", "overrides", "reason", "words"),
    [
        ("FROM scratch\nNAME x\nCONFIG key!\n", Overrides(), "config", "key"),
        ("FROM scratch\nNAME x\nMODEL nobody/model\n", Overrides(), "model", "nobody"),
        ("FROM scratch\nNAME x\nMODEL nothing\n", Overrides(), "model", "none of your models"),
        ("FROM scratch\nNAME ../escape\n", Overrides(), "config", "NAME"),
        ("FROM scratch\nNAME x\nRUNTIME ghcr.io/x/runtime\n", Overrides(), "pull", "no image ghcr.io/x/runtime"),
        ("FROM example.com/none\nNAME x\n", Overrides(), "pull", "example.com/none"),
    ],
    ids=["config", "provider", "model", "hostile", "runtime", "parent"],
)
def test_agent_that_cannot_be_brought_up_stays_with_its_reason(live, source, text, overrides, reason, words):
    (live.root / "meteo/Agentfile").write_text(text)
    with pytest.raises(AgentFailed, match=words):
        live.engine.agents.run(AgentWish(source, "bad", "none", overrides))
    (standing,) = live.engine.agents.list()

    assert (standing.status, standing.agent.reason) == ("failed", reason)
    assert words in standing.agent.problem
    assert words in live.engine.agents.read_log("bad")[-1]


def test_image_whose_config_has_a_name_that_escapes_fails_and_writes_nothing(live, source):
    images = Images(live.engine.paths.images)
    manifest = images.manifest(live.engine.images.build(Path(source), ())[1])
    config = images.layout.read(manifest.config.digest, manifest.config.size).replace(b'"meteo"', b'"../escape"')
    data = parts.encode(replace(manifest, config=parts.describe(config, parts.AGENT_CONFIG)))
    images.put(
        parts.Image(parts.describe(data, parts.MANIFEST), data, {parts.digest_of(config): config}),
        parse_reference("evil:v1"),
    )
    with pytest.raises(AgentFailed, match="escape"):
        live.engine.agents.run(AgentWish("evil:v1", "bad", "none"))

    assert live.engine.agents.list()[0].agent.standing == Standing("failed", "config")
    assert not list(live.root.rglob("escape*"))


def test_what_a_killed_process_has_left_is_settled_by_the_next(live, source, change):
    work = live.engine.agents
    begun = work.run(AgentWish(source, "begun", "none"))
    going = work.run(AgentWish(source, "going", "none"))
    change(begun, Standing("starting"), GONE)
    change(going, Standing("removing"), GONE)
    (standing,) = live.open_engine().agents.list()

    assert (standing.agent.name, standing.status, standing.agent.reason) == ("begun", "failed", "init")
    assert "was killed" in standing.agent.problem
    assert not work.root(going).exists()
    assert work.start("begun").status == "ready"


def test_stop_while_its_image_is_waited_for_is_no_failure(live, source):  # vector 22
    work = live.engine.agents
    problems = []

    def run():
        with pytest.raises(AgentFailed) as refused:
            live.open_engine().agents.run(AgentWish(source, "calm", "none"))
        problems.append(refused.value.message)

    with hold_lock(live.engine.paths.images / ".lock", 10):
        thread = threading.Thread(target=run)
        thread.start()
        while not any(standing.agent.name == "calm" for standing in work.list()):
            pass
        stopped = work.stop("calm").status
    thread.join()

    assert ("stopped", "stopped") == (stopped, work.find("calm").status)
    assert "was not started" in problems[0]


def test_jobs_run_in_the_background_are_cancelled_and_are_orphaned(live, source):
    program = live.root / "tool.sh"
    program.write_text('#!/bin/sh\n[ -z "$1" ] || exec /bin/sleep $1\n/bin/cat\nexit 3\n')
    work = live.engine.agents
    work.run(AgentWish(source, "calm", "none", Overrides(tools={"jq": str(program)})))
    happy = work.run_job("calm", "jq", (), b"hello\n", {"a": "1"})
    long = work.run_job("calm", "jq", ("600",), b"", {"a": "1", "b": "2"})
    done = work.await_job(happy.job_id, 60)
    cancelled = work.cancel_job(long.job_id)
    left = work.run_job("calm", "jq", ("600",), b"", {})
    while not (running := work.find_job(left.job_id)).handle:
        work.settle()
    live.kill(int(running.owner.split()[0]))
    while work.find_job(left.job_id).status == "running":
        work.settle()

    assert (done.status, done.exit_code, done.stdout, done.input) == ("done", 3, "hello\n", "")
    assert cancelled.status == "cancelled"
    assert work.find_job(left.job_id).status == "orphaned"
    assert [job.job_id for job in work.list_jobs("calm", {"a": "1", "b": "2"})] == [long.job_id]
    with pytest.raises(AgentStateInvalid, match="is not running"):
        work.cancel_job(happy.job_id)
    with pytest.raises(JobNotFound):
        work.cancel_job("job_none")
    with pytest.raises(AgentNotFound):
        work.run_job("nobody", "jq", (), b"", {})
    with pytest.raises(ToolUnknown):
        work.run_job("calm", "curl", (), b"", {})
    with pytest.raises(UsageInvalid, match="secret"):
        work.run_job("calm", "jq", ("sk-ant-api03-" + "a" * 80,), b"", {})


def test_runtime_of_its_own_is_owned_by_a_process_and_crashes_with_it(live, source):
    program = live.root / "runtime"
    program.write_text(RUNTIME)
    work = live.engine.agents
    agent = work.run(AgentWish(source, "own", "none", Overrides(runtime=str(program))))
    owner = int(agent.owner.split()[0])
    with pytest.raises(AgentStateInvalid, match="takes no prompts"):
        work.begin_session("own")
    live.kill(owner)
    while (crashed := work.list()[0].agent).status == "ready":
        pass
    started = work.start("own").status
    stopped = work.stop("own").status

    assert (agent.status, crashed.reason, started, stopped) == ("ready", "crashed", "ready", "stopped")
    assert any("] ready" in line for line in work.read_log("own"))


def test_runtime_and_tools_that_are_images_are_run_but_not_without_the_signature_that_was_pinned(live, source):
    (live.root / "meteo/Agentfile").write_text(f"{FILE}RUNTIME example.com/runtime\n")
    names = ("runtime", "jq")
    live.put_program("runtime", RUNTIME)
    live.put_program("jq", "#!/bin/sh\necho jq\n")
    for name in names:
        live.engine.image_transfer.sign(f"example.com/{name}", None)
    work = live.engine.agents
    status = work.run(AgentWish(source, "own", "none")).status
    output = work.exec("own", "jq").stdout
    digests = [live.engine.images.inspect(f"example.com/{name}").digest for name in names]
    described = json.loads((work.root(work.find("own")) / "etc/agent.yaml").read_bytes())
    work.stop("own")
    problems = []
    for name in names:
        live.put_program(name, f"{RUNTIME}# changed\n")
        with pytest.raises(AgentFailed, match="signed by nobody") as refused:
            work.start("own")
        problems.append((work.list()[0].agent.reason, f"example.com/{name}" in str(refused.value)))
        live.put_program(name, RUNTIME)

    said = [line.partition(" is another image")[0] for line in work.read_log("own") if "another image" in line]
    assert (status, output) == ("ready", b"jq\n")
    assert [described["runtime"]["digest"], described["tools"][0]["digest"]] == digests
    assert [line.partition("] ")[2] for line in said] == ["the runtime", "the tool jq", "the runtime"]
    assert problems == [("pull", True)] * 2


def test_what_is_not_there_makes_no_agent(live, source):
    (live.root / "empty").mkdir()
    run = live.engine.agents.run
    with pytest.raises(ImageNotFound, match="no Agentfile"):
        run(AgentWish(str(live.root / "empty")))
    with pytest.raises(ImageNotFound, match="there is no image nowhere:v1"):
        run(AgentWish("nowhere:v1"))
    with pytest.raises(UsageInvalid, match="there is no /nowhere, which -v gives"):
        run(AgentWish(source, overrides=Overrides(mounts=(Mount("/nowhere", "/data"),))))

    assert live.engine.agents.list() == ()


def test_an_image_is_not_run_without_the_signature_of_the_publisher_who_was_pinned(live, source):
    images = live.engine.images
    images.build(Path(source), ())
    live.engine.image_transfer.sign("meteo", None)
    (Path(source) / "Agentfile").write_text(FILE.replace("You tell the weather.", "You tell secrets."))
    signed = images.inspect("meteo").digest
    previewed = live.engine.agents.preview(source)
    assert images.inspect("meteo").digest == signed  # a look moves no tag
    assert previewed.digest == images.build(Path(source), ())[1].digest
    with pytest.raises(ImageRefused, match="has changed"):
        live.engine.agents.run(AgentWish(source, digest=signed))
    assert live.engine.agents.list() == ()

    with pytest.raises(AgentFailed, match="signed by nobody"):
        live.engine.agents.run(AgentWish("meteo"))
    assert Standing("failed", "pull") == live.engine.agents.list()[0].agent.standing


def test_more_agents_than_may_be_up_are_refused_until_another_one_stops(live, source, change):
    config = live.engine.paths.config / "config.toml"
    config.write_text(f"agent_max_running = 1\n{config.read_text()}")
    calm = live.engine.agents.run(AgentWish(source, "calm", "none"))
    with pytest.raises(TooManyAgents, match="`agent_max_running` is 1"):
        live.engine.agents.run(AgentWish(source, "wild", "none"))
    assert ["calm"] == [each.agent.name for each in live.engine.agents.list()]

    change(calm, Standing("ready"), GONE)  # its process was killed: it runs no more
    wild = live.engine.agents.run(AgentWish(source, "wild", "none"))
    change(wild, Standing("failed", "init"), own_mark())  # its supervisor is about to try again
    with pytest.raises(TooManyAgents):
        live.engine.agents.start("calm")
    assert "failed" == live.engine.agents.find("calm").status


def test_box_that_holds_less_than_its_level_promises_starts_no_agent(live, source, monkeypatch):
    programs = live.root / "programs"
    programs.mkdir()
    lines = '#!/bin/sh\nwhile [ "${1:---}" != -- ]; do shift; done\n[ $# -eq 0 ] || { shift; "$@"; }\n'
    (programs / "bwrap").write_text(lines)
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    program = live.root / "runtime.py"
    program.write_text(RUNTIME)

    with pytest.raises(AgentFailed, match="the level sealed does not hold here: a program in its box can read a file"):
        live.engine.agents.run(AgentWish(source, "calm", "sealed", Overrides(runtime=str(program))))
    assert ("failed", "init") == (live.engine.agents.find("calm").status, live.engine.agents.find("calm").reason)
