"""Lines with a slash from the command line: done where that is asked for, else sent as they are."""

import json

import pytest

from oulipoly_engine.core.sessions.tree_lines import path_to, short_id


def test_a_line_is_a_command_where_that_is_asked_for_and_a_message_everywhere_else(live, agents):
    session, turn = live.begin_turn("hello there")
    live.live.wait(session, turn)
    prompts = live.demo.config / "prompts"
    prompts.mkdir()
    prompts.joinpath("greet.md").write_text("---\ndescription: greets\n---\nGreet $1.\n")
    prompts.joinpath("keyless.md").write_text("---\n[\n---\nNo keys.\n")

    def run(line, *options):
        return agents("session", "send", session, *options, line)

    def ask(line):
        done = run(line, "--commands", "--json")
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout)

    def refuse(line):
        done = run(line, "--commands", "--json")
        assert (2, b"") == (done.returncode, done.stdout)
        return json.loads(done.stderr)["error"]

    assert "runtime: demo-codex1, account demo-codex1" in ask("/provider")["lines"]
    assert session in ask("/status")["lines"][0]
    assert [live.live.turns(session)[0].reply] == ask("/copy")["lines"]
    assert ["no message waits"] == ask("/queue")["lines"]
    assert ["there are none"] == ask("/extensions")["lines"]
    assert {"/greet       greets", "/keyless"} <= {*run("/help", "--commands").stdout.decode().splitlines()}
    assert b"it is called red roof\n" == run("/name red roof", "--commands").stdout
    assert ["red roof"] == ask("/name")["lines"]
    assert ["later turns are done by gpt-5.4"] == ask("/model gpt-5.4")["lines"]

    fork = ask("/fork")
    assert ("session fork", session) == (fork["command"], live.live.find(fork["session_id"]).forked_from)
    forked = live.engine.slash.run(fork["session_id"], live.engine.slash.judge(fork["session_id"], "/copy"))
    assert ask("/copy")["lines"] == [*forked.lines]
    branches = live.engine.sessions.branches
    shown = [short_id(entry_id) for entry_id in branches.tree(session).entry_ids]
    cut = ask(f"/fork {shown[0]}")["session_id"]
    assert shown[:1] == [short_id(entry_id) for entry_id in branches.tree(cut).entry_ids]
    offers = {
        begun: [*live.engine.slash.complete(session, begun)]
        for begun in ("/mod", "/provider demo-cl", "/export m", "/branch ", "/new ", "/new x demo-codex2", "/nosuch ")
    }
    assert ["/model "] == offers["/mod"]
    assert "/provider demo-claude1" in offers["/provider demo-cl"]
    assert (["/export markdown"], ["/new x demo-codex2"]) == (offers["/export m"], offers["/new x demo-codex2"])
    assert ([f"/branch {number}" for number in shown], []) == (offers["/branch "], offers["/nosuch "])
    assert "/new demo-haiku" in offers["/new "]
    saved = ask("/save Blue Door")["session_id"]
    assert [saved] * 2 == [ask(f"/load {words}")["session_id"] for words in ("blue door", saved[:8])]
    own = live.root / "own.jsonl"
    own.write_text('{"role": "user", "content": "of another tool"}\n')
    assert "new messages: 1 of 1" in ask(f"/import {own}")["lines"][0]
    ask(f"/export markdown {live.root / 'talk.md'}")
    assert "hello there" in live.root.joinpath("talk.md").read_text()

    assert "there is no command /etc/x: see /help;" in refuse("/etc/x y")["message"]
    assert {"code": "invalid-argument", "message": "write /steer TEXT"} == refuse("/steer")
    assert "/quit does nothing here" in refuse("/quit")["message"]
    assert 1 == len(live.live.turns(session))
    assert "auto_compaction = true" in ask("/settings")["lines"]
    assert "behind the message stands nothing, --summary" in refuse("/branch x summary")["message"]

    for line, options in (
        ("/greet walrus", ("--commands", "--wait")),
        ("//nosuch x", ("--commands", "--wait")),
        ("/nosuch x", ("--wait",)),
    ):
        assert 0 == run(line, *options).returncode
    assert ["Greet walrus.", "/nosuch x", "/nosuch x"] == [turn.input for turn in live.live.turns(session)[1:]]


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_who_clears_begins_anew_in_the_same_tree(live, runtime):
    session, turn = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, turn)
    slash = live.engine.slash
    slash.run(session, slash.judge(session, "/clear"))
    live.live.send(session, "the second thing", waits=True)
    live.engine.sessions.transcripts.glance()
    tree = live.engine.sessions.branches.tree(session)
    texts = {entry.entry_id: entry.preview for entry in tree.entries}

    assert {"the first thing", "the second thing"} <= {*texts.values()}
    assert "the first thing" not in [texts[entry_id] for entry_id in path_to(tree.leaf, tree.parents)]
