"""What a quota script is told whose output cannot be read, and how values look at their limits."""

import json
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.quota.readings import (
    MAX_WINDOWS,
    HttpFailure,
    ParsedWindow,
    duration_label,
    excerpt,
    http_failure,
    parse_reading,
)
from oulipoly_engine.errors import AdapterOutputInvalid

RESET = "2026-04-23T19:00:00Z"
SHAPES = (
    'it must print one JSON object, {"windows": [{"used_percent": 0..100, "resets_at": RFC 3339}]} '
    'or {"used_percent": …, "resets_at": …}'
)


def refusal(raw):
    with pytest.raises(AdapterOutputInvalid) as caught:
        parse_reading(raw, "my-usage")
    return caught.value.message


def second(**changed):
    """Return what a script prints whose second window is wrong."""
    good = {"used_percent": 10, "resets_at": RESET}
    wrong = {key: value for key, value in (good | changed).items() if value != "absent"}
    return json.dumps({"windows": [good, wrong]})


@pytest.mark.parametrize("raw", ["", " \n", b""])
def test_script_that_printed_nothing_is_told_what_to_print(raw):
    assert f"the quota script 'my-usage' printed nothing; {SHAPES}" == refusal(raw)


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ("[]", f"printed JSON with neither windows nor used_percent; {SHAPES}"),
        ("{}", f"printed JSON with neither windows nor used_percent; {SHAPES}"),
        ('{"windows": 7}', f"printed a 'windows' that is not a list; {SHAPES}"),
        ('{"windows": [7]}', f"printed a window 0 that is not an object; {SHAPES}"),
        ("{", "did not print valid JSON (Expecting property name enclosed in double quotes at line 1, column 2)"),
        (
            "{\n\n oops",
            "did not print valid JSON (Expecting property name enclosed in double quotes at line 3, column 2)",
        ),
        ('{"windows": NaN}', "did not print valid JSON (NaN is not a JSON number)"),
    ],
    ids=["list", "empty", "windows", "window", "no JSON", "no JSON in line 3", "no number of JSON"],
)
def test_other_shape_is_named_and_quoted(raw, fault):
    shown = " ".join(raw.split())

    assert f"the quota script 'my-usage' {fault}; it printed: {shown}" == refusal(raw)


def test_byte_that_is_no_utf_8_is_named_by_its_place():
    assert refusal(b"ab\xff").startswith("the quota script 'my-usage' did not print valid JSON (byte 2 is not UTF-8)")


def test_json_beyond_all_depth_is_named():
    assert "did not print valid JSON (nested too deeply); it printed: [[[" in refusal("[" * 100_000)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"used_percent": "absent"}, "gave no used_percent for window 1"),
        (
            {"used_percent": 101},
            "gave used_percent 101 for window 1, which is outside 0..100; it must print percent",
        ),
        ({"used_percent": "12"}, 'gave used_percent "12" for window 1, which is not a finite number'),
        ({"used_percent": True}, "gave used_percent true for window 1, which is not a finite number"),
        (
            {"resets_at": "absent"},
            "gave no resets_at for window 1; each window needs one as RFC 3339, like 2026-04-23T19:00:00Z",
        ),
        ({"resets_at": "soon"}, 'gave resets_at "soon" for window 1, which is not an RFC 3339 time'),
        ({"resets_at": 12}, "gave resets_at 12 for window 1, which is not an RFC 3339 time"),
        (
            {"resets_at": "2026-13-01T00:00:00Z"},
            'gave resets_at "2026-13-01T00:00:00Z" for window 1: month must be in 1..12',
        ),
        ({"label": 7}, "gave label 7 for window 1, which is not text"),
        ({"unit": ["ü"]}, 'gave unit ["ü"] for window 1, which is not text'),
        ({"limit": "many"}, 'gave limit "many" for window 1, which is not a finite number'),
        ({"remaining": []}, "gave remaining [] for window 1, which is not a finite number"),
        ({"window_seconds": 0}, "gave window_seconds 0 for window 1, which is not a length"),
        ({"window_seconds": 0.5}, "gave window_seconds 0.5 for window 1, which is not a length"),
        ({"window_seconds": "x"}, 'gave window_seconds "x" for window 1, which is not a finite number'),
    ],
)
def test_wrong_value_is_named_with_its_window(changed, fault):
    assert refusal(second(**changed)).startswith(f"the quota script 'my-usage' {fault}; it printed: ")


def test_foreign_value_is_quoted_up_to_80_characters():
    assert f"gave unit [{'1' * 78}] for" in refusal(second(unit=[int("1" * 78)]))
    assert f"gave unit [{'1' * 79}… (81 in all) for" in refusal(second(unit=[int("1" * 79)]))


def windows(count):
    return json.dumps({"windows": [{"used_percent": 1, "resets_at": RESET}] * count})


