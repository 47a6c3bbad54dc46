"""Every key of the Pools and the Quota pane in the real app: what the user sees and what is stored."""

from functools import partial

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_tui.view.transcript.spans import plain

keys = pytest.mark.keys


def log(one):
    return "\n".join(map(plain, one.app.frame.query_one("#pools-log").lines))


def chart_title(one):
    return str(one.app.frame.query_one("#quota-chart").border_title).strip()


@keys("pools.why", "w")
@keys("pools.what_if", "W")
@keys("pools.pin", "i")
@keys("pools.drain", "d")
@keys("pools.disable", "x")
@keys("pools.reserve", "e")
@keys("pools.clear", "c")
@keys("pools.copy", "y")
@keys("pools.refresh", "u")
@keys("pools.one_shot", "p")
@keys("pools.log", "l")
@keys("pools.stop", "s")
@keys("pools.rename", "n")
@keys("pools.remove", "X")
async def test_accounts_are_explained_chosen_kept_back_read_asked_stopped_renamed_and_removed(app_world, hand):
    app_world.account("slow", script="echo begun; exec sleep 60")
    app_world.model("sleepy", "slow")
    async with hand(size=(160, 30)) as one:
        await one.walk(
            explain,
            pin,
            drain_and_disable,
            keep_a_reserve,
            clear_the_mark,
            copy,
            refresh,
            send_a_prompt,
            stop_a_prompt,
            partial(rename_and_remove, providers=app_world.config / "providers.toml"),
        )


async def explain(one):
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
    await one.back()


async def pin(one):
    await one.choose("pools", "ada")
    await one.press("i")
    await one.until(lambda: one.app.snapshot.pool("opus").pin == "ada")
    await one.told("ada is pinned for this app's picks of opus")
    await one.until(lambda: any("▶ ada" in row for row in one.rows("pools")))
    await one.press("i")
    await one.until(lambda: one.app.snapshot.pool("opus").pin is None)


async def drain_and_disable(one):
    await one.choose("pools", "bob")
    for key, word in (("d", "drained"), ("x", "disabled")):
        await one.press(key)
        await one.until(lambda word=word: getattr(one.account("bob").wishes, word))
        await one.until(lambda word=word: any("bob" in row and word in row for row in one.rows("pools")))
        await one.press(key)
        await one.until(lambda word=word: not getattr(one.account("bob").wishes, word))


async def keep_a_reserve(one):
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


async def clear_the_mark(one):
    store = open_store(one.app.engine.paths.state_db)
    quotas.mark_exhausted(store, "bob", SystemClock().now())
    store.close()
    await one.until(lambda: one.account("bob").quota.exhausted_at is not None)
    await one.choose("pools", "bob")
    await one.press("c")
    await one.told("bob is no longer marked")
    await one.until(lambda: one.account("bob").quota.exhausted_at is None)


async def copy(one):
    await one.choose("pools", "bob")
    await one.press("y")
    await one.told("Copied bob")

    assert "bob" == one.app.clipboard


async def refresh(one):
    await one.choose("pools", "bob")
    assert not one.account("bob").quota.windows
    await one.press("u")
    await one.told("Read 1 account")
    await one.until(lambda: any("bob" in row and "35 %" in row for row in one.rows("pools")))
    assert not one.account("ada").quota.windows


async def send_a_prompt(one):
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


async def stop_a_prompt(one):
    one.app.order("prompt", ("sleepy", "hello"))
    await one.until(lambda: one.app.snapshot.running)
    await one.press("s")
    await one.at("Confirm")
    await one.sees("sleepy: hello")
    await one.press("n")
    await one.at("Frame")
    assert one.app.snapshot.running
    await one.press("s")
    await one.at("Confirm")
    await one.press("y")
    await one.told("Stopping")
    await one.until(lambda: "✗ ended with exit code 130" in log(one))
    await one.until(lambda: not one.app.snapshot.running)


async def rename_and_remove(one, providers):
    await one.choose("pools", "cyd")
    await one.press("n")
    await one.at("Question")
    await one.type("cyd2")
    await one.press("enter")
    await one.at("Review")
    assert "[cyd2]" not in providers.read_text()
    await one.press("y")
    await one.told("Renamed the account cyd to cyd2. Undo: `:setup undo`")
    await one.until(lambda: any("cyd2" in row for row in one.rows("pools")))
    assert "[cyd2]" in providers.read_text()
    await one.choose("pools", "cyd2")
    await one.press("X")
    await one.at("Review")
    await one.sees("What its CLI keeps stays where it is.")
    await one.press("y")
    await one.told("Removed the account cyd2")
    assert "cyd" not in providers.read_text()


@keys("pools.repl", "r")
@keys("pools.add_account", "A")
@keys("pools.test", "t")
@keys("pools.log_in", "L")
async def test_a_model_is_talked_to_and_accounts_are_tested_logged_in_and_added_in_terminals(repl_world, hand):
    async with hand(size=(160, 30), reads_quota=True) as one:
        await one.walk(try_and_log_in, talk, add_an_account)


async def try_and_log_in(one):
    for key, words in (("t", "agents account test"), ("L", "agents account login")):
        await one.choose("pools", "bob")
        await one.press(key)
        await one.sees(words)
        await one.until(lambda: one.pane == "pools")


async def talk(one):
    await one.choose("pools", "bob")
    await one.press("r")
    await one.until(lambda: one.pane == "repl")
    await one.sees("hello from bob")


async def add_an_account(one):
    await one.turn_to("pools")
    await one.choose("pools", "bob")
    await one.press("A")
    await one.until(lambda: one.pane == "repl")
    await one.sees("Which CLI (claude, codex")
    await one.sees("agents account add")


@keys("pools.set_up", "a")
@keys("pools.demo", "m")
@keys("pools.copy", "y")
async def test_an_empty_world_offers_set_up_demo_and_the_folder_s_name(empty_world, no_cli, hand):
    async with hand(size=(160, 30)) as one:
        await one.press("y")
        await one.until(lambda: one.app.clipboard == str(empty_world.config))
        await one.press("a")
        await one.at("Reading")
        await one.sees("no login that is not an account yet")
        await one.back()
        await one.press("m")
        await one.until(lambda: one.app.return_value == "demo")


@keys("quota.refresh", "u")
@keys("quota.longer", "right_square_bracket")
@keys("quota.shorter", "left_square_bracket")
@keys("quota.burners", "b")
@keys("quota.pools", "w")
async def test_quota_is_read_its_chart_changes_its_span_and_who_burned_it_is_listed(app_world, hand):
    async with hand("quota", size=(160, 30)) as one:
        await one.walk(read_and_change_the_span, list_who_burned_it)


async def read_and_change_the_span(one):
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


async def list_who_burned_it(one):
    await one.choose("quota", "94 %")
    await one.press("b")
    await one.sees("no API call is known in this range")
    await one.press("w")
    await one.until(lambda: one.pane == "pools")
