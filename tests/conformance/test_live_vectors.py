"""The acceptance vectors of live sessions, each shown by a test that is named by its number, or by one elsewhere.

`ELSEWHERE` names the tests that show the other vectors; `DIFFERENCES` says where this product differs from a vector,
and why.
"""

import ast
import json
import re
import select
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import ItemEnded, Notice, TurnEnded, TurnStarted
from oulipoly_engine.core.live.recovery import Blocked, Recoverable
from oulipoly_engine.drivers.jsonrpc import Endpoint, Notification
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.host.frames import SMALLEST, Budget, Bye, Decoder, Hello, WireBroken, agree, encode
from oulipoly_engine.records import replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.clients import ClientSeat
from oulipoly_engine.service.live.host import Limits
from oulipoly_engine.service.live.hosts import LiveClient, OrderRefused
from oulipoly_engine.service.live.protocol import LIVE, VERSION, Answer, Client, FromHost, OrderFrame
from oulipoly_engine.service.live.wire.log import WireLog

ROOT = Path(__file__).resolve().parents[2]
_CORE, _DRIVERS, _TEXT = "tests/engine/core/live", "tests/engine/drivers", "tests/engine/core/text"
_RPC, _TURNS = f"{_DRIVERS}/test_jsonrpc.py::", f"{_DRIVERS}/codex/test_codex_turns.py::"
_START, _REQUESTS = f"{_DRIVERS}/codex/test_codex_start.py::", f"{_DRIVERS}/codex/test_codex_requests.py::"
_MODELS, _RECOVERY = f"{_CORE}/test_models.py::", f"{_CORE}/test_recovery.py::"
_POLICIES, _ARGUMENTS = f"{_CORE}/test_permissions.py::", f"{_CORE}/test_launch_arguments.py::"
_ORDERS, _ASKED = "tests/e2e/live/test_live_orders.py::", "tests/e2e/live/test_live_requests.py::"
_SHADOW = "tests/engine/service/test_shadow_home.py::"
ELSEWHERE: dict[int, tuple[str, ...]] = {
    1: (f"{_RPC}test_unknown_fields_of_a_response_are_kept",),
    2: (f"{_RPC}test_native_error_keeps_code_and_data",),
    3: (f"{_RPC}test_method_without_id_is_a_notification", f"{_TURNS}test_unknown_notification_is_raw"),
    4: (
        f"{_RPC}test_method_with_id_is_a_request",
        f"{_REQUESTS}test_request_that_cannot_be_answered_is_shown_and_refused_at_once",
    ),
    5: (f"{_RPC}test_a_line_that_is_no_message_is_named",),
    6: (f"{_RPC}test_replies_in_another_order_reach_their_callers",),
    7: (f"{_RPC}test_late_reply_is_ignored_and_later_requests_work",),
    8: (f"{_RPC}test_end_of_the_connection_settles_all_that_is_open",),
    9: (f"{_RPC}test_a_request_that_is_open_twice_is_refused", f"{_REQUESTS}test_id_that_is_open_twice_is_refused"),
    10: (f"{_RPC}test_a_request_is_answered_once", f"{_REQUESTS}test_request_is_answered_once"),
    12: (
        f"{_START}test_initialized_follows_once_and_only_then_anything_else",
        f"{_START}test_nothing_follows_a_refused_hello",
    ),
    13: (
        f"{_CORE}/test_runtime_status.py::test_an_account_or_none_tells_whether_somebody_has_to_log_in",
        f"{_CORE}/test_runtime_status.py::test_a_failed_probe_has_a_status_of_its_own",
        f"{_CORE}/test_runtime_status.py::test_a_probe_that_answered_is_ready",
        f"{_START}test_login_is_needed_where_codex_says_so",
    ),
    14: (
        f"{_START}test_models_come_page_by_page_and_once_each",
        f"{_MODELS}test_pages_are_asked_by_cursor_to_the_end",
        f"{_MODELS}test_custom_models_come_behind_and_each_id_once",
    ),
    15: (
        f"{_START}test_a_page_that_names_itself_ends_the_paging",
        f"{_MODELS}test_a_cursor_that_comes_again_ends_the_list_with_a_problem",
    ),
    16: (f"{_TURNS}test_turn_begins_and_ends_once", f"{_TURNS}test_turn_started_without_an_id_is_raw"),
    17: (f"{_TURNS}test_failed_turn_carries_message_and_code",),
    18: (f"{_TURNS}test_codex_tries_again_by_itself",),
    19: (
        f"{_TURNS}test_error_and_the_end_that_follows_are_one",
        f"{_TURNS}test_error_alone_ends_the_turn_after_a_while",
        f"{_TURNS}test_error_without_a_turn_ends_none",
    ),
    20: (f"{_TURNS}test_deltas_are_told_as_they_come",),
    21: (f"{_TURNS}test_review_has_two_ids_and_ends_with_that_of_the_reply",),
    22: (f"{_TURNS}test_phase_of_a_message_is_told",),
    24: (f"{_REQUESTS}test_command_is_shown_exactly",),
    25: (f"{_RECOVERY}test_each_turn_that_cannot_go_on_says_why_and_how",),
    26: (f"{_RECOVERY}test_a_turn_on_a_usable_runtime_is_recoverable",),
    29: (
        f"{_START}test_another_session_than_asked_for_fails",
        f"{_ORDERS}test_another_thread_than_the_bound_one_fences_the_session",
    ),
    30: (f"{_ORDERS}test_a_new_session_begins_one_thread_and_stays_bound_to_it",),
    31: (f"{_ORDERS}test_a_process_is_replaced_when_its_runtime_is_configured_otherwise",),
    32: ("tests/e2e/live/test_live_at_once.py::test_two_processes_that_send_at_once_start_one_host",),
    34: (f"{_ORDERS}test_a_session_that_cannot_be_is_not_begun",),
    35: (
        f"{_POLICIES}test_options_that_name_no_profile_ask_for_nothing",
        f"{_POLICIES}test_new_sessions_ask_where_nobody_has_named_a_profile",
        f"{_TURNS}test_nothing_is_asked_under_full_access_and_the_effort_stays",
    ),
    36: (f"{_POLICIES}test_a_broader_policy_of_earlier_is_left_out_with_a_note",),
    37: (f"{_POLICIES}test_a_stricter_policy_of_earlier_is_kept",),
    38: (f"{_ARGUMENTS}test_codex_arguments_that_are_ours",),
    39: (f"{_ARGUMENTS}test_codex_arguments_that_stay",),
    40: (f"{_ARGUMENTS}test_no_value_is_in_the_error",),
    41: (f"{_ARGUMENTS}test_claude_arguments_that_stay", f"{_ARGUMENTS}test_claude_arguments_that_are_ours"),
    42: (f"{_TEXT}/test_lines.py::test_an_oversized_line_is_left_out_and_the_next_is_whole",),
    44: (f"{_ASKED}test_an_answer_reaches_the_cli_and_is_kept",),
    45: (f"{_ASKED}test_an_answer_reaches_the_cli_and_is_kept", f"{_REQUESTS}test_cancel_interrupts_the_turn"),
    46: (f"{_ASKED}test_a_request_that_the_cli_takes_back_cannot_be_answered",),
    47: (f"{_ASKED}test_every_question_wants_an_answer",),
    48: (
        f"{_SHADOW}test_a_login_that_is_a_link_is_refused",
        f"{_SHADOW}test_the_home_is_not_its_own_shadow",
        f"{_SHADOW}test_a_link_to_elsewhere_is_set_right",
    ),
    49: (
        f"{_CORE}/test_proxy.py::test_a_proxy_is_said_in_both_spellings",
        f"{_CORE}/test_proxy.py::test_a_blank_proxy_is_none",
    ),
    50: (f"{_ASKED}test_a_long_diff_is_cut_and_says_so",),
}
DIFFERENCES: dict[int, str] = {
    11: "no channel lies between the CLI and its session's host, so nothing can be dropped there; a client that does "
    "not read misses deltas alone",
    15: "a session opens with the models that were read, and the repeated page is told as a notice",
    19: "an error gives turn/completed, which mostly follows, 5 seconds to end the turn with its usage",
    21: "a review is an item of kind `review`, in which the CLI's own name says whether it begins or ends",
    27: "a turn and its binding are one row: one that is over, or is not there, is not listed, and an order to resume "
    "it says so",
    29: "the row keeps its thread, its runtime and its folder, but the session is fenced: a further message would fail "
    "the same way",
    30: "the cursor is the thread's id alone, which every kind of CLI has",
    31: "a session's folder never changes; what else its process is started with may",
    35: "the profile of a new session that names none is `supervised`: whoever begins one is there to answer",
    36: "`supervised` is codex's `untrusted`: `on-request` lets it write without a question",
    50: "the note of the request says both figures in a sentence",
}


