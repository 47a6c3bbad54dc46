"""Pools and quota as labelled lines, and what is done to accounts and models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.explain import exclusion_text, waste_text, why_not
from oulipoly_engine.core.balance.why_table import why_text
from oulipoly_engine.core.quota.forecast import forecast_text
from oulipoly_engine.core.text.quantities import HEADROOM_UNIT
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.events import OneShotEnded, OneShotSaid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.snapshot import Snapshot
from oulipoly_tui.view import words

if TYPE_CHECKING:
    from queue import SimpleQueue

    from oulipoly_engine.core.commands.command import Command
    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.snapshot import AccountView, PoolView
    from oulipoly_tui.linear.talk import Talk


def pool_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a pool and a line a member."""
    for pool in snapshot.pools:
        pin = f" Pinned: {pool.pin}." if pool.pin is not None else ""
        reason = words.local(pool.decision.reason, snapshot.at)
        yield f"Model {pool.model.name}. Next: {pool.next_account or 'nobody'}.{pin} Because: {reason}."
        yield from (f"  {_member(snapshot, pool, place)}" for place in range(len(pool.decision.verdicts)))
    if not snapshot.pools:
        yield "No model is configured. `agents account add` adds one, `agents demo` shows everything without."


def quota_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a window of each account."""
    for view in snapshot.accounts:
        wishes = f" {view.wishes.words}." if view.wishes.words else ""
        stale = " This is old." if view.is_stale and view.quota.refreshed_at is not None else ""
        failed = " The last try failed." if view.attempts.last_failure is not None else ""
        read = words.read(view.quota.refreshed_at, snapshot.at).capitalize()
        yield f"Account {view.name}. {read}.{stale}{failed}{wishes}"
        for one in view.forecasts:
            used, reset = words.percent(one.window.used), words.reset(one.window.resets_at, snapshot.at).capitalize()
            expected = words.local(forecast_text(one.forecast), snapshot.at)
            yield f"  Window {one.window.name}. Used {used}. {reset}. Forecast: {expected}."
        if not view.forecasts:
            yield "  Windows unknown."


def choose_account(talk: Talk, snapshot: Snapshot, _command: Command) -> AccountView | None:
    """Let an account be chosen."""
    name = talk.choose("Account", [view.name for view in snapshot.accounts])
    return None if name is None else snapshot.account(name)


def choose_model(talk: Talk, snapshot: Snapshot, _command: Command | None = None) -> PoolView | None:
    """Let a model be chosen, and return its pool."""
    name = talk.choose("Model", [view.model.name for view in snapshot.pools])
    return None if name is None else snapshot.pool(name)


def refresh(talk: Talk, _snapshot: Snapshot) -> None:
    """Read every quota that can be read."""
    talk.say("Reading quota.")
    for one in talk.engine.quota.refresh():
        talk.say(f"Account {one.account}. {one.kind.value}." + (f" {one.text}." if one.text else ""))


def why(talk: Talk, pool: PoolView) -> None:
    """Say how the account of a model was chosen."""
    talk.say(words.local(why_text(pool.decision), pool.decision.now).rstrip("\n"))


def what_if(talk: Talk, snapshot: Snapshot) -> None:
    """Say what would be chosen if something were otherwise, and make it so after a yes."""
    pool = choose_model(talk, snapshot)
    if pool is None:
        return
    model = pool.model.name
    answer = talk.ask_until(
        "Suppose, for example drain=NAME or turns=+20",
        lambda text: (text.split(), talk.engine.pools.what_if(model, text.split())),
        "Type one or more of pin=NAME, drain=NAME, undrain=NAME, reserve=NAME:PERCENT, turns=+20.",
    )
    if answer is None:
        return
    wishes, found = answer
    talk.say(f"Now: {pool.next_account or 'nobody'}. Then: {found.account or 'nobody'}. Because: {found.reason}.")
    if not talk.read_only and talk.confirm("Make it true?"):
        talk.say("; ".join(talk.engine.pools.apply(model, wishes)) + ".")


def clear(talk: Talk, view: AccountView) -> None:
    """Take the mark of an exhausted account away."""
    talk.engine.accounts.clear(view.name)
    talk.say(f"Account {view.name}. No longer marked as exhausted.")


def drain(talk: Talk, view: AccountView) -> None:
    """Give an account no new work, or work again."""
    after = talk.engine.accounts.drain(view.name, on=not view.wishes.drained)
    talk.say(f"Account {view.name}. {after.words or 'in use'}.")


def disable(talk: Talk, view: AccountView) -> None:
    """Leave an account out, or take it in again."""
    after = talk.engine.accounts.disable(view.name, on=not view.wishes.disabled)
    talk.say(f"Account {view.name}. {after.words or 'in use'}.")


def reserve(talk: Talk, view: AccountView) -> None:
    """Keep a share of an account's windows."""
    label, hint = "Percent to keep, 0 to 99", "Type how much of each window is kept. 0 takes the reserve away."
    after = talk.ask_until(label, lambda text: talk.engine.accounts.reserve(view.name, _share(text)), hint)
    if after is not None:
        talk.say(f"Account {view.name}. {after.words or 'no reserve'}.")