def test_64_windows_are_read_and_no_more():
    assert 64 == MAX_WINDOWS == len(parse_reading(windows(64), "x"))
    assert "printed 65 windows, more than the 64 that are read; it printed: " in refusal(windows(65))


def test_window_holds_all_that_the_script_said():
    raw = json.dumps(
        {
            "windows": [
                {
                    "used_percent": 25,
                    "resets_at": RESET,
                    "label": "weekly",
                    "limit": 400,
                    "remaining": 300.5,
                    "unit": "tokens",
                    "window_seconds": 604_800.9,
                }
            ]
        }
    )
    reset = datetime(2026, 4, 23, 19, tzinfo=UTC)

    assert (ParsedWindow(0, 0.25, reset, "weekly", 400, 300.5, "tokens", 604_800),) == parse_reading(raw, "x")


def test_window_of_which_nothing_more_was_said_holds_nothing_more():
    (found,) = parse_reading(json.dumps({"used_percent": 0, "resets_at": RESET}), "x")

    assert (0, 0.0, None, None, None, None, None) == (
        found.position,
        found.used,
        found.label,
        found.limit,
        found.remaining,
        found.unit,
        found.window_s,
    )


@pytest.mark.parametrize(("percent", "used"), [(0, 0.0), (100, 1.0), (12.5, 0.125)])
def test_percent_becomes_a_fraction_up_to_both_ends(percent, used):
    assert used == parse_reading(json.dumps({"used_percent": percent, "resets_at": RESET}), "x")[0].used


def test_label_of_its_own_comes_before_the_length():
    raw = json.dumps({"used_percent": 0, "resets_at": RESET, "label": "opus", "window_seconds": 604_800})

    assert "opus" == parse_reading(raw, "x")[0].label


def test_shortest_length_is_a_second():
    assert 1 == parse_reading(json.dumps({"used_percent": 0, "resets_at": RESET, "window_seconds": 1}), "x")[0].window_s


def test_label_is_cut_to_60_characters():
    raw = json.dumps({"used_percent": 0, "resets_at": RESET, "label": "x" * 61})

    assert "x" * 60 == parse_reading(raw, "x")[0].label


def test_repeated_labels_count_on_from_those_that_are_taken():
    labels = ["a", "a", "b", "a (2)", "a", None, "b", None]
    entries = [{"used_percent": 0, "resets_at": RESET, "label": label} for label in labels]

    assert ["a", "a (2)", "b", "a (2) (2)", "a (3)", None, "b (2)", None] == [
        window.label for window in parse_reading(json.dumps({"windows": entries}), "x")
    ]


@pytest.mark.parametrize(
    ("raw", "limit", "shown"),
    [
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "abcde… (6 in all)"),
        ("a \t\n b\x00c", 9, "a b c"),
        (b"a\xffb", 9, "a\ufffdb"),
    ],
    ids=["fits", "is cut", "one line", "bytes"],
)
def test_excerpt_is_one_line_of_at_most_so_many_characters(raw, limit, shown):
    assert shown == excerpt(raw, limit)


def test_excerpt_has_300_characters_where_nothing_is_said():
    assert ["x" * 300, "x" * 300 + "… (301 in all)"] == [excerpt("x" * length) for length in (300, 301)]


def test_output_that_is_not_searched_whole_is_said_to_go_on():
    blank = " " * (1 << 16)

    assert ["", "… (65537 in all)"] == [excerpt(blank), excerpt(f"{blank}x")]


@pytest.mark.parametrize(
    ("seconds", "label"),
    [
        (18_000 * 1.05, "5h-burst"),
        (18_000 * 1.0501, "5h"),
        (18_000 * 0.95, "5h-burst"),
        (18_000 * 0.9499, "5h"),
        (86_400 * 0.95, "daily"),
        (604_800 * 1.05, "weekly"),
        (2_592_000 * 0.95, "monthly"),
        (2_592_000 * 1.06, "32d"),
        (2 * 86_400, "2d"),
        (1.5 * 86_400 + 1, "2d"),
        (86_400 * 1.06, "1d"),
        (3600, "1h"),
        (3599, "60m"),
        (89, "1m"),
        (91, "2m"),
        (0, "1m"),
    ],
)
def test_length_within_a_twentieth_of_a_vendor_s_has_its_name(seconds, label):
    assert label == duration_label(seconds)


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("HTTP 429", HttpFailure(429, None)),
        ("x: HTTP 429; Retry-After: 30", HttpFailure(429, 30)),
        ("HTTP 429 retry-after 9999999", HttpFailure(429, 9_999_999)),
        ("HTTP 429 retry-after 99999999", HttpFailure(429, None)),
        ("HTTP 42", None),
        ("HTTP 4290", None),
        ("retry-after 30", None),
    ],
)
def test_status_and_pause_of_a_refusal_are_whole_numbers(stderr, expected):
    assert expected == http_failure(stderr)
