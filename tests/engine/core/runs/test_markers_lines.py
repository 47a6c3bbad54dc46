"""The marker lines, byte for byte, and the reading of parent references and results."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine import variables
from oulipoly_engine.core.runs import markers
from oulipoly_engine.core.runs.invocations import Status
from oulipoly_engine.core.runs.markers import InvocationResult, ParentRef, PreInvocationFailure, SessionLink

ID = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
OTHER = "5169694d-de0f-40d1-890c-6e28e55bab27"
NOW = datetime(2026, 11, 21, 4, 5, 6, tzinfo=UTC)
NOW_TEXT = "2026-11-21T04:05:06.000000Z"


def result_of(*, success=True, invocation_id=ID, **fields):
    status = Status.SUCCEEDED if success else Status.FAILED
    return InvocationResult(invocation_id, status, success, 0 if success else 17, None, None, NOW, **fields)


def test_success_has_exactly_seven_sorted_keys():
    expected = (
        f'OULIPOLY_RESULT={{"error_category":null,"exit_code":0,"finished_at":"{NOW_TEXT}","id":"{ID}",'
        '"status":"succeeded","success":true,"terminal_reason":null}'
    )

    assert expected == markers.result_line(result_of(provider_name="claude2", chain_id=OTHER))


def test_failure_adds_the_four_identity_keys_with_explicit_nulls():
    expected = (
        f'OULIPOLY_RESULT={{"agent_runner_chain_id":null,"agent_runner_invocation_id":"{ID}","error_category":null,'
        f'"exit_code":17,"finished_at":"{NOW_TEXT}","id":"{ID}","provider_name":"claude2","provider_session_id":null,'
        '"status":"failed","success":false,"terminal_reason":null}'
    )

    assert expected == markers.result_line(result_of(success=False, provider_name="claude2"))


def test_failure_before_an_invocation_has_null_identity():
    reason = "all providers in pool m1 are quota-exhausted: p1, p2"
    failure = PreInvocationFailure("provider_selection", reason, NOW, model_name="m1")
    expected = (
        'OULIPOLY_FAILURE={"agent_runner_chain_id":null,"agent_runner_invocation_id":null,"detail":{'
        f'"attempted_providers":[],"model_name":"m1","provider_index":null,"reason":"{reason}"}},"error_category":null,'
        f'"exit_code":null,"failure_kind":"pre_invocation","finished_at":"{NOW_TEXT}",'
        f'"message":"provider_selection: {reason}","provider_name":null,"provider_session_id":null,'
        '"stage":"provider_selection","status":"failed","success":false,"terminal_reason":"pre_invocation_failure"}'
    )

    assert expected == markers.failure_line(failure)


def test_failure_names_the_accounts_that_were_tried():
    failure = PreInvocationFailure("provider_resolution", "r", NOW, "m2", 0, ("p9",))
    detail = json.loads(markers.failure_line(failure).removeprefix(markers.FAILURE))["detail"]

    assert {"attempted_providers": ["p9"], "model_name": "m2", "provider_index": 0, "reason": "r"} == detail


def test_session_line_holds_the_ids_of_both_sides():
    line = markers.session_line(SessionLink(ID, "claude2", "s-1", chain_id=OTHER))
    expected = (
        f'OULIPOLY_SESSION={{"agent_runner_chain_id":"{OTHER}","agent_runner_invocation_id":"{ID}","id":"{ID}",'
        '"provider_name":"claude2","provider_session_id":"s-1","resume_input_id":null,"session_id":"s-1"}'
    )

    assert expected == line


def test_invocation_line_and_parent_variable_carry_the_same_json():
    expected = f'{{"source":"claude2","id":"{ID}"}}'

    assert f"OULIPOLY_INVOCATION={expected}" == markers.invocation_line("claude2", ID)
    assert {"OULIPOLY_PARENT_INVOCATION": expected} == markers.parent_env("claude2", ID)


@settings(deadline=None)
@given(st.text(min_size=1))
def test_every_line_is_one_line_of_valid_utf8(account):
    line = markers.invocation_line(account + "\udcff\n", ID)

    assert b"\n" not in line.encode("utf-8")


@pytest.mark.parametrize(
    ("last_byte", "expected"),
    [(None, False), (b"", False), (b"\n", False), (10, False), (b"x", True), (120, True), (b"\r", True), (0, True)],
)
def test_marker_needs_a_newline_only_after_an_unfinished_line(last_byte, expected):
    assert expected is markers.needs_newline(last_byte)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"source":"claude2","id":"{ID}"}}',
        f' {{ "id": "{ID.upper()}", "source": "claude2" }}\n',
        f"{{source:claude2,id:{ID}}}",
        f"{{id: {ID}, source: claude2}}",
    ],
    ids=["ours", "spaced", "mangled", "mangled and turned"],
)
def test_parent_is_read_from_our_json_and_from_what_shells_leave_of_it(text):
    assert ParentRef("claude2", ID) == markers.parse_parent(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        ID,
        f'{{"source":"claude2","id":"{ID}","more":1}}',
        f'{{"source":"claude2","source":"claude3","id":"{ID}"}}',
        f'{{"source":1,"id":"{ID}"}}',
        f'{{"id":"{ID}"}}',
        '{"source":"claude2","id":"not-a-uuid"}',
        f'{{"source":"claude2","id":"{ID}0"}}',
        f'{{"source":"claude2","id":"{ID.replace("-", "")}"}}',
        f"{{source:claude2,id:{ID},more:1}}",
        f"{{source:claude2,source:claude2,id:{ID}}}",
        "{source:claude2,source:claude2}",
        f"source:claude2,id:{ID}",
        '{"a":' * 100_000,
        "x" * 5000,
    ],
)
def test_what_is_no_parent_reference_gives_none(text):
    assert markers.parse_parent(text) is None


@settings(deadline=None)
@given(st.from_regex(r"[A-Za-z0-9_.~ é-]{1,20}", fullmatch=True), st.uuids())
def test_our_own_parent_variable_is_always_read_back(account, invocation_id):
    text = markers.parent_env(account, str(invocation_id))[variables.PARENT_INVOCATION]

    assert ParentRef(account, str(invocation_id)) == markers.parse_parent(text)


def test_the_last_line_with_the_id_is_the_genuine_result():
    forged = markers.result_line(result_of(success=False))
    foreign = markers.result_line(result_of(invocation_id=OTHER))
    genuine = markers.result_line(result_of())
    stdout = f"{forged}\nx {forged}\n{genuine}\n{foreign}\nOULIPOLY_RESULT=broken\n".encode()

    assert json.loads(genuine.removeprefix(markers.RESULT)) == markers.find_result(stdout, ID)


@pytest.mark.parametrize(
    "stdout", [b"", b"\xff\xfe", b"OULIPOLY_RESULT=", b"x OULIPOLY_RESULT={}", b"OULIPOLY_RESULT={}"]
)
def test_output_without_our_result_gives_none(stdout):
    assert markers.find_result(stdout, ID) is None
