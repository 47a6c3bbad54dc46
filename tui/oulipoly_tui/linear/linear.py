"""The app for screen readers: labelled plain lines, numbered menus, no repaint, and no Textual.

Each line is whole by itself; nothing is drawn over, no colour and no box says anything. A pane adds a `Menu`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.explain import exclusion_text, why_not
from oulipoly_engine.core.balance.why_table import why_text
from oulipoly_engine.core.quota.forecast import forecast_text
from oulipoly_engine.core.text.quantities import HEADROOM_UNIT
from oulipoly_engine.errors import RunnerError, UsageInvalid, translate_system_errors
from oulipoly_engine.events import OneShotEnded, OneShotSaid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.facade.snapshot import Snapshot
from oulipoly_engine.records import Record
from oulipoly_tui import find_app_faults
from oulipoly_tui.linear.talk import Talk
from oulipoly_tui.view.frame import words
from oulipoly_tui.view.frame.attention import alert_text, risk_text
from oulipoly_tui.view.frame.problems import cause_of

if TYPE_CHECKING:
    from queue import SimpleQueue

    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.snapshot import AccountView, PoolView


class MenuEntry(Record):
    """One entry of a menu."""

    label: str
    act: Callable[[Talk, Snapshot], None]
    writes: bool = False


class Menu(Record):
    """One list with what can be done to it."""

    title: str
    lines: Callable[[Snapshot], Iterator[str]]
    actions: tuple[MenuEntry, ...]


def run(*, read_only: bool, surroundings: Surroundings | None = None) -> int:
    """Talk in lines until the user leaves; return the exit code."""
    engine = Engine(
        surroundings or Surroundings(read_only=read_only, note=diagnostics.note, find_app_faults=find_app_faults)
    )
    for text in engine.state_file.repair_at_start():
        diagnostics.note(f"Note: {text}")
    talk = Talk(engine, _read_line, read_only)
    try:
        _top(talk)
    except KeyboardInterrupt:
        talk.say("")
        return 130
    except EOFError:
        talk.say("")
    except BrokenPipeError:
        output.abandon()
    finally:
        engine.close()
    return 0


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
            expected = forecast_text(one.forecast)
            yield f"  Window {one.window.name}. Used {used}. {reset}. Forecast: {expected}."
        if not view.forecasts:
            yield "  Windows unknown."


def format_invocations(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line an invocation that runs."""
    for row in snapshot.running:
        age = words.age(row.created_at, snapshot.at)
        yield f"Invocation {row.uuid[:8]}. Model {row.model}. Account {row.account}. Started {age}."
    if not snapshot.running:
        yield "Nothing runs."


