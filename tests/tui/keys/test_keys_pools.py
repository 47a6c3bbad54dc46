"""Every key of the Pools and the Quota pane in the real app: what the user sees and what is stored."""

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_tui.view.transcript.spans import plain

keys = pytest.mark.keys


def log(one):
    return "\n".join(map(plain, one.app.frame.query_one("#pools-log").lines))


@keys("pools.why", "w")
@keys("pools.what_if", "W")
async def test_why_and_what_if_open_over_the_account_of_the_cursor(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        pool = one.app.frame.current._find_member()[0]
        await one.press("w")
        await one.at("Reading")
        assert f"Why {pool.next_account}" == one.title
        await one.sees("; rule ")
        await one.back()
        await one.press("W")
        await one.at("WhatIf")
        assert f"What if … {pool.model.name}" == one.title
        await one.sees("pin bob", "Apply")


@keys("pools.pin", "i")
async def test_i_marks_the_pinned_account_as_next_and_takes_the_pin_away(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "ada")
        await one.press("i")
        await one.until(lambda: one.app.snapshot.pool("opus").pin == "ada")
        await one.told("ada is pinned for this app's picks of opus")
        await one.until(lambda: any("▶ ada" in row for row in one.rows("pools")))
        await one.press("i")
        await one.until(lambda: one.app.snapshot.pool("opus").pin is None)


@keys("pools.drain", "d")
@keys("pools.disable", "x")
async def test_drain_and_disable_are_stored_shown_and_taken_back(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        for key, word in (("d", "drained"), ("x", "disabled")):
            await one.press(key)
            await one.until(lambda word=word: getattr(one.account("bob").wishes, word))
            await one.until(lambda word=word: any("bob" in row and word in row for row in one.rows("pools")))
            await one.press(key)
            await one.until(lambda word=word: not getattr(one.account("bob").wishes, word))


@keys("pools.reserve", "e")
async def test_e_keeps_the_percent_that_is_typed(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        await one.press("e")
        await one.at("Question")
        assert "Reserve of bob" == one.title
        await one.press("backspace")
        await one.type("much")
        await one.press("enter")
        assert "Reserve of bob" == one.title
        await one.press(*["backspace"] * 4)
        await one.type("30")
        await one.press("enter")
        await one.until(lambda: one.account("bob").wishes.reserve == 0.3)
        await one.told("bob keeps 30 % of every window")
        one.app.order("account reserve", ("bob", "0"))
        await one.told("bob keeps no reserve")


@keys("pools.clear", "c")
async def test_c_takes_the_mark_of_an_exhausted_account_away(app_world, hand):
    async with hand() as one:
        store = open_store(one.app.engine.paths.state_db)
        quotas.mark_exhausted(store, "bob", SystemClock().now())
        store.close()
        await one.until(lambda: one.account("bob").quota.exhausted_at is not None)
        await one.choose("pools", "bob")
        await one.press("c")
        await one.told("bob is no longer marked")
        await one.until(lambda: one.account("bob").quota.exhausted_at is None)


@keys("pools.refresh", "u")
async def test_u_reads_the_account_and_its_row_shows_the_windows(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        assert not one.account("bob").quota.windows
        await one.press("u")
        await one.told("Read 1 account")
        await one.until(lambda: any("bob" in row and "35 %" in row for row in one.rows("pools")))
        assert not one.account("ada").quota.windows


@keys("pools.one_shot", "p")
@keys("pools.log", "l")
async def test_p_sends_a_prompt_and_l_hides_and_shows_its_output(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        await one.press("p")
        await one.at("Prompt")
        await one.press("f2")
        await one.told("Type something first")
        assert "Prompt" == type(one.app.screen).__name__
        await one.type("what is new")
        await one.press("f2")
        await one.until(lambda: "✓ done" in log(one))
        assert 2 == log(one).count("what is new")  # asked, and echoed by the CLI
        await one.sees("✓ done")
        await one.press("l")
        await one.misses("✓ done")
        await one.press("l")
        await one.sees("✓ done")


@keys("pools.stop", "s")
async def test_s_asks_and_stops_the_run_of_a_prompt(empty_world, hand):
    empty_world.account("slow", ("5h", 1, 4), script="echo begun; exec sleep 60")
    empty_world.model("opus", "slow")
    async with hand() as one:
        one.app.order("prompt", ("opus", "hello"))
        await one.until(lambda: one.app.snapshot.running)
        await one.press("s")
        await one.at("Confirm")
        await one.sees("opus: hello")
        await one.press("n")
        await one.at("Frame")
        assert one.app.snapshot.running
        await one.press("s")
        await one.at("Confirm")
        await one.press("y")
        await one.told("Stopping")
        await one.until(lambda: "✗ ended with exit code 130" in log(one))
        await one.until(lambda: not one.app.snapshot.running)


@keys("pools.repl", "r")
async def test_r_talks_to_the_model_in_a_terminal(repl_world, hand):
    async with hand(reads_quota=True) as one:
        await one.choose("pools", "bob")
        await one.press("r")
        await one.until(lambda: one.pane == "repl")
        await one.sees("hello from bob")


@keys("pools.add_account", "A")
async def test_capital_a_adds_an_account_in_a_terminal(repl_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        await one.press("A")
        await one.until(lambda: one.pane == "repl")
        await one.sees("Which CLI (claude, codex")
        await one.sees("agents account add")


@keys("pools.rename", "n")
@keys("pools.remove", "X")
async def test_an_account_is_renamed_and_removed_after_its_change_was_shown(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "cyd")
        await one.press("n")
        await one.at("Question")
        await one.type("cyd2")
        await one.press("enter")
        await one.at("Review")
        assert "[cyd2]" not in (app_world.config / "providers.toml").read_text()
        await one.press("y")
        await one.told("Renamed the account cyd to cyd2. Undo: `:setup undo`")
        await one.until(lambda: any("cyd2" in row for row in one.rows("pools")))
        assert "[cyd2]" in (app_world.config / "providers.toml").read_text()
        await one.choose("pools", "cyd2")
        await one.press("X")
        await one.at("Review")
        await one.sees("What its CLI keeps stays where it is.")
        await one.press("y")
        await one.told("Removed the account cyd2")
        assert "cyd" not in (app_world.config / "providers.toml").read_text()


@keys("pools.test", "t")
@keys("pools.log_in", "L")
async def test_an_account_is_tested_and_logged_in_to_in_a_terminal(repl_world, hand):
    async with hand() as one:
        for key, words in (("t", "agents account test"), ("L", "agents account login")):
            await one.choose("pools", "bob")
            await one.press(key)
            await one.sees(words)
            await one.until(lambda: one.pane == "pools")


@keys("pools.copy", "y")
async def test_y_copies_the_account_s_name(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        await one.press("y")
        await one.told("Copied bob")

        assert "bob" == one.app.clipboard


@keys("pools.set_up", "a")
@keys("pools.demo", "m")
@keys("pools.copy", "y")
async def test_an_empty_world_offers_set_up_demo_and_the_folder_s_name(empty_world, no_cli, hand):
    async with hand() as one:
        await one.press("y")
        await one.until(lambda: one.app.clipboard == str(empty_world.config))
        await one.press("a")
        await one.at("Reading")
        await one.sees("no login that is not an account yet")
        await one.back()
        await one.press("m")
        await one.until(lambda: one.app.return_value == "demo")


def chart_title(one):
    return str(one.app.frame.query_one("#quota-chart").border_title).strip()


@keys("quota.refresh", "u")
@keys("quota.longer", "right_square_bracket")
@keys("quota.shorter", "left_square_bracket")
async def test_u_reads_the_account_and_the_brackets_change_the_span_of_its_chart(app_world, hand):
    async with hand("quota") as one:
        await one.choose("quota", "ada")
        await one.press("u")
        await one.told("Read 1 account")
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