# What comes from a CLI -----------------------------------------------------------------------------------------------
def test_11_a_response_comes_through_whatever_else_comes():
    endpoint, settled = Endpoint(has_version=False), []
    endpoint.request("a", {}, lambda result, _: settled.append(result))

    told = [endpoint.receive(b'{"method":"n/%b"}' % name) for name in (b"one", b"two")]
    endpoint.receive(b'{"id":0,"result":"here"}')

    assert ([Notification("n/one", {}), Notification("n/two", {})], ["here"]) == (told, settled)


def test_23_no_secret_of_a_message_is_kept(tmp_path):
    params = {
        "headers": {"Authorization": "Bearer sk-secret"},
        "apiToken": "secret",
        "nested": {"refresh_token": "x"},
        "list": [{"nested": {"apiKey": "x"}}],
    }
    message = json.dumps({"method": "future/diagnostics", "params": params}).encode()
    WireLog(tmp_path / "log", str).write("cli->client", message)

    hidden = "[REDACTED]"
    assert {
        "headers": {"Authorization": hidden},
        "apiToken": hidden,
        "nested": {"refresh_token": hidden},
        "list": [{"nested": {"apiKey": hidden}}],
    } == json.loads((tmp_path / "log").read_text())["msg"]["params"]


# Sessions ------------------------------------------------------------------------------------------------------------
def statuses(live):
    return {one.runtime.id: one.status for one in live.engine.runtimes.summaries()}