def problem_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a problem, its fix after it."""
    for one in snapshot.problems:
        place = f" In {one.place}." if one.place else ""
        fix = words.local(one.fix, snapshot.at).replace(" (w)", "")  # a key of the screen: here it is a menu's entry
        yield f"{'Error' if one.is_error else 'Warning'}. {cause_of(one, snapshot.at)}.{place} Fix: {fix}."
    yield from (f"Alert. {alert_text(alert, snapshot.at)}." for alert in snapshot.alerts)
    yield from (f"At risk. {risk_text(one, snapshot.at, archives='Archive everything')}." for one in snapshot.at_risk)
    if not snapshot.problems and not snapshot.alerts and not snapshot.at_risk:
        yield "Nothing is wrong."


def _member(snapshot: Snapshot, pool: PoolView, place: int) -> str:
    from oulipoly_tui.view.quota.pools import choose_standing  # noqa: PLC0415 - beside its only use

    verdict = pool.decision.verdicts[place]
    view = snapshot.account(verdict.candidate.account)
    state = choose_standing(pool, verdict, view, snapshot.at).text
    binding = verdict.binding
    score = "unknown" if verdict.score is None else f"{words.headroom(verdict.score)} {HEADROOM_UNIT}"
    window = (
        "not learned yet"
        if binding is None
        else f"{binding.window.name}, used {words.percent(binding.window.used)}, "
        f"projected {words.percent(binding.projected_used)}, resets in {words.hours(binding.hours_to_reset)}"
    )
    reason = words.local(exclusion_text(verdict) or why_not(pool.decision, verdict) or "", snapshot.at)
    use = f" In use by {len(view.running)}." if view is not None and view.running else ""
    return (
        f"Account {verdict.candidate.account}. State: {state}. Headroom: {score}. Limiting window: {window}.{use}"
        + (f" Not chosen: {reason}." if reason else "")
    )


def _top(talk: Talk) -> None:
    talk.engine.configuration.examine()
    while True:
        snapshot = talk.engine.snapshot()
        if snapshot.store_failure is not None:
            talk.say(f"Error. {snapshot.store_failure}.")
        talk.say(f"Agents. {len(snapshot.pools)} models, {len(snapshot.accounts)} accounts.")
        menus = (FIRST_STEPS, *MENUS) if snapshot.is_empty else MENUS
        title = talk.choose("Open", [menu.title for menu in menus] + ["Quit"])
        menu = next((menu for menu in menus if menu.title == title), None)
        if title == "Quit" or (title is None and talk.confirm("Quit?")):
            return
        if menu is not None:
            _open(talk, menu)


def _open(talk: Talk, menu: Menu) -> None:
    is_wanted = True  # the list itself; after an action only its outcome is said, the list once it is asked for
    while True:
        snapshot = talk.engine.snapshot()
        talk.say(f"{menu.title}.")
        for line in menu.lines(snapshot) if is_wanted else ():
            talk.say(line)
        actions = [action for action in menu.actions if not (action.writes and talk.read_only)]
        label = talk.choose(f"{menu.title}: do", [action.label for action in actions] + ["Show again"])
        action = next((one for one in actions if one.label == label), None)
        if label is None:
            return
        is_wanted = action is None
        if action is not None:
            try:
                with translate_system_errors():
                    action.act(talk, snapshot)
            except RunnerError as error:
                talk.say(f"Error. {error.message}.")


def _read_line(label: str) -> str:
    output.write_block(f"{label}: ")
    if not (line := sys.stdin.readline()):
        raise EOFError
    return line.rstrip("\n")


def _account(talk: Talk, snapshot: Snapshot) -> AccountView | None:
    name = talk.choose("Account", [view.name for view in snapshot.accounts])
    return None if name is None else snapshot.account(name)


def _pool(talk: Talk, snapshot: Snapshot) -> PoolView | None:
    name = talk.choose("Model", [view.model.name for view in snapshot.pools])
    return None if name is None else snapshot.pool(name)


def _refresh(talk: Talk, _snapshot: Snapshot) -> None:
    talk.say("Reading quota.")
    for one in talk.engine.quota.refresh():
        talk.say(f"Account {one.account}. {one.kind.value}." + (f" {one.text}." if one.text else ""))


def _why(talk: Talk, snapshot: Snapshot) -> None:
    pool = _pool(talk, snapshot)
    if pool is not None:
        talk.say(words.local(why_text(pool.decision), pool.decision.now).rstrip("\n"))


def _what_if(talk: Talk, snapshot: Snapshot) -> None:
    pool = _pool(talk, snapshot)
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


def _drain(talk: Talk, snapshot: Snapshot) -> None:
    view = _account(talk, snapshot)
    if view is not None:
        after = talk.engine.accounts.drain(view.name, on=not view.wishes.drained)
        talk.say(f"Account {view.name}. {after.words or 'in use'}.")


def _disable(talk: Talk, snapshot: Snapshot) -> None:
    view = _account(talk, snapshot)
    if view is not None:
        after = talk.engine.accounts.disable(view.name, on=not view.wishes.disabled)
        talk.say(f"Account {view.name}. {after.words or 'in use'}.")


def _reserve(talk: Talk, snapshot: Snapshot) -> None:
    view = _account(talk, snapshot)
    if view is None:
        return
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


def _pin(talk: Talk, snapshot: Snapshot) -> None:
    pool = _pool(talk, snapshot)
    if pool is None:
        return
    if pool.pin is not None:
        talk.engine.pools.pin(pool.model.name, None)
        talk.say(f"Model {pool.model.name}. No pin.")
        return
    name = talk.choose("Account", [member.account for member in pool.model.members])
    if name is not None:
        talk.engine.pools.pin(pool.model.name, name)
        talk.say(f"Model {pool.model.name}. Pinned: {name}, until you leave.")


def _prompt(talk: Talk, snapshot: Snapshot) -> None:
    """Send a prompt and print its answer as it comes; an interruption stops it and comes back here."""
    from queue import SimpleQueue  # noqa: PLC0415 - 3 ms, only here

    pool = _pool(talk, snapshot)
    text = None if pool is None else talk.ask("Prompt")
    if pool is None or not text:
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


def _repl(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear.interactive import open_cli  # noqa: PLC0415 - 100 ms, only who talks to a CLI

    pool = _pool(talk, snapshot)
    if pool is not None:
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


def _sessions(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import sessions  # noqa: PLC0415 - only who asks for them needs it

    sessions.open_list(talk, snapshot)


def session_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield what to do, the list being long, and what is at risk."""
    yield "Sessions of every account. List them, or search what was said."
    yield from (f"At risk. {risk_text(one, snapshot.at, archives='Archive everything')}." for one in snapshot.at_risk)


