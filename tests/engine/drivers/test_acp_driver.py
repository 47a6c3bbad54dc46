"""The ACP driver without a recording: how it opens, what it asks, and whatever an agent may write."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.live import events
from oulipoly_engine.drivers.acp import AcpDriver
from oulipoly_engine.drivers.base import NotSupported, Opening, Resolution, Server

# Examples of nested JSON take their time on a busy machine.
UNHURRIED = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
AGENT = {"protocolVersion": 1, "agentInfo": {"name": "tester", "version": "1"}, "agentCapabilities": {}}
ONCE = {"optionId": "o", "kind": "allow_once", "name": "Allow"}
ALWAYS = {"optionId": "a", "kind": "allow_always", "name": "Allow every use of rm in this folder"}
NEVER = {"optionId": "n", "kind": "reject_always", "name": "Never"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
UPDATES = st.sampled_from(
    ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "usage_update", "news"]
) | st.sampled_from(["available_commands_update", "config_option_update", "current_mode_update", "session_info_update"])
NAMES = st.sampled_from(
    ["content", "toolCallId", "status", "kind", "rawInput", "rawOutput", "entries", "messageId", "title", "locations"]
) | st.sampled_from(["configOptions", "availableCommands", "used", "size", "cost", "_meta", "type", "text", "options"])
SHAPES = st.recursive(
    st.sampled_from(["completed", "failed", "text", "diff", "execute", "edit", "t1", "model"]) | JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=8,
)


class Agent:
    """The other end, by hand."""

    def __init__(self, agent=None, session=None, **fields):
        self.driver = AcpDriver(Opening(**{"cwd": "/w", "new_id": "n", **fields}))
        self.events = []
        self.driver.begin()
        asked = self.take()[0]
        self.reply(asked, AGENT if agent is None else agent)
        self.opening = self.take()
        if self.opening and session is not False:
            self.reply(self.opening[0], {"sessionId": "s"} if session is None else session)

    def tell(self, message):
        self.driver.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def reply(self, asked, result):
        self.tell({"id": asked["id"], "result": result})

    def fail(self, asked, code, message, **data):
        self.tell({"id": asked["id"], "error": {"code": code, "message": message, "data": data}})

    def update(self, name, /, **fields):
        update = {"sessionUpdate": name, **fields}
        self.tell({"method": "session/update", "params": {"sessionId": "s", "update": update}})

    def ask(self, options, identity=7, **call):
        params = {"sessionId": "s", "toolCall": {"toolCallId": "t1", "title": "rm x", **call}, "options": options}
        self.tell({"id": identity, "method": "session/request_permission", "params": params})

    def take(self):
        output = self.driver.take()
        self.events += output.events
        return [json.loads(line) for line in output.data.splitlines()]

    def of(self, kind):
        self.take()
        return [event for event in self.events if isinstance(event, kind)]

    def prompt(self, text="hello"):
        self.driver.send("turn", text)
        return self.take()[0]


def able(**sessions):
    return {**AGENT, "agentCapabilities": {"sessionCapabilities": sessions}}


def test_words_are_those_that_make_it_an_agent_and_the_users_own():
    assert ("acp", "--x") == AcpDriver.words(Opening(cwd="/", new_id="n", start_words=("acp",), args=("--x",)))


def test_files_and_terminals_stay_with_the_agent():
    one = AcpDriver(Opening(cwd="/w", new_id="n"))
    one.begin()
    asked = json.loads(one.take().data)["params"]

    assert 1 == asked["protocolVersion"]
    assert {"readTextFile": False, "writeTextFile": False} == asked["clientCapabilities"]["fs"]
    assert asked["clientCapabilities"]["terminal"] is False


@pytest.mark.parametrize(
    ("fields", "agent", "method"),
    [
        ({}, AGENT, "session/new"),
        ({"resume": "s"}, able(resume={}), "session/resume"),
        ({"resume": "s"}, {**AGENT, "agentCapabilities": {"loadSession": True}}, "session/load"),
        ({"resume": "s", "fork": True}, able(fork={}), "session/fork"),
    ],
)
def test_a_session_is_opened_by_what_the_agent_can_do(fields, agent, method):
    assert method == Agent(agent, **fields).opening[0]["method"]


def test_a_session_that_cannot_be_resumed_after_all_is_loaded():
    capabilities = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
    agent = Agent({**AGENT, "agentCapabilities": capabilities}, session=False, resume="s")
    # qwen 0.15.10, seen 2026-11
    agent.fail(agent.opening[0], -32601, '"Method not found": session/resume', method="session/resume")
    (loaded,) = agent.take()
    agent.reply(loaded, {})

    assert ("session/load", "s") == (loaded["method"], loaded["params"]["sessionId"])
    assert ["s"] == [one.native_id for one in agent.of(events.SessionOpened)]


@pytest.mark.parametrize(
    ("fields", "agent", "reason"),
    [
        ({}, {**AGENT, "protocolVersion": 2}, "unsupported_version"),
        ({}, {}, "unsupported_version"),
        ({"resume": "s"}, able(resume=None), "thread_lost"),
        ({"resume": "s", "fork": True}, AGENT, "handshake_failed"),
        ({"resume": "s", "fork": True, "fork_at": "t"}, able(fork={}), "handshake_failed"),
    ],
)
def test_what_the_agent_cannot_do_is_told_at_once(fields, agent, reason):
    assert [reason] == [one.reason for one in Agent(agent, **fields).of(events.SessionFailed)]


def test_a_wanted_login_names_its_ways():
    methods = [{"id": "x", "name": "Log in with X", "description": "Run `x login`"}]
    agent = Agent({**AGENT, "authMethods": methods}, session=False)
    agent.fail(agent.opening[0], -32000, "Authentication required")

    failed = agent.of(events.SessionFailed)[0]
    assert ("needs_auth", "tester wants a login (Log in with X: Run `x login`)") == (failed.reason, failed.message)


def test_a_session_without_an_id_and_another_one_fail():
    no_id = Agent(session={})
    other = Agent(able(resume={}), session={"sessionId": "other"}, resume="s")

    assert ["handshake_failed"] == [one.reason for one in no_id.of(events.SessionFailed)]
    assert ["thread_mismatch"] == [one.reason for one in other.of(events.SessionFailed)]


def test_a_mode_model_and_effort_are_chosen_before_the_session_is_ready():
    options = [
        {"id": "m", "category": "model", "currentValue": "a", "options": [{"value": "a"}, {"value": "b"}]},
        {"id": "e", "category": "thought_level", "currentValue": "low", "options": [{"value": "low"}]},
    ]
    modes = {"currentModeId": "default", "availableModes": [{"id": "default"}, {"id": "yolo"}]}
    session = {"sessionId": "s", "modes": modes, "configOptions": options}
    agent = Agent(session=session, profile="full_access", model="b", effort="low")
    said = []
    while (asked := agent.take()) and not agent.of(events.SessionOpened):
        said.append((asked[0]["method"], asked[0]["params"].get("modeId") or asked[0]["params"]["value"]))
        agent.reply(asked[0], {})

    config = "session/set_config_option"
    assert [("session/set_mode", "yolo"), (config, "b"), (config, "low")] == said
    opened = agent.of(events.SessionOpened)[0]
    assert ("b", "yolo", ("low",)) == (opened.model, opened.policy, opened.models[0].efforts)


def test_a_refused_setting_is_told_and_the_session_opens_all_the_same():
    agent = Agent(session={"sessionId": "s", "models": {"availableModels": [{"modelId": "a"}]}}, model="b")
    agent.fail(agent.take()[0], -32602, "no such model")

    assert "no such model" in agent.of(events.Notice)[0].text
    assert 1 == len(agent.of(events.SessionOpened))


@pytest.mark.parametrize(
    ("decision", "options", "outcome"),
    [
        ("approve", [NEVER, ALWAYS, ONCE], "o"),
        ("approve", [ALWAYS, NEVER], None),
        ("approve_for_session", [ONCE, ALWAYS], "a"),
        ("approve_for_session", [ONCE], "o"),
        ("deny", [ONCE, NEVER], "n"),
        ("deny", [ONCE], None),
        ("answer", [ONCE, NEVER], "n"),
        ("cancel", [ONCE, NEVER], None),
    ],
)
def test_a_decision_takes_an_option_of_its_kind_and_never_a_broader_one(decision, options, outcome):
    agent = Agent()
    agent.prompt()
    agent.ask(options, kind="execute")
    agent.driver.answer("7", Resolution(decision))
    answer = next(line for line in agent.take() if line.get("id") == 7)["result"]["outcome"]

    assert outcome == answer.get("optionId")
    assert ("cancelled" if outcome is None else "selected") == answer["outcome"]


def test_reach_is_what_the_option_for_always_says():
    agent = Agent()
    agent.prompt()
    agent.ask([ONCE, ALWAYS])
    agent.ask([ONCE], identity=8, toolCallId="t2")

    assert [ALWAYS["name"], ""] == [one.prompt.reach for one in agent.of(events.RequestOpened)]


@pytest.mark.parametrize(
    ("profile", "kind", "is_asked"),
    [
        ("supervised", "edit", True),
        ("auto_accept_edits", "edit", False),
        ("auto_accept_edits", "execute", True),
        ("full_access", "execute", False),
    ],
)
def test_a_profile_answers_for_the_person_as_far_as_it_says(profile, kind, is_asked):
    agent = Agent(profile=profile)
    agent.prompt()
    agent.ask([ALWAYS, ONCE], kind=kind)
    written = agent.take()

    assert is_asked == bool(agent.of(events.RequestOpened))
    assert is_asked != any(line.get("result", {}).get("outcome", {}).get("optionId") == "o" for line in written)


def test_a_cancelled_turn_that_never_ends_is_given_up():
    agent = Agent()
    agent.prompt()
    agent.ask([ONCE])
    agent.driver.interrupt()
    waits = [agent.driver.tick(now) for now in (100.0, 105.0)]
    before = len(agent.of(events.TurnEnded))
    agent.driver.tick(110.0)

    assert [10.0, 5.0] == waits
    assert 0 == before
    assert ["interrupted"] == [one.status for one in agent.of(events.TurnEnded)]
    assert ["timed_out"] == [one.reason for one in agent.of(events.SessionFailed)]


def test_what_asks_for_leave_after_the_cancel_is_cancelled_at_once():
    agent = Agent()
    agent.prompt()
    agent.driver.interrupt()
    agent.ask([ONCE])

    assert {"outcome": {"outcome": "cancelled"}} == agent.take()[-1]["result"]
    assert [] == agent.of(events.RequestOpened)


def test_a_request_that_the_agent_takes_back_is_not_open_any_more():
    agent = Agent()
    agent.prompt()
    agent.ask([ONCE])
    agent.tell({"method": "$/cancel_request", "params": {"requestId": 7}})
    agent.driver.answer("7", Resolution("approve"))

    assert ["7"] == [one.native_id for one in agent.of(events.RequestResolved)]
    assert not any("result" in line for line in agent.take())


def test_a_form_becomes_questions_and_its_answers_have_the_fields_types():
    properties = {
        "name": {"type": "string", "title": "Name"},
        "count": {"type": "integer"},
        "sure": {"type": "boolean"},
        "colours": {"type": "array", "items": {"enum": ["red", "blue"]}},
        "token": {"type": "string", "format": "password"},
    }
    params = {"mode": "form", "message": "Tell me", "requestedSchema": {"type": "object", "properties": properties}}
    agent = Agent()
    agent.prompt()
    agent.tell({"id": "f", "method": "elicitation/create", "params": params})
    asked = agent.of(events.RequestOpened)[0]
    answers = {"name": ("x",), "count": ("3",), "sure": ("yes",), "colours": ("red", "blue"), "token": ("t",)}
    agent.driver.answer(asked.native_id, Resolution("answer", answers=answers))

    assert ("user_input", [True]) == (
        asked.kind,
        [one.is_secret for one in asked.prompt.questions if one.id == "token"],
    )
    content = {"name": "x", "count": 3, "sure": True, "colours": ["red", "blue"], "token": "t"}
    assert {"action": "accept", "content": content} == agent.take()[0]["result"]


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create", "_vendor/thing", "news"])
def test_a_request_that_cannot_be_answered_here_is_shown_and_refused(method):
    agent = Agent()
    agent.tell({"id": 3, "method": method, "params": {}})
    refusal = agent.take()[0]

    assert (3, -32601) == (refusal["id"], refusal["error"]["code"])
    assert [("other", method)] == [(one.kind, one.prompt.title) for one in agent.of(events.RequestOpened)]
    assert ["3"] == [one.native_id for one in agent.of(events.RequestResolved)]


@pytest.mark.parametrize(
    ("reply", "outcome"), [({"outcome": "injected"}, "accepted"), ({"outcome": "failed"}, "refused"), ({}, "refused")]
)
def test_steering_is_spoken_where_the_agent_knows_it(reply, outcome):
    agent = Agent({**AGENT, "_meta": {"steering": {"supported": True}}})
    agent.prompt()
    agent.driver.steer("m", "also this")
    asked = agent.take()[0]
    agent.reply(asked, reply)

    assert "_session/steering" == asked["method"]
    assert [outcome] == [one.outcome for one in agent.of(events.SteerSettled)]


def test_a_message_that_the_agent_is_slow_to_take_is_settled_once():
    agent = Agent({**AGENT, "_meta": {"steering": {"supported": True}}})
    asked = agent.prompt()
    for message in ("one", "two"):
        agent.driver.steer(message, "also this")
    one, two = agent.take()
    assert [None, None] == [agent.driver.tick(now) for now in (0.0, 3600.0)]
    agent.reply(one, {"outcome": "injected"})
    agent.reply(asked, {"stopReason": "end_turn"})
    agent.reply(two, {"outcome": "injected"})

    settled = [(event.message_id, event.outcome) for event in agent.of(events.SteerSettled)]
    assert [("one", "accepted"), ("two", "refused")] == settled


def test_without_steering_and_without_a_compact_command_neither_is_supported():
    agent = Agent()
    agent.prompt()

    with pytest.raises(NotSupported):
        agent.driver.steer("m", "x")
    with pytest.raises(NotSupported):
        agent.driver.compact("turn")


def test_compaction_is_the_agents_own_command():
    agent = Agent()
    agent.update("available_commands_update", availableCommands=[{"name": "compact", "description": "shorter"}])
    agent.driver.compact("turn")
    asked = agent.take()[0]
    agent.reply(asked, {"stopReason": "end_turn"})

    assert "/compact" == asked["params"]["prompt"][0]["text"]
    ended = [one.item.status for one in agent.of(events.ItemEnded) if one.item.kind == "compaction"]
    assert ["completed"] == ended


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        ("end_turn", "completed", ""),
        ("cancelled", "interrupted", ""),
        ("refusal", "failed", "refusal"),
        ("max_tokens", "failed", "max_tokens"),
        ("something new", "completed", "something new"),
    ],
)
def test_the_reply_to_the_prompt_ends_the_turn(reason, status, code):
    agent = Agent()
    agent.reply(agent.prompt(), {"stopReason": reason})

    assert [(status, code)] == [(one.status, one.code) for one in agent.of(events.TurnEnded)]


def test_a_plan_thoughts_and_a_message_that_a_tool_interrupts_are_items_of_their_own():
    agent = Agent()
    asked = agent.prompt()
    said = {"messageId": "m", "content": {"type": "text", "text": "one"}}
    agent.update("agent_thought_chunk", **said)
    agent.update("agent_message_chunk", **said)
    agent.update("tool_call", toolCallId="t1", title="look", kind="read", status="completed")
    agent.update("agent_message_chunk", **said)
    agent.update("plan", entries=[{"content": "first", "status": "in_progress"}, {"content": "then"}])
    agent.reply(asked, {"stopReason": "end_turn"})
    items = [one.item for one in agent.of(events.ItemEnded)]

    kinds = ["user_message", "reasoning", "agent_message", "tool", "agent_message", "plan"]
    assert kinds == [item.kind for item in items]
    assert len(items) == len({item.id for item in items})
    assert (("first", "in_progress"), ("then", "pending")) == items[-1].steps


def test_an_update_that_comes_between_turns_is_no_item():
    agent = Agent()
    agent.update("agent_message_chunk", content={"type": "text", "text": "[MODE_UPDATE] x"})

    assert [] == agent.of(events.ItemStarted)


def test_a_model_that_is_refused_is_an_order_that_failed():
    agent = Agent(session={"sessionId": "s", "models": {"availableModels": [{"modelId": "a"}]}})
    agent.driver.set_model("b")
    agent.fail(agent.take()[0], -32602, "no such model")

    assert [events.OrderFailed("set_model", "no such model")] == agent.of(events.OrderFailed)


def test_the_end_of_stdout_leaves_the_turn_to_the_host():
    agent = Agent()
    agent.prompt()
    agent.ask([ONCE], kind="execute")
    agent.driver.closed()

    assert [] == agent.of(events.TurnEnded)
    assert ["7"] == [one.native_id for one in agent.of(events.RequestResolved)]
    assert "interrupted" == agent.of(events.ItemEnded)[-1].item.status


@UNHURRIED
@given(
    st.lists(st.tuples(UPDATES, st.dictionaries(NAMES, SHAPES, max_size=6)), max_size=8),
    st.dictionaries(st.sampled_from(["toolCall", "options", "requestedSchema", "mode", "message"]), SHAPES),
)
def test_whatever_an_agent_writes_nothing_is_raised(updates, params):
    agent = Agent()
    asked = agent.prompt()
    for kind, fields in updates:
        agent.update(kind, **fields)
    for identity, method in enumerate(("session/request_permission", "elicitation/create", "other")):
        agent.tell({"id": identity, "method": method, "params": params})
        agent.driver.answer(str(identity), Resolution("answer", answers={"a": ("b",)}))
    agent.reply(asked, params)
    agent.driver.closed()

    assert all(line["jsonrpc"] == "2.0" for line in agent.take())


@UNHURRIED
@given(JSON, JSON, JSON)
def test_whatever_an_agent_opens_with_nothing_is_raised(agent, session, capabilities):
    Agent(agent)
    Agent({**AGENT, "agentCapabilities": capabilities, "_meta": capabilities}, session=session or {})
    Agent(session={"sessionId": "s", "models": session, "modes": capabilities, "configOptions": [session, agent]})


@UNHURRIED
@given(st.binary())
def test_a_line_that_is_no_json_raises_nothing(line):
    agent = Agent()
    agent.driver.receive(line)

    assert [] == agent.of(events.SessionFailed)


@pytest.mark.parametrize(
    ("number", "message", "code"),
    [
        (429, "You exceeded your current quota, please check your plan and billing details.", "usage_limit"),
        (429, "Resource has been exhausted (e.g. check quota).", "rate_limit"),
        (429, "Slow down.", "rate_limit"),
        (500, "An internal error has occurred.", "server_error"),
        (529, "Overloaded", "overloaded"),
        (-32603, "Internal error: API key not valid.", "unauthorized"),
        (-32603, "Internal error: something of its own", ""),
    ],
)
def test_a_failed_turn_has_the_code_of_its_cause(number, message, code):
    agent = Agent()
    agent.driver.send("turn", "hello")
    (asked,) = agent.take()
    agent.fail(asked, number, message)
    agent.take()

    assert [("failed", code)] == [(one.status, one.code) for one in agent.events if isinstance(one, events.TurnEnded)]


@pytest.mark.parametrize(
    ("offered", "methods"),
    [({"close": {}, "delete": {}}, ["session/delete"]), ({"close": {}}, ["session/close"]), ({}, [])],
)
def test_a_probe_leaves_no_session_where_the_agent_offers_that(offered, methods):
    agent = Agent({**AGENT, "agentCapabilities": {"sessionCapabilities": offered}}, is_probe=True)
    asked = agent.take()
    opened_before = [one for one in agent.events if isinstance(one, events.SessionOpened)]
    for one in asked:
        agent.reply(one, {})
    agent.take()

    assert methods == [one["method"] for one in asked]
    assert all({"sessionId": "s"} == one["params"] for one in asked)
    assert bool(opened_before) == (not methods)
    assert [events.SessionOpened] == [type(one) for one in agent.events]


def test_session_is_opened_with_the_servers_that_are_handed_over():
    agent = Agent(servers=(Server("agents", ("/bin/agents", "ext", "serve"), {"HOME": "/h"}),))

    (server,) = agent.opening[0]["params"]["mcpServers"]
    assert ("agents", "/bin/agents", ["ext", "serve"]) == (server["name"], server["command"], server["args"])
    assert [{"name": "HOME", "value": "/h"}] == server["env"]