def test_27_a_turn_that_is_over_or_not_there_is_not_recovered(live):
    session, turn = live.begin_turn("1 + 1")
    live.live.wait(session, turn)
    live.kill(live.host_of(session).pid)
    live.until_closed(session)

    assert () == live.live.recover(statuses(live))
    for identity, why in ((turn, "it is completed"), ("nobody", "no turn 'nobody' was left;")):
        with pytest.raises(RunnerError, match=why):
            live.live.resume_turn(identity, statuses(live))


def test_28_a_session_goes_on_in_no_runtime_of_another_kind(live):
    session, turn = live.begin_turn("my name is Ann", runtime=live.scripted())
    live.live.wait(session, turn)
    busy = live.live.send(session, json.dumps([["listen"]])).turn_id
    live.until(session, lambda event: isinstance(event, TurnStarted) and event.turn_id == busy)
    live.scripted(cli="echo_proto.py", kind="codex-proto")
    assert "queued" == live.live.send(session, "more").status  # its own process still takes it
    live.kill(live.host_of(session).pid)
    live.until_closed(session)
    before = live.rows("SELECT * FROM live_sessions")

    (blocked,) = live.live.recover(statuses(live))
    assert (Blocked, "cli_runtime_missing", f"turn.resume:{busy}") == (
        type(blocked),
        blocked.reason_class,
        blocked.resume_command,
    )
    for attempt in (
        lambda: live.live.resume_turn(busy, statuses(live)),
        lambda: live.live.send(session, "hello"),
        lambda: live.live.start(session),
    ):
        with pytest.raises(RunnerError, match=r"one of codex, and its runtime 'scripted' speaks codex-proto.*fork"):
            attempt()
    assert before == live.rows("SELECT * FROM live_sessions")

    fork = live.live.fork(session, at_turn=turn)
    assert fork.why.endswith("as a preface, since it goes on in another runtime")
    assert "my name is Ann" in live.live.send(fork.session.session_id, "who am I?", waits=True).reply
    live.scripted()
    (plan,) = live.live.recover(statuses(live))
    assert isinstance(plan, Recoverable)
    again = live.live.resume_turn(busy, statuses(live)).turn_id
    assert "completed" == live.live.wait(session, again).status
    assert [before[0]["native_id"]] == [one["params"]["threadId"] for one in live.heard("thread/resume")]


def test_28_a_session_goes_on_under_no_other_account(live):
    session, turn = live.begin_turn("1", runtime=live.scripted())
    live.live.wait(session, turn)
    live.scripted(account="demo-codex1")
    live.live.send(session, "2", waits=True)  # its own process still takes it
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    before = live.rows("SELECT * FROM live_sessions")

    with pytest.raises(RunnerError, match=r"without an account, and its runtime .* has the account 'demo-codex1'"):
        live.live.send(session, "3")
    assert before == live.rows("SELECT * FROM live_sessions")
    assert live.live.fork(session).why.endswith("it goes on in another runtime")
    live.scripted()
    live.live.send(session, "3", waits=True)
    assert ["1", "2", "3"] == live.texts()[:2] + live.texts()[-1:]


def test_28_a_session_goes_on_in_no_other_folder(live):
    folder, moved = live.root / "project", live.root / "moved"
    folder.mkdir()
    session, turn = live.begin_turn("1", runtime=live.scripted(), folder=folder)
    live.live.wait(session, turn)
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    before = live.rows("SELECT * FROM live_sessions")
    folder.rename(moved)

    with pytest.raises(RunnerError, match="project"):
        live.live.send(session, "2")
    assert before == live.rows("SELECT * FROM live_sessions")
    moved.rename(folder)
    assert "completed" == live.live.send(session, "2", waits=True).status
    assert {str(folder)} == {one["params"]["cwd"] for one in live.heard("turn/start")}