def _unbundle(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import sessions  # noqa: PLC0415 - only who asks for them needs it

    sessions.unbundle(talk, snapshot)


def _archive_all(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import sessions  # noqa: PLC0415 - only who asks for them needs it

    sessions.archive_all(talk, snapshot)


def _add_account(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import first_steps  # noqa: PLC0415 - only who begins needs it

    first_steps.add_account(talk, snapshot)


def _set_up(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import first_steps  # noqa: PLC0415 - only who begins needs it

    first_steps.set_up(talk, snapshot)


def _set_up_with_agent(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import first_steps  # noqa: PLC0415 - only who asks for it needs it

    first_steps.set_up_with_agent(talk, snapshot)


def _run_doctor(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import first_steps  # noqa: PLC0415 - only who asks for it needs it

    first_steps.run_doctor(talk, snapshot)


def _go_to_demo(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import first_steps  # noqa: PLC0415 - only who begins needs it

    first_steps.go_to_demo(talk, snapshot)


def _settings(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear import settings  # noqa: PLC0415 - only who changes settings needs it

    settings.open_settings(talk, snapshot)


def settings_lines(_snapshot: Snapshot) -> Iterator[str]:
    """Yield what to do."""
    yield "Settings of the app, of every run, of each account and of each model."


SESSIONS = Menu(
    "Sessions",
    session_lines,
    (
        MenuEntry("List, read, change", _sessions),
        MenuEntry("Archive everything", _archive_all, writes=True),
        MenuEntry("Unpack a bundle", _unbundle, writes=True),
    ),
)


def _history(talk: Talk, snapshot: Snapshot) -> None:
    from oulipoly_tui.linear.history import quota_history  # noqa: PLC0415 - 30 ms, only who looks back

    quota_history(talk, snapshot)


FIRST_STEPS = Menu(
    "Begin",
    lambda _snapshot: iter(
        ("No accounts yet. Add one, set up the logins of this machine, run the doctor, or try the demo world.",)
    ),
    (
        MenuEntry("Add an account", _add_account, writes=True),
        MenuEntry("Set up the logins of this machine", _set_up, writes=True),
        MenuEntry("Set up with an agent", _set_up_with_agent, writes=True),
        MenuEntry("Run the doctor", _run_doctor),
        MenuEntry("Try the demo world", _go_to_demo),
    ),
)
MENUS: tuple[Menu, ...] = (
    Menu(
        "Pools",
        pool_lines,
        (
            MenuEntry("Why", _why),
            MenuEntry("What if", _what_if),
            MenuEntry("Send a prompt", _prompt, writes=True),
            MenuEntry("Talk to its CLI in this terminal", _repl, writes=True),
            MenuEntry("Pin an account, or take the pin away", _pin, writes=True),
            MenuEntry("Drain an account, or give it work again", _drain, writes=True),
            MenuEntry("Disable an account, or take it in again", _disable, writes=True),
            MenuEntry("Keep a reserve of an account", _reserve, writes=True),
            MenuEntry("Set up with an agent", _set_up_with_agent, writes=True),
        ),
    ),
    Menu(
        "Quota", quota_lines, (MenuEntry("Read now", _refresh, writes=True), MenuEntry("How a window burned", _history))
    ),
    SESSIONS,
    Menu("Running invocations", format_invocations, ()),
    Menu("Problems", problem_lines, (MenuEntry("Run the doctor", _run_doctor),)),
    Menu("Settings", settings_lines, (MenuEntry("Show and change", _settings),)),
)