def _share(text: str) -> float:
    try:
        return float(text.removesuffix("%")) / 100
    except ValueError:
        message = f"{text!r} is not a percentage"
        raise UsageInvalid(message) from None


def pin(talk: Talk, pool: PoolView) -> None:
    """Pin a model to an account, or take the pin away."""
    if pool.pin is not None:
        talk.engine.pools.pin(pool.model.name, None)
        talk.say(f"Model {pool.model.name}. No pin.")
        return
    name = talk.choose("Account", [member.account for member in pool.model.members])
    if name is not None:
        talk.engine.pools.pin(pool.model.name, name)
        talk.say(f"Model {pool.model.name}. Pinned: {name}, until you leave.")


def send_prompt(talk: Talk, pool: PoolView) -> None:
    """Send a prompt and print its answer as it comes; an interruption stops it and comes back here."""
    from queue import SimpleQueue  # noqa: PLC0415 - 3 ms, only here

    text = talk.ask("Prompt")
    if not text:
        return
    events: SimpleQueue[Event] = SimpleQueue()
    forget = talk.engine.listeners.subscribe(events.put)
    try:
        number = talk.engine.background.start(pool.model.name, text)
        try:
            _hear(talk, events, number)
        except KeyboardInterrupt:
            talk.engine.background.stop(number)
            _hear(talk, events, number)
    finally:
        forget()


def start_cli(talk: Talk, pool: PoolView) -> None:
    """Talk to a model's CLI in this terminal."""
    from oulipoly_tui.linear.interactive import open_cli  # noqa: PLC0415 - 100 ms, only who talks to a CLI

    open_cli(talk, model=pool.model.name)


def _hear(talk: Talk, events: SimpleQueue[Event], number: int) -> None:
    from oulipoly_tui.view.sessions.one_shots import OneShot, format_ending  # noqa: PLC0415 - only where a prompt is sent
    from oulipoly_tui.view.transcript.spans import plain  # noqa: PLC0415 - as above

    ends_line, shot = True, OneShot(number, "", "")
    while True:
        match events.get():
            case OneShotSaid(number=said, text=text, is_note=True) if said == number:
                shot.hear(text, is_note=True)
            case OneShotSaid(number=said, text=text, is_note=False) if said == number and text:
                output.write_block(text)
                ends_line = text.endswith("\n")
            case OneShotEnded(number=ended, exit_code=code, failure=failure) if ended == number:
                if not ends_line:
                    talk.say("")
                talk.say(f"Ended with exit code {code}." + (f" {failure}." if failure else ""))
                shot.exit_code, shot.failure = code, failure
                told = [plain(line).strip() for line in format_ending(shot)]
                for line in (one for one in told if one[:1] not in ("✓", "✗")):
                    talk.say(line.replace("→ ", "Fix: ", 1))
                return
            case _:
                pass


def _member(snapshot: Snapshot, pool: PoolView, place: int) -> str:
    from oulipoly_tui.view.quota.pools import choose_standing  # noqa: PLC0415 - beside its only use

    verdict = pool.decision.verdicts[place]
    view = snapshot.account(verdict.candidate.account)
    state = choose_standing(pool, verdict, view, snapshot.at).text
    binding = verdict.binding
    score = "unknown" if verdict.score is None else f"{words.headroom(verdict.score)} {HEADROOM_UNIT}"
    ranked = f"Headroom: {score}" if verdict.waste is None else f"Wastes: {waste_text(verdict)}"
    window = (
        "not learned yet"
        if binding is None
        else f"{binding.window.name}, used {words.percent(binding.window.used)}, "
        f"projected {words.percent(binding.projected_used)}, resets in {words.hours(binding.hours_to_reset)}"
    )
    reason = words.local(exclusion_text(verdict) or why_not(pool.decision, verdict) or "", snapshot.at)
    use = f" In use by {len(view.running)}." if view is not None and view.running else ""
    return f"Account {verdict.candidate.account}. State: {state}. {ranked}. Limiting window: {window}.{use}" + (
        f" Not chosen: {reason}." if reason else ""
    )
