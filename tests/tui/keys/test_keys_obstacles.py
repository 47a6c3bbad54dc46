"""A key that cannot work now says why, in a sentence, and the footer does not show it."""

from functools import partial

from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.widgets.terminal_view import TerminalView


def footer(one):
    """Return what the footer offers."""
    return {hint.id for hint in one.app.frame.query_one("#footer").hints}


async def refused(one, cases):
    """Press keys that cannot work now; each must say its sentence and stand in no footer."""
    for identity, sentence in cases:
        row = next(row for row in TABLE if row.id == identity)
        await one.until(lambda identity=identity: identity not in footer(one))
        one.said.clear()
        one.app.toasts.forget()  # what was said a moment ago may be said again
        await one.press(row.keys.split(",")[0])
        assert [sentence] == one.said, identity
        assert "Frame" == type(one.app.screen).__name__


async def test_each_pane_says_why_a_key_does_nothing(app_world, hand):
    async with hand(size=(250, 44)) as one:
        await one.walk(
            follow_the_cursor,
            partial(refuse_in_pools, world=app_world),
            refuse_for_disabled_accounts,
            refuse_in_quota,
            refuse_without_a_session,
            refuse_without_a_transcript,
            refuse_without_a_terminal,
            refuse_in_a_low_window,
        )


async def follow_the_cursor(one):
    """Have the footer offer a reading where one is possible."""
    await one.press("g", "G")
    for name, can_be_read in (("cyd", False), ("bob", True), ("cyd", False)):
        await one.choose("pools", name)
        await one.until(lambda can_be_read=can_be_read: ("pools.refresh" in footer(one)) == can_be_read)


async def refuse_in_pools(one, world):
    missing = "ghost is not in providers.toml"
    await refused(
        one,
        [
            ("pools.demo", "there are accounts: no need for the demo"),
            ("pools.log", "no prompt has been sent from here yet: p sends one"),
            ("pools.stop", "no prompt is being answered"),
        ],
    )
    await one.choose("pools", "cyd")
    await refused(
        one,
        [
            ("pools.refresh", "cyd has no quota script"),
            ("pools.clear", "cyd is neither exhausted nor paused: nothing to clear"),
        ],
    )
    world.model("ghostly", "ghost")
    await one.choose("pools", "ghost")
    names = ("drain", "disable", "reserve", "clear", "refresh")
    await refused(one, [(f"pools.{name}", missing) for name in names])


async def refuse_for_disabled_accounts(one):
    """Have a disabled account not read, and a pool without any other serve nobody."""
    for name in ("bob", "cyd"):
        one.app.order("account disable", (name,))
        await one.until(lambda name=name: one.account(name).wishes.disabled)
    await one.until(lambda: one.app.snapshot.pool("mix").next_account is None)
    one.app.frame.query_one("#pools-list").go_to("mix\n0")
    why = one.app.snapshot.pool("mix").decision.error
    await refused(
        one,
        [
            ("pools.refresh", "bob is disabled, so it is not read"),
            *((f"pools.{name}", why or "nobody can serve this model now") for name in ("one_shot", "repl")),
        ],
    )


async def refuse_in_quota(one):
    await one.turn_to("quota")
    await one.press("right_square_bracket", "right_square_bracket")
    await refused(one, [("quota.longer", "a month is the longest range")])
    await one.press(*["left_square_bracket"] * 4)
    await refused(one, [("quota.shorter", "an hour is the shortest range")])


NEEDS_SESSION = (
    *("resume", "elsewhere", "fork", "move", "mark", "range", "pin", "rename", "note", "archive", "restore", "export"),
    *("import", "bundle", "copy"),
)


async def refuse_without_a_session(one):
    await one.turn_to("sessions")
    cases = [(f"sessions.{name}", "choose a session first") for name in NEEDS_SESSION]
    await refused(one, [*cases, ("sessions.undo", "there is nothing to undo")])


async def refuse_without_a_transcript(one):
    await one.turn_to("transcript")
    rows = [row.id for row in TABLE if row.where == "transcript"]
    one.app.frame.find("transcript").query_one("#transcript-view").focus()
    await refused(one, [(row, "choose a session first") for row in rows])


async def refuse_without_a_terminal(one):
    await one.turn_to("repl")
    names = ("enter", "next", "previous", "new", "copy", "find", "hand_over", "close", "kill")
    say = "no terminal is open: choose a model under Pools and press r"
    await refused(one, [(f"repl.{name}", say) for name in names])


