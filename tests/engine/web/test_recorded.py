"""The one list over REST and on the phone's page: what CLIs have written is in it, and can be read, by whom it may."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.facade.sessions.catalogue import to_json
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.store.transcripts import entries

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SAID = ("find the <b>needle</b>", "token=abcdefghij0123456789abcdefghij was in it")


def entry(session, number, text):
    """Return an entry of a transcript; every other one also holds what a tool gave."""
    chunks = [{"type": "text", "text": text}]
    if number % 2:
        chunks.append({"type": "tool_result", "text": "row\n" * 2000})
    at, role = to_text(NOW + timedelta(seconds=number)), ("user", "assistant")[number % 2]
    return EntryLine(session, f"{session}-{number}", at, role, body=json.dumps(chunks))


@pytest.fixture
def listed(engine):
    """A state file with three recorded sessions, `past1` to `past3`, a live one and one that works by itself."""
    with engine.web._home.lend_store() as store, store.write():
        for number in (1, 2, 3):
            name, at = f"past{number}", to_text(NOW + timedelta(hours=number))
            chains.insert(store, "ada", name, "opus", started_at=at, last_used_at=at, reason="initial")
            entries.insert_new(store, "ada", [entry(name, place, text) for place, text in enumerate(SAID)], NOW)
        for name in ("live1", "work1"):
            opening = SessionOptions(log=name == "work1")
            live_sessions.insert(store, LiveSession(name, "/w", "run", "acp", "opus", NOW, NOW, opening=opening))
    return engine


def names(client, query):
    """Return the sessions that a list has, in its order."""
    answer = client.get(f"/sessions{query}")
    assert 200 == answer.status_code, answer.text
    return [row["session_id"] or row["id"] for row in answer.json()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"live1", "work1"}),  # as before there was one list
        ("?q=", {"past1", "past2", "past3", "live1", "work1"}),
        ("?kind=recorded", {"past1", "past2", "past3"}),
        ("?kind=live&kind=work", {"live1", "work1"}),
        ("?is=work", {"work1"}),
        ("?q=is:work", {"work1"}),
        ("?kind=recorded&is=work", set()),
        ("?q=session:past2", {"past2"}),
    ],
)
def test_the_list_has_every_kind_that_is_asked_for(listed, browse, query, expected):
    client = browse("view")
    kinds = {row.get("kind") for row in client.get("/sessions?q=").json()}

    assert expected == set(names(client, query))
    assert {"recorded", "live", "work"} == kinds


def test_a_row_is_that_of_the_command_and_a_live_one_has_its_own_beside(listed, browse):
    client = browse("view")
    table = listed.sessions.catalogue.table(listed.sessions.catalogue.query(""))
    rows = client.get("/sessions?q=").json()
    beside = {row.pop("id"): row.pop("live") for row in rows}
    (plain,) = client.get("/sessions?limit=1").json()

    assert [to_json(one, NOW) for one in table.rows] == rows
    assert {None, "live1", "work1"} == {live and live["id"] for live in beside.values()}
    assert plain == beside[plain["id"]]


def test_pages_of_the_list_go_on_where_the_last_one_ended(listed, browse):
    client, seen = browse("view"), []
    place = "/sessions?q=&limit=2"
    while place:
        answer = client.get(place)
        seen += [row["session_id"] or row["id"] for row in answer.json()]
        place = answer.links.get("next", {}).get("url")

    assert names(client, "?q=") == seen
    assert 400 == client.get("/sessions?q=&after=none").status_code
    assert 400 == client.get("/sessions?q=is:nothing").status_code


def test_a_recorded_session_shows_its_conversation_without_secrets(listed, browse):
    client = browse("view")
    shown = client.get("/sessions/past1").json()
    second = client.get("/sessions/past1/messages?after=past1-0").json()
    page = client.get("/sessions/past1", headers={"accept": "text/html"}).text

    assert ("past1", "recorded", None) == (shown["session_id"], shown["kind"], shown["live"])
    assert [("user", SAID[0]), ("assistant", second[0]["content"])] == [
        (message["role"], message["content"]) for message in shown["messages"]
    ]
    assert second[0]["content"].endswith("was in it")
    assert ("past1-0", "message", None) == tuple(second[0][key] for key in ("parent_id", "kind", "live_turn_id"))
    assert "past1-1" == shown["leaf"]
    assert "abcdefghij0123456789" not in json.dumps(shown) + page
    assert "find the &lt;b&gt;needle&lt;/b&gt;" in page
    assert f'href="/sessions/{shown["id"]}/entries/2"' in page  # of what its tool gave only the beginning is there
    assert "row" in client.get("/sessions/past1/entries/2", headers={"accept": "text/html"}).text
    assert 400 == client.get("/sessions/past1/messages?after=none").status_code
    for order in ("/cancel", "/messages", "/queue"):  # nothing can be said to it
        assert 404 == browse("view", "operate").post(f"/sessions/past1{order}", json={"content": "x"}).status_code


def test_a_link_for_somebody_else_sees_no_recorded_session(listed, browse):
    link = browse(authorization=f"Bearer {listed.web.make_link().token}")
    html = {"accept": "text/html"}

    assert set(names(link, "")) == {"live1", "work1"} == set(names(link, "?q="))
    assert [] == names(link, "?kind=recorded")
    assert {(None, None)} == {(row["note"], row["transcript"]) for row in link.get("/sessions?q=").json()}
    assert 2 == link.get("/sessions", headers=html).text.count('class="row"')
    for place in ("", "/messages", "/entries/1", "/events", "/trace", "/tree"):
        answers = [link.get(f"/sessions/past1{place}", headers=headers) for headers in ({}, html)]
        assert [404, 404] == [answer.status_code for answer in answers]


@pytest.mark.parametrize("place", ["", "/messages", "/events", "/trace"])
def test_an_id_of_no_session_is_not_there(listed, browse, place):
    client = browse("view")

    assert 200 == client.get(f"/sessions/past1{place}").status_code
    assert [404, 404] == [client.get(f"/sessions/{identity}{place}").status_code for identity in ("past", "past9")]


def test_the_page_lists_every_kind_by_the_words_of_the_command(listed, browse):
    client = browse("view", accept="text/html")
    every, works = client.get("/sessions").text, client.get("/sessions?q=is:work").text

    assert all(f'href="/sessions/{row["id"]}"' in every for row in browse("view").get("/sessions?q=").json())
    assert 'href="/sessions/work1"' in works
    assert 'href="/sessions/live1"' not in works
    assert "is:nothing is not known" in client.get("/sessions?q=is:nothing").text
