"""Two agents of the demo world hand a file to each other, through real runs on accounts of two vendors."""

import json
import os

from oulipoly_demo import world
from oulipoly_demo.world import Options
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import spawned


def test_an_agent_takes_a_file_from_another_and_returns_its_own(agents, markers, tmp_path):
    demo = world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))
    env = world.environment_for(demo, os.environ)
    ask = "def f(x): return x [[delegate:demo-counter]] [[return:review.md]]"

    done = agents("demo-reviewer", ask, env=env, cwd=demo.project)

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    root = json.loads(agents("trace", result["id"], "--json", env=env).stdout)["root"]
    (child,) = root["children"]
    (mine,), (part,) = (node["invocation"]["returned_artifacts"] for node in (root, child))
    review = agents("artifact", "get", mine["version_id"], env=env).stdout
    answer = done.stdout.partition(b"\nOULIPOLY_RESULT=")[0]
    store = open_store(from_environment(env).state_db)
    shown = [(one.model, one.returned) for one in spawned.recent(store, 9)]
    store.close()
    assert [mine] == result["returned_artifacts"]
    assert ("review.md", "demo-counter.md") == (mine["name"], part["name"])
    assert answer == review
    assert review.endswith(agents("artifact", "get", part["version_id"], env=env).stdout.strip())
    assert [("demo-codex", ("demo-counter.md",)), ("demo-opus", ("review.md",))] == shown


def test_an_agent_that_cannot_return_says_why_and_answers(agents, tmp_path):
    demo = world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))
    env = world.environment_for(demo, os.environ)

    done = agents("-m", "demo-opus", "hello [[delegate:nobody]] [[return:]]", env=env, cwd=demo.project)

    assert 0 == done.returncode
    assert b"nobody says:\nnobody has returned nothing (exit code " in done.stdout
    assert b"Error: " in done.stderr
    assert b"returned_artifacts" not in done.stdout