@pytest.mark.parametrize(("ago_s", "left_s"), [(9.0, 1.0), (10.0, 0.0), (11.0, 0.0)])
def test_33_a_session_is_kept_until_its_idle_time_is_over(ago_s, left_s):
    assert left_s == Limits(idle_s=10.0).idle_left(used_at=1000.0, now=1000.0 + ago_s)


def test_33_an_idle_time_of_0_never_ends_a_session():
    assert Limits(idle_s=0.0).idle_left(used_at=1000.0, now=1e9) is None


# The frames between a host and its clients ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Budget(), Budget(), Budget(VERSION, 32 << 20)),
        (Budget(), Budget(VERSION, 1 << 20), Budget(VERSION, 1 << 20)),
        (Budget(), Budget(VERSION + 1), None),
    ],
)
def test_43_two_ends_keep_to_the_smaller_budget(one, other, expected):
    assert expected == agree(one, other) == agree(other, one)


def test_43_the_usual_budget_is_not_told_to_ends_of_earlier_releases():
    hello, other = Hello(VERSION, "app"), Hello(VERSION, "app", SMALLEST)
    told = [encode(one)[4:] for one in (hello, other)]

    assert [["hello", 1, "app"], ["hello", 1, "app", SMALLEST]] == list(map(msgspec.msgpack.decode, told))
    assert [hello, other] == Decoder(FromHost).feed(encode(hello) + encode(other))
    with pytest.raises(WireBroken):
        Decoder(FromHost).feed(encode(Hello(VERSION, "app", SMALLEST - 1)))


def test_43_a_client_is_not_sent_what_is_longer_than_it_takes(live, monkeypatch):
    session = live.begin(runtime=live.scripted())
    script = [["half", "y" * 100_000], ["approve"], ["big", 100_000], ["say", "the end"]]
    turn = live.live.send(session, json.dumps(script)).turn_id
    request = live.request(session)
    monkeypatch.setattr(hosts, "LIVE", replace(LIVE, budget=Budget(VERSION, SMALLEST)))
    with live.live.connect(session) as client:
        client.follow()
        seen = [one.event for one in client.wait(10.0)]
        with pytest.raises(OrderRefused, match=r"it was done, and .* larger than the limit of 65,536"):
            client.order(orders.TellMessage())
        client.order(orders.Answer(request_id=request.request_id, decision="approve"))
        while not any(isinstance(one, TurnEnded) for one in seen):
            seen += [one.event for one in client.wait(10.0)]

    left_out = [one for one in seen if isinstance(one, Notice) and one.code == "oversized"]
    items = {one.item.text for one in seen if isinstance(one, ItemEnded)}
    assert all("too long" in one.text for one in left_out)
    assert len(left_out) >= 2
    assert ("the end", True) == (live.live.wait(session, turn).reply, "the end" in items)
    assert "x" * 100_000 not in items
    kept = [one.event.item.text for one in live.live.events(session, limit=1000) if isinstance(one.event, ItemEnded)]
    assert "x" * 100_000 in kept


def test_43_a_host_is_not_sent_what_is_longer_than_it_takes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket has 107 bytes at most
    path, heard = Path("s"), []

    def serve():
        connection, _ = listener.accept()
        seat = ClientSeat(connection, Budget(VERSION, SMALLEST))
        with connection, suppress(EOFError):
            while select.select([connection], [], [], 10.0)[0]:
                for message in seat.receive():
                    heard.append(message)
                    if isinstance(message, OrderFrame):
                        seat.answer(Answer(message.number, {"taken": True}))
                    if isinstance(message, Bye):
                        return

    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as pool:
        listener.bind(str(path))
        listener.listen()
        served = pool.submit(serve)
        with LiveClient(path, Client("a test")) as client:
            with pytest.raises(UsageInvalid, match=r"host does not take that: .* larger than the limit of 65,536"):
                client.order(orders.Send("x" * 100_000))
            assert {"taken": True} == client.order(orders.Send("x" * 50_000))
        served.result()

    assert [Hello, OrderFrame, Bye] == list(map(type, heard))


# The table -----------------------------------------------------------------------------------------------------------
def _functions(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def _numbers_here():
    names = _functions("tests/conformance/test_live_vectors.py")
    return {int(match[1]) for name in names if (match := re.match(r"test_(\d\d)_", name))}


def test_every_vector_is_shown_somewhere():
    assert set(range(1, 51)) == _numbers_here() | set(ELSEWHERE)
    assert set() == _numbers_here() & set(ELSEWHERE)
    assert set(range(1, 51)) >= set(DIFFERENCES)


@pytest.mark.parametrize("number", sorted(ELSEWHERE))
def test_a_test_that_is_named_exists(number):
    for one in ELSEWHERE[number]:
        path, _, name = one.partition("::")
        assert name in _functions(path), one
