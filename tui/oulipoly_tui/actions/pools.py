"""Actions on pools and their accounts, on an account's quota and its history."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

ACTIONS = (
    offer("pools.why", find("why"), keys="w", weight=8),
    offer("pools.what_if", find("why if"), keys="W", weight=5),
    offer("pools.one_shot", find("prompt"), keys="p", weight=7, run="pools:send_prompt"),
    offer("pools.one_shot_on", find("prompt account"), line="account prompt", run="pools:send_prompt_to_account"),
    offer("pools.repl", find("repl"), keys="r", method="start_repl", weight=7, run="terminals:start_repl"),
    offer(
        "pools.pin",
        find("pool pin"),
        keys="i",
        weight=5,
        line="pin",
        run="pools:pin",
        note="again lets the balancer choose",
    ),
    offer("pools.unpin", find("pool unpin"), line="unpin", run="pools:unpin"),
    offer("pools.drain", find("account drain"), keys="d", weight=5, run="pools:drain", note="again gives it work"),
    offer("pools.undrain", find("account undrain"), run="pools:undrain"),
    offer("pools.reserve", find("account reserve"), keys="e", weight=4, run="pools:set_reserve"),
    offer("pools.disable", find("account disable"), keys="x", weight=3, run="pools:disable", note="again takes it in"),
    offer("pools.enable", find("account enable"), run="pools:enable"),
    offer("pools.clear", find("account clear"), keys="c", weight=3, run="pools:clear"),
    offer("pools.refresh", find("quota refresh"), keys="u", weight=6),
    offer("pools.stop", find("run stop"), keys="s", method="stop_one_shot", weight=8),
    offer("pools.set_up", find("setup"), keys="a", weight=2, run="pools:set_up"),
    offer(
        "pools.set_up_agent",
        find("setup run"),
        keys="S",
        weight=2,
        line="setup agent",
        run="setup:set_up_with_agent",
    ),
    offer("pools.sync", find("setup sync"), run="setup:open_sync"),
    offer("pools.add_account", find("account add"), keys="A", weight=2, run="setup:add_account"),
    offer("pools.rename", find("account rename"), keys="n", weight=1, run="setup:rename_account"),
    offer("pools.remove", find("account remove"), keys="X", weight=1, run="setup:remove_account"),
    offer("pools.test", find("account test"), keys="t", weight=1, run="setup:test_account"),
    offer("pools.log_in", find("account login"), keys="L", weight=1, run="setup:log_in"),
    offer("pools.undo_set_up", find("account undo"), line="setup undo", run="setup:undo"),
    offer("pools.demo", find("demo"), keys="m", weight=8, run="pools:go_to_demo", needs_engine=False),
    offer(
        "pools.copy",
        own(
            "copy", "copy the account's name, or the configuration's folder where there is none", ("clipboard", "yank")
        ),
        keys="y",
        weight=2,
    ),
    offer(
        "pools.log",
        own("log", "show or hide what the prompts from here have answered", ("output", "results")),
        keys="l",
        weight=4,
    ),
    offer("quota.refresh", find("quota refresh"), keys="u", weight=8),
    offer(
        "quota.longer",
        own("zoom out", "show more, up to a month", ("longer", "longer range", "month")),
        keys="right_square_bracket",
        weight=6,
    ),
    offer(
        "quota.shorter",
        own("zoom in", "show less, down to an hour", ("shorter", "shorter range", "hour")),
        keys="left_square_bracket",
        weight=6,
    ),
    offer("quota.burners", find("report"), keys="b", weight=7),
    offer(
        "quota.pools",
        own("pools", "show the pools that this account serves", ("models",), (ACCOUNT,)),
        keys="w",
        weight=3,
    ),
)
