"""What codex asks a person (contract, vectors 4, 9, 10, 24, 44 to 46; rules of the wire)."""

import json

import pytest

from oulipoly_engine.core.live.events import RequestOpened, RequestResolved
from oulipoly_engine.drivers.base import Resolution

THREAD, TURN = "01a20168-70e5-7342-be6c-a6bdd2ea72f1", "01a20168-711d-78b1-8c77-c95f6c898f24"
COMMAND = "item/commandExecution/requestApproval"
FILES = "item/fileChange/requestApproval"
INPUT = "item/tool/requestUserInput"
IDS = {"threadId": THREAD, "turnId": TURN, "itemId": "i"}


def ask(peer, method, identity=7, **params):
    peer.feed({"id": identity, "method": method, "params": {**IDS, **params}})
    return peer.of(RequestOpened)[-1]


def answers(peer):
    return [(message["id"], message["result"]) for message in peer.sent if "result" in message]


def test_command_is_shown_exactly(running):
    opened = ask(running, COMMAND, command="/bin/bash -lc 'rm -r\nbuild'", cwd="/w", reason="clean")

    assert ("7", "command_approval") == (opened.native_id, opened.kind)
    assert "/bin/bash -lc 'rm -r\nbuild'" == opened.prompt.command
    assert ("rm -r build", "/w", "clean", "i") == (
        opened.prompt.title,
        opened.prompt.cwd,
        opened.prompt.reason,
        opened.prompt.item_id,
    )
    assert opened.prompt.reach


@pytest.mark.parametrize("params", [{"cmd": "ls -l"}, {"argv": ["ls", "-l"]}, {"command": ["ls", "-l"]}])
def test_command_is_found_where_versions_put_it(running, params):
    assert "ls -l" == ask(running, COMMAND, **params).prompt.command


def test_files_are_those_of_the_item(running):
    change = {"path": "/w/a", "kind": {"type": "add"}, "diff": "x\ny\n"}
    running.item("item/started", type="fileChange", id="i", changes=[change], status="inProgress")

    prompt = ask(running, FILES).prompt

    assert [("/w/a", "add", "@@ -0,0 +1,2 @@\n+x\n+y\n")] == [(one.path, one.kind, one.diff) for one in prompt.changes]
    assert "add /w/a" == prompt.title


def test_files_of_a_newer_patch_are_asked_for(running):
    running.item("item/started", type="fileChange", id="i", changes=[{"path": "/w/a"}])
    running.tell("item/fileChange/patchUpdated", turnId=TURN, itemId="i", changes=[{"path": "/w/b"}, {"path": "/w/c"}])

    assert "2 files" == ask(running, FILES).prompt.title


@pytest.mark.parametrize("files", [["/w/a"], [{"path": "/w/a"}]])
def test_files_that_the_request_names_itself_are_taken(running, files):
    prompt = ask(running, FILES, changedFiles=files, diff="+y").prompt

    assert [("/w/a", "+y")] == [(one.path, one.diff) for one in prompt.changes]


def test_reach_of_a_folder_is_told(running):
    assert "/w/lib" in ask(running, FILES, grantRoot="/w/lib").prompt.reach


@pytest.mark.parametrize(
    ("decision", "word"),
    [
        ("approve", "accept"),
        ("approve_for_session", "acceptForSession"),
        ("deny", "decline"),
        ("cancel", "cancel"),
        ("expire", "cancel"),
        ("answer", "decline"),
    ],
)
@pytest.mark.parametrize("method", [COMMAND, FILES])
def test_decisions_are_told_in_words_that_codex_knows(running, method, decision, word):
    ask(running, method, command="ls")
    running.driver.answer("7", Resolution(decision))
    running.take()

    assert [(7, {"decision": word})] == answers(running)
    assert ["7"] == [event.native_id for event in running.of(RequestResolved)]


def test_request_is_answered_once(running):
    ask(running, COMMAND, command="ls")
    running.driver.answer("7", Resolution("approve"))
    running.driver.answer("7", Resolution("deny"))
    running.take()
    running.tell("serverRequest/resolved", threadId=THREAD, requestId=7)

    assert [(7, {"decision": "accept"})] == answers(running)
    assert 1 == len(running.of(RequestResolved))


def test_cancel_interrupts_the_turn(running):
    ask(running, COMMAND, command="ls")
    running.driver.answer("7", Resolution("cancel"))
    running.take()

    assert TURN == running.last_sent("turn/interrupt")["turnId"]


def test_request_that_codex_takes_back_is_not_answered(running):
    ask(running, COMMAND, command="ls")
    running.tell("serverRequest/resolved", threadId=THREAD, requestId=7)
    running.driver.answer("7", Resolution("approve"))
    running.take()

    assert [] == answers(running)
    assert ["7"] == [event.native_id for event in running.of(RequestResolved)]


def test_two_requests_are_open_at_once_and_answered_in_any_order(running):
    ask(running, COMMAND, identity=0, command="a")
    ask(running, COMMAND, identity=1, command="b")
    running.driver.answer("1", Resolution("approve"))
    running.driver.answer("0", Resolution("deny"))
    running.take()

    assert [(1, {"decision": "accept"}), (0, {"decision": "decline"})] == answers(running)


