from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.quota.usage_table import (
    IN_FLIGHT,
    NO_USAGE_API,
    AccountUsage,
    UsageRow,
    format_failure,
    not_committed,
    render_usage,
    usage_rows,
    vendor_of,
)
from oulipoly_engine.core.quota.windows import ParsedWindow

AT = datetime(2026, 4, 23, tzinfo=UTC)


def window(used, position=0, **given):
    return ParsedWindow(position, used, AT, **given)


def row_of(*windows, **given):
    return usage_rows([AccountUsage("a", "claude", windows, **given)])[0]


def test_table_is_padded_but_for_its_last_column():
    rows = usage_rows(
        [
            AccountUsage("claude", "claude", (window(0.37, label="weekly"), window(0.125, 1))),
            AccountUsage("zai", "opencode", state=NO_USAGE_API),
        ]
    )

    assert [
        "Account  Vendor    Window          Used / Limit  Remaining",
        "claude   claude    weekly          37% / 100%    63%",
        "claude   claude    window-1        12.5% / 100%  87.5%",
        "zai      opencode  (no usage api)  -             -",
    ] == render_usage(rows).splitlines()


def test_a_long_failure_leaves_its_own_account_in_the_columns():
    far = AccountUsage("a-far-longer-name", "codex", state=format_failure("the script ended with 3: " + "x" * 60))
    shown = render_usage(usage_rows([AccountUsage("a", "claude", (window(0.5, label="5h"),)), far])).splitlines()

    assert [
        "Account            Vendor  Window",
        "a                  claude  5h    ",
        "a-far-longer-name  codex   (error",
    ] == [line[:33] for line in shown]


@pytest.mark.parametrize(("length", "width"), [(39, 39), (40, 40), (41, 6)], ids=["shorter", "40", "longer"])
def test_window_s_column_is_as_wide_as_its_cells_up_to_40_characters(length, width):
    rows = [UsageRow("a", "v", "x" * length), UsageRow("a", "v", "5h", "1%", "99%")]

    assert f"a        v       {'5h':{width}}  1%            99%" == render_usage(rows).splitlines()[2]


def test_table_without_accounts_is_its_heading():
    assert "Account  Vendor  Window  Used / Limit  Remaining\n" == render_usage(())


@pytest.mark.parametrize(
    ("used", "shown", "left"),
    [
        (0.0, "0% / 100%", "100%"),
        (1.0, "100% / 100%", "0%"),
        (1.5, "100% / 100%", "0%"),
        (-1, "0% / 100%", "100%"),
        (0.29, "29% / 100%", "71%"),
        (0.3725, "37.2% / 100%", "62.8%"),
    ],
)
def test_percentages_are_clamped_and_add_up(used, shown, left):
    row = row_of(window(used))

    assert (shown, left) == (row.used, row.remaining)


def test_limit_is_shown_in_its_unit():
    row = row_of(window(0.25, label="daily", limit=1000, remaining=750, unit="tokens"))

    assert ("daily", "250 / 1000 tokens", "750 tokens") == (row.window, row.used, row.remaining)


def test_what_remains_of_a_limit_is_worked_out_where_the_script_does_not_say():
    row = row_of(window(0.25, limit=10.5))

    assert ("3 / 10.5", "7.5") == (row.used, row.remaining)


def test_account_without_windows_has_a_row_that_says_so():
    assert ("(no windows)", "-", "-") == row_of().cells()[2:]


@pytest.mark.parametrize("state", [NO_USAGE_API, IN_FLIGHT, format_failure("exit 42: provider\nexploded")])
def test_state_stands_instead_of_windows(state):
    assert (state, "-", "-") == row_of(window(0.5), state=state).cells()[2:]
    assert "\n" not in state


def test_warning_stands_before_the_windows():
    rows = usage_rows([AccountUsage("a", "x", (window(0.5, label="w"),), warning=not_committed("store is locked"))])

    assert ["(warning: store is locked, cache not committed)", "w"] == [row.window for row in rows]


@pytest.mark.parametrize(
    ("command", "vendor"),
    [
        ("claude", "claude"),
        ("node /opt/x.js", "node"),
        ("Custom Provider", "custom"),
        ("/opt/My-CLI", "opt_my_cli"),
        ("", "unknown"),
        ("  ", "unknown"),
        (None, "unknown"),
        ("--", "unknown"),
    ],
)
def test_vendor_is_the_commands_first_word(command, vendor):
    assert vendor == vendor_of(command)
