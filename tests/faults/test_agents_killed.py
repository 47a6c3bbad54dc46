"""Agents whose run, start, stop or removal is killed: the next command settles them, and their life goes on."""

import pytest

AGENTFILE = "FROM scratch\nNAME meteo\nMODEL demo-codex\nADD cities.json\n"
DRILLS = {  # what is killed; the statuses that it may leave, as the next list has them
    "run": (("run", "{source}", "--name", "calm", "--isolation", "none"), {None, "failed", "ready"}),
    "start": (("start", "calm"), {"stopped", "failed", "ready"}),
    "stop": (("stop", "calm"), {"ready", "stopped"}),
    "rm": (("rm", "calm", "--yes"), {"ready", None}),
}


@pytest.mark.parametrize(
    ("words", "statuses"),
    [pytest.param(*DRILLS[name], id=name, marks=[] if name == "run" else [pytest.mark.kills]) for name in DRILLS],
)
def test_killed_change_of_an_agent(live, kills, words, statuses):
    source = live.root / "meteo"
    source.mkdir()
    (source / "Agentfile").write_text(AGENTFILE)
    (source / "cities.json").write_text("[]")
    agents = live.engine.agents
    folder = live.engine.paths.running_agents
    arguments = ["agent", *(word.format(source=source) for word in words)]
    run = ["agent", *(word.format(source=source) for word in DRILLS["run"][0])]

    def act(*commands):
        for command in commands:
            done = kills.run(*command)
            assert 0 == done.returncode, (command, done.stderr)

    def begin():
        if agents.list():
            act(["agent", "rm", "calm", "--yes"])
        if words[0] != "run":
            act(run)
        if words[0] == "start":
            act(["agent", "stop", "calm"])
        return arguments

    kills.measure(*begin())
    seen = set()
    for moment in kills:
        kills.kill(moment, *begin())
        left = [standing.status for standing in agents.list()] or [None]
        seen |= {*left}
        if left == [None]:
            act(run)
        elif left != ["ready"]:
            act(["agent", "start", "calm"])
        assert ["ready"] == [standing.status for standing in agents.list()]
        act(["agent", "rm", "calm", "--yes"])
        assert [] == [*folder.iterdir()]

    assert seen <= statuses
