"""Other tools' rules, as their sources have them, and what people do without any tool.

All get the same readings as ours, and all pass over an account that is known to be spent, also those that would try it.
Where a tool keeps a conversation on its account, the simulation does so for all. Sources, read in autumn 2026:
teamclaude src/account-manager.js, 1342e92; claude-swap src/claude_swap/autoswitch.py, 3c3f2b8; dario src/pool.ts,
807b38c; codex-lb app/core/balancer/logic.py, d4b00fd; CLIProxyAPI sdk/cliproxy/auth/selector.go, a7e3596.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from fortnight_sim.known import Known, View
from fortnight_sim.work import DAY

SWITCH_AT = 0.98
# claude-swap's threshold, hysteresis, cooldown, and how much sooner an account must be back where all are almost spent.
_SWAP_AT, _SWAP_MARGIN, _SWAP_PAUSE_S, _SWAP_SOONER_S = 0.90, 0.10, 300.0, 300.0


def round_robin(view: View) -> int | None:
    """Take the next account in turn."""
    return _next_after(view, view.open())


def cursor(view: View) -> int | None:
    """CLIProxyAPI: count the choices, and take the open account at that place."""
    place = view.memory["cursor"] = view.memory.get("cursor", -1) + 1
    accounts = view.open()
    return accounts[int(place) % len(accounts)].index if accounts else None


def fill_first(view: View) -> int | None:
    """Take the first account that is not spent (CLIProxyAPI, dario)."""
    return next((known.index for known in view.accounts if view.is_open(known)), None)


def sticky(view: View) -> int | None:
    """Stay on an account until it is spent, then take the next in turn."""
    accounts = view.open()
    if any(known.index == view.last for known in accounts):
        return view.last
    return _next_after(view, accounts)


def stay_until_98(view: View) -> int | None:
    """Stay on an account until a window of it is 98 % used, then take the next in turn."""
    accounts = view.open()
    fresh = [known for known in accounts if known.used(view.now_s) < SWITCH_AT]
    if any(known.index == view.last for known in fresh):
        return view.last
    return _next_after(view, fresh or accounts)


def at_random(view: View) -> int | None:
    """Take any account that is not spent."""
    accounts = view.open()
    return view.rng.choice(accounts).index if accounts else None


def least_used(view: View) -> int | None:
    """Take the account whose fullest window is the least used (dario)."""
    return _least(view.open(), lambda known: known.used(view.now_s))


def least_busy(view: View) -> int | None:
    """Take the account with the fewest prompts that run, then the fewest that ended (litellm's least busy)."""
    return _least(view.open(), lambda known: (known.running, known.calls))


def soonest_reset(view: View) -> int | None:
    """Take the account whose week ends first."""
    return _least(view.open(), lambda known: known.weekly_reset_s(view.now_s))


def teamclaude(view: View) -> int | None:
    """Stay until 98 %, then take whose week ends first; leave for such an account when its 5 h window has reset."""
    now_s, accounts = view.now_s, view.open()
    fresh = [known for known in accounts if known.used(now_s) < SWITCH_AT]
    current = next((known for known in fresh if known.index == view.memory.get("current")), None)
    before_s = view.memory.get("at", now_s)
    view.memory["at"] = now_s
    if current is not None:
        ends_s = current.weekly_reset_s(now_s)
        reset = [
            known
            for known in fresh
            if any(label == "5h-burst" and before_s < resets_s <= now_s for label, _, resets_s in known.windows)
            and now_s < known.weekly_reset_s(now_s) < ends_s
        ]
        chosen = min(reset, key=lambda known: known.weekly_reset_s(now_s), default=current)
    else:  # when all are almost spent it probes the one with the most left
        chosen = min(fresh, key=lambda known: known.weekly_reset_s(now_s), default=None) or min(
            accounts, key=lambda known: known.used(now_s), default=None
        )
    return _remember(view, chosen)


def claude_swap(view: View) -> int | None:
    """Stay until 90 %, then take whoever has the most left, by 10 points at least; not twice in five minutes."""
    return _swap(view, lambda known: known.used(view.now_s), is_eager=False)


def claude_swap_consume_first(view: View) -> int | None:
    """Be where the week ends first, of those below 90 %; not twice in five minutes."""
    return _swap(view, lambda known: _week_ends_s(known, view.now_s), is_eager=True)


def codex_lb_capacity(view: View) -> int | None:
    """Take an account by chance, in proportion to the weekly quota that it has left."""
    accounts = view.open()
    left = [known.plan.weekly * (1 - _used_of(known, "weekly", view.now_s)) for known in accounts]
    if sum(left) <= 0:
        return codex_lb_usage(view)
    return view.rng.choices(accounts, left)[0].index


def codex_lb_usage(view: View) -> int | None:
    """Take the least used week, then the least used 5 h, then whoever was chosen the longest ago."""
    now_s = view.now_s
    return _least(
        view.open(),
        lambda known: (_used_of(known, "weekly", now_s), _used_of(known, "5h-burst", now_s), known.began_s),
    )


def codex_lb_reset_drain(view: View) -> int | None:
    """Take whose week ends on the nearest day, then the least used 5 h, then the least used week."""
    now_s = view.now_s
    return _least(
        view.open(),
        lambda known: (
            (_week_ends_s(known, now_s) - now_s) // DAY,
            _used_of(known, "5h-burst", now_s),
            _used_of(known, "weekly", now_s),
        ),
    )


RIVALS: Mapping[str, Callable[[View], int | None]] = {
    "round-robin": round_robin,
    "CLIProxyAPI round-robin": cursor,
    "fill-first": fill_first,
    "sticky": sticky,
    "stay-until-98": stay_until_98,
    "random": at_random,
    "least-used-percent (dario)": least_used,
    "least-busy": least_busy,
    "soonest-reset": soonest_reset,
    "teamclaude": teamclaude,
    "claude-swap": claude_swap,
    "claude-swap consume-first": claude_swap_consume_first,
    "codex-lb capacity-weighted": codex_lb_capacity,
    "codex-lb usage-weighted": codex_lb_usage,
    "codex-lb reset-drain": codex_lb_reset_drain,
}


def _swap(view: View, rank: Callable[[Known], float], *, is_eager: bool) -> int | None:
    now_s, accounts = view.now_s, view.open()
    current = next((known for known in accounts if known.index == view.memory.get("current")), None)
    others = [known for known in accounts if known is not current]
    if current is None:  # it is at its limit: anybody with something left
        return _remember(view, min(others, key=rank, default=None))
    if now_s - view.memory.get("switched", -1e9) < _SWAP_PAUSE_S:
        return current.index
    used = current.used(now_s)
    below = [known for known in others if known.used(now_s) < _SWAP_AT]
    if used >= _SWAP_AT and not below:
        soon_s = _back_s(current, now_s) - _SWAP_SOONER_S
        sooner = [known for known in others if _back_s(known, now_s) < soon_s]
        return _remember(view, min(sooner, key=lambda known: _back_s(known, now_s), default=current))
    if used >= _SWAP_AT:
        better = below if is_eager else [known for known in below if known.used(now_s) <= used - _SWAP_MARGIN]
    else:
        better = [known for known in below if is_eager and rank(known) < rank(current)]
    return _remember(view, min(better, key=rank, default=current))


def _week_ends_s(known: Known, now_s: float) -> float:
    """Return when an account's week ends; infinity where that is not known."""
    seen = known.window("weekly", now_s)
    return math.inf if seen is None else seen[2]


def _back_s(known: Known, now_s: float) -> float:
    """Return when an account's fullest window resets."""
    live = [(used, resets_s) for _, used, resets_s in known.windows if resets_s > now_s]
    return max(live)[1] if live else math.inf


def _remember(view: View, chosen: Known | None) -> int | None:
    if chosen is None:
        return None
    if chosen.index != view.memory.get("current"):
        view.memory["current"], view.memory["switched"] = chosen.index, view.now_s
    return chosen.index


def _used_of(known: Known, label: str, now_s: float) -> float:
    seen = known.window(label, now_s)
    return 0.0 if seen is None else seen[1]


def _least(accounts: Sequence[Known], key: Callable[[Known], object]) -> int | None:
    return min(accounts, key=key).index if accounts else None  # type: ignore[arg-type, type-var]


def _next_after(view: View, accounts: Sequence[Known]) -> int | None:
    last = -1 if view.last is None else view.last
    return min((known.index for known in accounts), key=lambda index: (index <= last, index), default=None)
