"""A key that cannot work now says why, in a sentence, and the footer does not show it."""

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


FRAME = [("frame.problems", "nothing is wrong"), ("frame.attention", "there is no alert")]


async def test_the_frame_says_what_there_is_not(empty_world, hand):
    empty_world.account("bob", ("5h", 35, 3))
    empty_world.model("opus", "bob")
    async with hand() as one:
        await refused(one, FRAME)


async def test_the_footer_follows_the_cursor(app_world, hand):
    async with hand(size=(250, 44)) as one:
        await one.press("g", "G")
        for name, can_be_read in (("cyd", False), ("bob", True), ("cyd", False)):
            await one.choose("pools", name)
            await one.until(lambda can_be_read=can_be_read: ("pools.refresh" in footer(one)) == can_be_read)


async def test_one_pane_alone_has_neither_others_nor_a_zoom(app_world, hand):
    async with hand(panes=["pools"]) as one:
        await refused(
            one,
            [
                ("frame.zoom", "there is one pane alone"),
                ("frame.pane2", "there is no pane 2"),
                ("pools.repl", "this version has no terminals yet"),
            ],
        )
    async with hand("sessions", panes=["sessions", "transcript"]) as one:
        await refused(one, [("frame.pane1", "there is no pane 1")])


async def test_pools_say_why_each_key_does_nothing(app_world, hand):
    app_world.model("ghostly", "ghost")
    missing = "ghost is not in providers.toml"
    async with hand() as one:
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
        await one.choose("pools", "ghost")
        names = ("drain", "disable", "reserve", "clear", "refresh")
        await refused(one, [(f"pools.{name}", missing) for name in names])


async def test_a_disabled_account_is_not_read_and_a_pool_without_any_serves_nobody(app_world, hand):
    async with hand() as one:
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


async def test_an_empty_world_has_no_account_to_choose(empty_world, hand):
    of_model, of_account = ("why", "what_if", "one_shot", "repl", "pin"), ("drain", "disable", "reserve", "clear")
    async with hand() as one:
        await refused(one, [(f"pools.{name}", "choose a model first") for name in of_model])
        await refused(one, [(f"pools.{name}", "choose an account first") for name in (*of_account, "refresh")])
        await refused(one, [("frame.refresh", "no account is configured")])


async def test_quota_says_where_its_ends_are(app_world, hand):
    async with hand("quota") as one:
        await one.press("right_square_bracket", "right_square_bracket")
        await refused(one, [("quota.longer", "a month is the longest range")])
        await one.press(*["left_square_bracket"] * 4)
        await refused(one, [("quota.shorter", "an hour is the shortest range")])


async def test_quota_without_accounts_and_without_room_says_so(empty_world, hand):
    async with hand("quota") as one:
        await one.turn_to("quota")
        cases = [(f"quota.{name}", "choose an account first") for name in ("refresh", "burners", "pools")]
        cases += [(f"quota.{name}", "no account is known yet") for name in ("longer", "shorter")]
        await refused(one, cases)


async def test_a_low_window_has_no_room_for_who_burned_it(app_world, hand):
    async with hand("quota", size=(90, 12)) as one:
        await one.press("z")
        await one.pilot.resize_terminal(90, 9)
        await one.until(lambda: one.app.frame.find("quota").has_class("-flat"))
        await one.choose("quota", "bob")
        await refused(one, [("quota.burners", "the window is too low to list what used it")])


NEEDS_SESSION = (
    *("resume", "elsewhere", "fork", "move", "mark", "range", "pin", "rename", "note", "archive", "restore", "export"),
    *("import", "bundle", "copy"),
)


async def test_sessions_without_a_conversation_say_so(app_world, hand):
    async with hand("sessions") as one:
        cases = [(f"sessions.{name}", "choose a session first") for name in NEEDS_SESSION]
        await refused(one, [*cases, ("sessions.undo", "there is nothing to undo")])


async def test_a_conversation_says_what_it_cannot_do(sessions, talks):
    talks.world.write("config.toml", "archive = false\n")
    async with sessions() as one:
        await refused(one, [("sessions.restore", "its transcript is there")])
        talks.roof.path.unlink()
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


async def test_the_trace_has_its_own_order(sessions):
    own = "the trace has its own order: t goes back to the list"
    names = ("sort", "group", "views", "sort_used", "sort_created", "sort_turns", "sort_name", "sort_account")
    async with sessions() as one:
        await one.press("t")
        await one.sees("trace of 0 runs")
        await refused(one, [(f"sessions.{name}", own) for name in (*names, "sort_model")])


async def test_a_transcript_that_is_not_open_says_how_one_is_opened(app_world, hand):
    async with hand("transcript") as one:
        rows = [row.id for row in TABLE if row.where == "transcript"]
        one.app.frame.find("transcript").query_one("#transcript-view").focus()
        await refused(one, [(row, "choose a session first") for row in rows])


async def test_a_transcript_says_what_there_is_not(transcript):
    async with transcript() as one:
        await refused(
            one,
            [
                ("transcript.copy_code", "there is no code block in this turn"),
                ("transcript.find_next", "nothing is searched for: / finds"),
                ("transcript.find_before", "nothing is searched for: / finds"),
            ],
        )


async def test_a_repl_without_terminals_says_how_one_is_opened(app_world, hand):
    names = ("enter", "next", "previous", "new", "copy", "find", "hand_over", "close", "kill")
    async with hand("repl") as one:
        say = "no terminal is open: choose a model under Pools and press r"
        await refused(one, [(f"repl.{name}", say) for name in names])


async def test_one_terminal_of_no_model_that_has_ended_can_only_be_closed(repl_world, hosts, hand):
    hosts.start("sh", "-c", "read x; exit 3")
    async with hand("repl") as one:
        pane = one.app.frame.find("repl")
        await one.until(lambda: pane._current is not None)
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
