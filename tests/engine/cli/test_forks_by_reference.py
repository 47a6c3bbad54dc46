"""Rollouts that begin in another one: forks of forks, and what is damaged in how they say it."""

import json

import pytest

AT = "2026-11-20T12:0{}:00Z"


@pytest.fixture
def codex(world):
    """Write rollouts, each of a name, its history and its messages, and return a function that gives a tree's texts."""
    folder = world.home / ".codex" / "sessions"
    folder.mkdir(parents=True)
    world.account("a", "cat")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'codex-turns {folder}'\n")

    def texts(name, **rollouts):
        for number, (session, (base, *messages)) in enumerate(rollouts.items()):
            origin = {"forked_from_id": base["thread_id"], "history_base": base} if base else {}
            lines = [{"type": "session_meta", "payload": {"id": session, "cwd": "/w", **origin}}]
            for text in messages:
                payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
                lines.append({"type": "response_item", "timestamp": AT.format(number), "payload": payload})
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"rollout-2026-11-20T12-00-00-{session}.jsonl").write_text(text)
        assert 0 == world.run("session", "scan").returncode
        done = world.run("session", "tree", name, "--json")
        return [entry["preview"] for entry in json.loads(done.stdout)["entries"]]

    return texts


def base(thread_id, end):
    return {"thread_id": thread_id, "end_ordinal_exclusive": end, "end_byte_offset": 0}


def test_a_fork_of_a_fork_goes_on_with_what_both_have_up_to_there(codex):
    first = (None, "one", "two", "three")
    second = (base("first", 3), "another three", "four")  # of ordinals 3 to 5
    third = (base("second", 5), "another four")

    assert ["one", "two", "another three", "another four"] == codex("third", first=first, second=second, third=third)


@pytest.mark.parametrize("end", [0, -1, 10**30, "many", True, 1.5, None])
def test_an_end_that_is_none_gives_what_is_there(codex, end):
    first = (None, "one", "two")
    shown = codex("second", first=first, second=(base("first", end), "three"))

    assert ["three"] == shown[-1:]
    assert shown in (["three"], ["one", "two", "three"])


def test_rollouts_that_begin_in_each_other_or_nowhere_are_shown_alone(codex):
    shown = codex("first", first=(base("second", 9), "one"), second=(base("first", 9), "two"))
    assert {"one"} <= {*shown} <= {"one", "two"}
    assert ["three"] == codex("third", third=(base("third", 9), "three"))
    assert ["four"] == codex("fourth", fourth=(base("gone", 9), "four"))
    assert ["five"] == codex("fifth", fifth=(base("half \ud83d", 9), "five"))
