"""Every key of the Quota pane in the real app."""

import pytest

keys = pytest.mark.keys


def chart_title(one):
    return str(one.app.frame.query_one("#quota-chart").border_title).strip()


@keys("quota.refresh", "u")
@keys("quota.longer", "right_square_bracket")
@keys("quota.shorter", "left_square_bracket")
async def test_u_reads_the_account_and_the_brackets_change_the_span_of_its_chart(app_world, hand):
    async with hand("quota") as one:
        await one.choose("quota", "ada")
        await one.press("u")
        await one.told("read 1 account")
        await one.until(lambda: any("94 %" in row for row in one.rows("quota")))
        await one.choose("quota", "94 %")
        await one.until(lambda: chart_title(one).startswith("ada 5h · 1 d"))
        await one.press("right_square_bracket")
        await one.until(lambda: chart_title(one).startswith("ada 5h · 7 d"))
        await one.press("left_square_bracket", "left_square_bracket")
        await one.until(lambda: chart_title(one).startswith("ada 5h · 5 h"))


@keys("quota.burners", "b")
@keys("quota.pools", "w")
async def test_b_lists_who_burned_it_and_w_goes_to_the_pools(app_world, hand):
    async with hand("quota") as one:
        await one.choose("quota", "ada")
        await one.press("b")
        await one.sees("no API call is known in this range")
        await one.press("w")
        await one.until(lambda: one.pane == "pools")
