import contextlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.readings import (
    MAX_WINDOWS,
    HttpFailure,
    ParsedWindow,
    duration_label,
    excerpt,
    http_failure,
    parse_reading,
)
from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.errors import AdapterOutputInvalid

RESET = "2026-04-23T19:00:00Z"
AT = datetime(2026, 4, 23, 19, tzinfo=UTC)


def output(**window):
    return json.dumps({"windows": [{"used_percent": 10, "resets_at": RESET, **window}]})


def refusal(raw):
    with pytest.raises(AdapterOutputInvalid) as caught:
        parse_reading(raw, "my-usage ~/x")
    return caught.value.message


def test_empty_windows_are_a_reading_of_nothing():
    assert () == parse_reading(b'{"windows": []}', "x")


def test_past_reset_is_accepted():
    (found,) = parse_reading(output(resets_at="1999-01-01T00:00:00Z"), "x")

    assert datetime(1999, 1, 1, tzinfo=UTC) == found.resets_at


@pytest.mark.parametrize(
    "text",
    ["2026-04-23T21:00:00+02:00", "2026-04-23t19:00:00z", "2026-04-23 19:00:00Z", "2026-04-23T19:00:00.000000000Z"],
)
def test_every_form_of_rfc_3339_gives_the_same_instant(text):
    assert AT == parse_reading(output(resets_at=text), "x")[0].resets_at


def test_byte_order_mark_and_unknown_keys_are_ignored():
    assert 0.1 == parse_reading(b"\xef\xbb\xbf" + output(colour="red").encode(), "x")[0].used


@pytest.mark.parametrize("window_list", ["null", '{"used_percent": 1}', '"x"'])
def test_windows_that_are_no_list_are_refused(window_list):
    assert "windows" in refusal(f'{{"windows": {window_list}}}')


@pytest.mark.parametrize(
    ("raw", "mentions"),
    [
        (b"", "printed nothing"),
        (b"  \n", "printed nothing"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "JSON"),
        (b"[]", "windows"),
        (b"null", "windows"),
        (b'{"used_percent": 1}', "resets_at"),
        (b'{"windows": [3]}', "not an object"),
        (b'{"windows": [{}]}', "used_percent"),
        (b'{"windows": []}{"windows": []}', "JSON"),
    ],
)
def test_other_shapes_are_refused_saying_why(raw, mentions):
    message = refusal(raw)

    assert mentions in message
    assert "my-usage" in message


@pytest.mark.parametrize("percent", ["NaN", "Infinity", "-Infinity", "1e999", "true", '"12"', "[1]", "null", "9" * 500])
def test_percentage_that_is_no_finite_number_is_refused(percent):
    assert refusal(f'{{"windows": [{{"used_percent": {percent}, "resets_at": "{RESET}"}}]}}')


@pytest.mark.parametrize("percent", [-0.001, 100.001, 1e300])
def test_percentage_outside_the_scale_is_refused_with_its_value(percent):
    message = refusal(output(used_percent=percent))

    assert f"{percent:g}" in message
    assert "0..100" in message


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2026-04-23",
        "2026-04-23T19:00:00",
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-23:00",
        1776810000,
    ],
)
def test_bad_reset_is_refused_with_its_value(text):
    assert str(text) in refusal(output(resets_at=text))


def test_time_without_zone_is_refused_for_that():
    assert "zone" in refusal(output(resets_at="2026-04-23T19:00:00"))


@pytest.mark.parametrize(("key", "value"), [("label", 7), ("unit", []), ("limit", "many"), ("window_seconds", 0)])
def test_display_fields_of_a_wrong_type_are_refused(key, value):
    assert key in refusal(output(**{key: value}))


def test_more_windows_than_any_vendor_has_are_refused():
    assert str(MAX_WINDOWS + 1) in refusal(json.dumps({"windows": [{}] * (MAX_WINDOWS + 1)}))


def test_five_megabytes_of_rubbish_give_a_short_message():
    assert len(refusal(b"rubbish " * 655_360)) < 700


def test_secret_in_the_output_is_not_repeated():
    message = refusal('{"windows": oops, "Authorization": "Bearer sk-ant-oat01-abcdefghijklmnop"}')

    assert "oops" in message
    assert "abcdefghijklmnop" not in message


def test_secret_at_the_cut_is_not_repeated():
    assert "abcdefgh" not in excerpt("x" * 280 + " sk-ant-oat01-abcdefghijklmnopqrstuvwxyz")


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in refusal("\x1b[2Joops")
    assert "[2J weekly" == parse_reading(output(label="\x1b[2J\n weekly"), "x")[0].label


def test_blank_label_is_no_label():
    assert parse_reading(output(label="  "), "x")[0].label is None


def test_repeated_labels_are_numbered():
    entry = {"used_percent": 1, "resets_at": RESET, "label": "weekly"}
    found = parse_reading(json.dumps({"windows": [entry, {**entry, "label": "weekly (2)"}, entry]}), "x")

    assert ["weekly", "weekly (2)", "weekly (3)"] == [window.label for window in found]


def test_length_names_a_window_without_label():
    assert "weekly" == parse_reading(output(window_seconds=604_800), "x")[0].label


@given(st.lists(st.tuples(st.integers(0, 100), st.datetimes(timezones=st.just(UTC))), max_size=8))
def test_what_a_script_prints_is_what_is_read(given_windows):
    printed = [
        {"used_percent": percent, "resets_at": to_text(at)} for percent, at in given_windows if 1 < at.year < 9999
    ]
    found = parse_reading(json.dumps({"windows": printed}), "x")

    assert [(place, entry["used_percent"] / 100) for place, entry in enumerate(printed)] == [
        (window.position, window.used) for window in found
    ]


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_any_output_is_read_or_refused(raw):
    with contextlib.suppress(AdapterOutputInvalid):
        assert all(0 <= window.used <= 1 for window in parse_reading(raw, "x"))


@pytest.mark.parametrize(
    ("seconds", "label"),
    [(18_000, "5h-burst"), (17_940, "5h-burst"), (604_800, "weekly"), (86_400, "daily"), (31 * 86_400, "monthly")],
)
def test_known_lengths_have_the_adapters_names(seconds, label):
    assert label == duration_label(seconds)


@pytest.mark.parametrize(("seconds", "label"), [(3 * 86_400, "3d"), (7200, "2h"), (900, "15m"), (5, "1m")])
def test_other_lengths_are_named_by_their_size(seconds, label):
    assert label == duration_label(seconds)


def test_refusal_of_a_vendor_is_read_from_stderr():
    assert HttpFailure(429, 120) == http_failure("anthropic-usage: HTTP 429 from x; retry-after 120")
    assert HttpFailure(503, None) == http_failure("x: HTTP 503 from y")
    assert http_failure("jq: error") is None


def test_what_is_stored_of_a_window_keeps_its_label():
    parsed = ParsedWindow(1, 0.25, AT, label="weekly", limit=1000, unit="tokens")

    assert Window(1, 0.25, AT, label="weekly") == parsed.as_window()
