"""What was said in a live session is in list, search, show and export, whoever reads it: no turn script, no echo."""

import json

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import TurnStarted

LS = "hello [[approve:ls -la]]"


def test_a_session_of_a_further_runtime_is_found_shown_and_exported_until_its_transcript_is_read(live, agents):
    scripts = live.demo.config / "sessions.toml"
    kept = scripts.read_text()
    scripts.write_text("")
    mine = live.scripted(name="mine", program="demo-claude3", kind="acp", start_words=["--acp"])
    session, turn = live.begin_turn("greet the walrus", runtime=mine)
    assert "completed" == live.live.wait(session, turn).status
    asking = live.live.send(session, LS).turn_id
    request = live.request(session)
    (waiting,) = json.loads(agents("session", "list", "is:waiting", "--json").stdout)["conversations"]
    live.live.answer(request.request_id, "approve")
    reply = live.live.wait(session, asking).reply

    def search():
        return json.loads(agents("session", "search", "walrus", "role:user", "--json").stdout)["hits"]

    (hit,) = search()
    shown = json.loads(agents("session", "show", session, "--all", "--json").stdout)
    listed = json.loads(agents("session", "list", "--json").stdout)["conversations"]
    lines = [json.loads(line) for line in agents("session", "export", session).stdout.splitlines()]
    document = agents("session", "export", session, "--format", "markdown", "--with", "all").stdout.decode()

    assert ("mine", "greet the walrus", str(live.demo.project)) == (hit["account"], hit["title"], hit["workspace"])
    assert [hit["chain_id"]] == [each["chain_id"] for each in listed]
    standings = [(each["chain_id"], each["kind"], each["status"]) for each in (waiting, *listed, shown)]
    assert [(session, "live", "running"), *[(session, "live", "waiting_input")] * 2] == standings
    assert [each["turn_id"] for each in shown["shown_turns"]] == [each["turn_id"] for each in lines]
    said = [(each["role"], chunk["type"], chunk["text"]) for each in lines for chunk in each["content"]]
    assert ("user", "text", LS) in said
    assert ("assistant", "text", reply) in said
    assert any(kind == "tool_use" and "ls -la" in text for _, kind, text in said)
    assert "greet the walrus" in document
    assert "ls -la" in document

    assert "Its messages are kept in the state file" in live.engine.sessions.archive.keep([hit["chain_id"]])

    scripts.write_text(kept)  # the agent keeps transcripts in the home of an account
    (now,) = search()
    live.live.send(session, "again", waits=True)
    (row,) = json.loads(agents("session", "list", "--json").stdout)["conversations"]

    assert "live" == row["kind"]
    assert (hit["chain_id"], "demo-claude3") == (now["chain_id"], now["account"]) == (row["chain_id"], row["account"])


@pytest.mark.parametrize("runtime", ["demo-codex1", "demo-claude2", "demo-claude3"])  # the last one speaks ACP
def test_what_is_said_is_there_once_and_of_its_turn_whenever_the_transcript_is_read(live, agents, runtime):
    session, first = live.begin_turn("greet the walrus [[run:make]]", runtime=runtime)
    live.live.wait(session, first)
    second = live.live.send(session, "and the otter", waits=True).turn_id
    before = json.loads(agents("session", "show", session, "--all", "--no-scan", "--json").stdout)
    agents("session", "scan")
    third = live.live.send(session, "and the seal", waits=True).turn_id
    for words in (("--no-scan",), ()):
        shown = json.loads(agents("session", "show", session, "--all", *words, "--json").stdout)
        said = {turn: [] for turn in (first, second, third)}
        for entry in (
            each for each in shown["shown_turns"] if each["live_turn_id"]
        ):  # codex begins with words of its own
            said[entry["live_turn_id"]] += [each["text"] for each in entry["content"] if each["type"] == "text"]

        assert [2, 2, 2] == [len(texts) for texts in said.values()], said
        assert ["otter" in said[second][0], "seal" in said[third][0]] == [True, True]
        assert shown["leaf"] == shown["shown_turns"][-1]["turn_id"]
    assert {first, second} == {entry["live_turn_id"] for entry in before["shown_turns"]} - {None}
    assert not any(entry["turn_id"].startswith("live/") for entry in shown["shown_turns"])


def test_a_message_whose_cli_dies_before_it_says_it_again_has_its_text_everywhere(live, agents):
    session, turn = live.begin_turn("greet the walrus", runtime=live.scripted("dies-at-a-turn"))
    live.until_closed(session)
    (left,) = json.loads(agents("recover", "--json").stdout)["recoverable"]
    told = {
        "recover": agents("recover"),
        "status": agents("session", "status", session),
        "status --json": agents("session", "status", session, "--json"),
        "follow": agents("session", "follow", session, "--until-idle"),
        "follow --json": agents("session", "follow", session, "--until-idle", "--json"),
        "show": agents("session", "show", session),
        "search": agents("session", "search", "walrus", "role:user"),
        "export": agents("session", "export", session),
    }

    assert (turn, "greet the walrus") == (left["turn_id"], left["input"])
    assert [] == [face for face, answer in told.items() if b"greet the walrus" not in answer.stdout]


def test_a_message_is_an_entry_while_its_turn_runs(live, agents):
    session, _ = live.begin_turn('[["listen"], ["say", "greet the walrus"]]', runtime=live.scripted())
    live.until(session, lambda event: isinstance(event, TurnStarted))

    assert b"greet the walrus" in agents("session", "show", session).stdout
    assert b"greet the walrus" in agents("session", "search", "walrus", "role:user").stdout


def test_a_message_whose_cli_never_opens_its_session_waits_and_is_told(live, agents):
    session, _ = live.begin_turn("greet the walrus", runtime=live.scripted("gone"))
    live.until_closed(session)
    told = agents("session", "show", session)

    assert b"greet the walrus" in agents("session", "status", session).stdout
    assert b"user (waits): greet the walrus" in agents("session", "follow", session).stdout
    assert (10, True) == (told.returncode, f"`agents session status {session[:8]}`" in told.stderr.decode())


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_a_compaction_that_is_heard_and_read_stands_once_in_the_tree(live, runtime):
    session, turn = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, turn)
    live.live.wait(session, live.live.order(session, orders.Compact(), starts=True)["turn_id"])
    live.engine.sessions.transcripts.glance()
    entries = live.engine.sessions.branches.tree(session).entries

    assert ["A demo's summary of 2 messages."] == [entry.preview for entry in entries if entry.kind == "compaction"]
    assert 3 == len(entries)