def test_number_and_text_as_ids_stay_apart(running):
    ask(running, COMMAND, identity=7, command="a")
    opened = ask(running, COMMAND, identity="7", command="b")
    running.driver.answer(opened.native_id, Resolution("approve"))
    running.take()

    assert '"7"' == opened.native_id
    assert [("7", {"decision": "accept"})] == answers(running)


def test_id_that_is_open_twice_is_refused(running):
    ask(running, COMMAND, command="a")
    running.feed({"id": 7, "method": COMMAND, "params": IDS})

    assert 1 == len(running.of(RequestOpened))
    assert -32600 == running.sent[-1]["error"]["code"]


def test_questions_are_read_and_answered(running):
    question = {
        "id": "q1",
        "header": "Color",
        "question": "Which color?",
        "isOther": True,
        "isSecret": True,
        "options": [{"label": "Red", "description": "r"}, {"label": "Blue"}],
    }
    opened = ask(running, INPUT, questions=[question, {"question": "And?"}])
    running.driver.answer("7", Resolution("answer", answers={"q1": ("Red",), "question_2": ("so",), "other": ("x",)}))
    running.take()

    first, second = opened.prompt.questions
    assert (("Red", "r"), ("Blue", "")) == first.options
    assert (True, True, "Color") == (first.takes_other, first.is_secret, first.header)
    assert "question_2" == second.id
    expected = {"answers": {"q1": {"answers": ["Red"]}, "question_2": {"answers": ["so"]}}}
    assert [(7, expected)] == answers(running)


@pytest.mark.parametrize("method", ["tool/requestUserInput", "userInput/request"])
def test_older_names_of_questions_are_known(running, method):
    assert "user_input" == ask(running, method, questions=[{"question": "?"}]).kind


def test_questions_that_nobody_answers_get_no_answers(running):
    ask(running, INPUT, questions=[{"id": "q1", "question": "?"}])
    running.driver.answer("7", Resolution("expire"))
    running.take()

    assert [(7, {"answers": {}})] == answers(running)


@pytest.mark.parametrize(
    "method", ["command/approval/request", "execCommandApproval", "item/permissions/requestApproval"]
)
def test_request_that_cannot_be_answered_is_shown_and_refused_at_once(running, method):
    opened = ask(running, method, requestId="r1")

    assert "other" == opened.kind
    assert method in opened.prompt.note
    assert -32601 == running.sent[-1]["error"]["code"]
    assert ["7"] == [event.native_id for event in running.of(RequestResolved)]


def test_end_of_the_turn_closes_its_requests(running):
    ask(running, COMMAND, command="ls")
    running.complete("interrupted")
    running.driver.answer("7", Resolution("approve"))
    running.take()
    running.tell("serverRequest/resolved", threadId=THREAD, requestId=7)

    assert ["7"] == [event.native_id for event in running.of(RequestResolved)]
    assert [] == answers(running)


def test_request_of_another_thread_outlives_the_turn(running):
    running.feed({"id": 3, "method": COMMAND, "params": {"threadId": "sub", "command": "ls"}})
    running.complete()
    running.driver.answer("3", Resolution("approve"))
    running.take()

    assert [(3, {"decision": "accept"})] == answers(running)


def test_end_of_codex_closes_requests_without_a_word(running):
    ask(running, COMMAND, command="ls")
    sent = len(running.sent)
    running.driver.closed()
    running.take()

    assert ["7"] == [event.native_id for event in running.of(RequestResolved)]
    assert sent == len(running.sent)


def test_request_is_told_as_json(running):
    opened = ask(running, COMMAND, identity='a"b', command="ls")

    assert 'a"b' == json.loads(opened.native_id)


TOOL = "mcpServer/elicitation/request"
ABOUT = {  # seen with codex 0.169
    "codex_approval_kind": "mcp_tool_call",
    "persist": ["session", "always"],
    "tool_name": "forecast",
    "tool_description": "Tell the weather",
    "tool_params": {"city": "Rome"},
}


@pytest.mark.parametrize(
    ("decision", "action", "meta"),
    [
        ("approve", "accept", None),
        ("approve_for_session", "accept", {"persist": "session"}),
        ("deny", "decline", None),
        ("expire", "cancel", None),
    ],
)
def test_tool_of_an_mcp_server_is_asked_about(running, decision, action, meta):
    opened = ask(running, TOOL, serverName="agents", mode="form", message="Allow?", _meta=ABOUT)

    running.driver.answer(opened.native_id, Resolution(decision))
    running.take()

    assert ("permission_approval", "agents forecast", '{"city":"Rome"}') == (
        opened.kind,
        opened.prompt.title,
        opened.prompt.command,
    )
    assert [(7, {"action": action, "content": {}, "_meta": meta})] == answers(running)


def test_what_a_server_itself_asks_is_refused_and_shown(running):
    opened = ask(running, TOOL, serverName="x", mode="url", message="Log in", url="https://x", _meta=None)

    assert "other" == opened.kind
    assert [] == answers(running)