async def refuse_in_a_low_window(one):
    """Have no room for who burned it where the window is low."""
    await one.turn_to("quota")
    await one.press("z")
    await one.pilot.resize_terminal(90, 9)
    await one.until(lambda: one.app.frame.find("quota").has_class("-flat"))
    await one.choose("quota", "bob")
    await refused(one, [("quota.burners", "the window is too low to list what used it")])


async def test_an_empty_world_has_no_account_to_choose(empty_world, hand):
    async with hand("quota") as one:
        await one.walk(refuse_without_quota, refuse_without_a_model)


async def refuse_without_a_model(one):
    await one.turn_to("pools")
    of_model, of_account = ("why", "what_if", "one_shot", "repl", "pin"), ("drain", "disable", "reserve", "clear")
    await refused(one, [(f"pools.{name}", "choose a model first") for name in of_model])
    await refused(one, [(f"pools.{name}", "choose an account first") for name in (*of_account, "refresh")])
    await refused(one, [("frame.refresh", "no account is configured")])


async def refuse_without_quota(one):
    await one.turn_to("quota")
    cases = [(f"quota.{name}", "choose an account first") for name in ("refresh", "burners", "pools")]
    cases += [(f"quota.{name}", "no account is known yet") for name in ("longer", "shorter")]
    await refused(one, cases)


async def test_one_pane_alone_has_neither_others_nor_a_zoom_and_all_is_well(empty_world, hand):
    empty_world.account("bob", ("5h", 35, 3))
    empty_world.model("opus", "bob")
    async with hand(panes=["pools"]) as one:
        await refused(
            one,
            [
                ("frame.zoom", "there is one pane alone"),
                ("frame.pane2", "there is no pane 2"),
                ("pools.repl", "this version has no terminals yet"),
                ("frame.problems", "nothing is wrong"),
                ("frame.attention", "there is no alert"),
            ],
        )


async def test_a_session_says_what_it_cannot_do_and_its_transcript_what_there_is_not(transcript, talks):
    talks.world.write("config.toml", "archive = false\n")
    async with transcript(words="Mend the roo", panes=["sessions", "transcript", "repl"]) as one:
        await one.walk(
            refuse_in_a_transcript, refuse_in_the_trace, partial(refuse_without_the_file, path=talks.roof.path)
        )


async def refuse_in_a_transcript(one):
    await refused(
        one,
        [
            ("transcript.copy_code", "there is no code block in this turn"),
            ("transcript.find_next", "nothing is searched for: / finds"),
            ("transcript.find_before", "nothing is searched for: / finds"),
        ],
    )
    await refused(one, [("frame.pane1", "there is no pane 1")])


async def refuse_in_the_trace(one):
    await one.turn_to("sessions")
    own = "the trace has its own order: t goes back to the list"
    names = ("sort", "group", "views", "sort_used", "sort_created", "sort_turns", "sort_name", "sort_account")
    await one.press("t")
    await one.sees("trace of 0 runs")
    await refused(one, [(f"sessions.{name}", own) for name in (*names, "sort_model")])
    await one.press("t")
    await one.misses("trace of 0 runs")


async def refuse_without_the_file(one, path):
    await one.choose("sessions", "Mend the roo")
    await refused(one, [("sessions.restore", "its transcript is there")])
    path.unlink()
    await one.press("S")
    await one.until(lambda: one.app.frame.find("sessions").cursor.listed.has_transcript is False)
    await one.press("k", "j")
    gone = "its transcript is gone"
    await refused(
        one,
        [
            *((f"sessions.{name}", gone) for name in ("resume", "elsewhere", "fork", "move")),
            ("sessions.restore", "the archive has no copy of it"),
        ],
    )


async def test_one_terminal_of_no_model_is_ended_when_asked_and_then_can_only_be_closed(repl_world, hosts, hand):
    hosts.start("sh", "-c", "read x; exit 3")
    async with hand("repl") as one:
        pane = one.app.frame.find("repl")
        await one.until(lambda: pane._current is not None)
        await one.press("D")
        await one.at("Confirm")
        await one.back()
        assert 1 == len(hosts.living())
        await one.press("enter")
        await one.until(lambda: isinstance(one.app.focused, TerminalView))
        await one.press("enter")
        await one.until(lambda: pane._current.tab.is_ended)
        await one.until(lambda: one.app.focused.id == "repl-tabs")
        await refused(
            one,
            [
                ("repl.enter", "its program has ended: close it with x, or begin anew with r"),
                ("repl.kill", "its program has ended: close it with x"),
                ("repl.new", "this terminal belongs to no model"),
                ("repl.next", "there is one terminal alone"),
                ("repl.previous", "there is one terminal alone"),
            ],
        )
