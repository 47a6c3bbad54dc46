"""The app for screen readers: labelled plain lines, numbered menus, no repaint, and no Textual.

Each line is whole by itself; nothing is drawn over, no colour and no box says anything. A pane adds a `Menu`.
"""

from __future__ import annotations

import sys
import termios
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from oulipoly_engine.errors import RunnerError, translate_system_errors
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.facade.snapshot import Snapshot
from oulipoly_engine.records import Record, replace
from oulipoly_tui.linear.pools import pool_lines, quota_lines
from oulipoly_tui.linear.talk import Talk
from oulipoly_tui.view import words
from oulipoly_tui.view.frame.attention import alert_text
from oulipoly_tui.view.frame.problems import cause_of

Lines = Callable[[Talk, Snapshot], Iterable[str]]


class MenuEntry(Record):
    """One entry of a menu."""

    label: str
    act: str  # a module of this package and a function in it, loaded when it is done: `pools.why`
    writes: bool = False


class Menu(Record):
    """One list with what can be done to it."""

    title: str
    lines: Lines
    actions: tuple[MenuEntry, ...]
    is_quoted: bool = False  # its lines hold what others wrote, which stays as it is


def run(surroundings: Surroundings) -> int:
    """Talk in lines until the user leaves; return the exit code."""
    engine = Engine(surroundings)
    engine.command_log.list()  # it watches from now on
    for text in engine.state_file.repair_at_start():
        diagnostics.note(f"Note: {text}")
    talk = Talk(engine, _read_line, surroundings.read_only, drop_typed_ahead)
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


def format_invocations(_talk: Talk, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a run that has not ended."""
    for row in snapshot.running:
        age = words.age(row.created_at, snapshot.at)
        yield f"Run {row.uuid[:8]}. Model {row.model}. Account {row.account}. Started {age}."
    for one in snapshot.orphans:
        yield f"Without a runner. {one.text}. {one.remedy}."
    if not snapshot.running and not snapshot.orphans:
        yield "Nothing runs."


def problem_lines(_talk: Talk, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a problem, its fix after it."""
    for one in snapshot.problems:
        place = f" In {one.subject}." if one.subject else ""
        fix = words.local(one.fix, snapshot.at).replace(" (w)", "")  # a key of the screen: here it is a menu's entry
        yield f"{'Error' if one.is_error else 'Warning'}. {cause_of(one, snapshot.at)}.{place} Fix: {fix}."
    yield from (f"Alert. {alert_text(alert, snapshot.at)}." for alert in snapshot.alerts_of("window"))
    yield from _risk_lines(snapshot)
    if not snapshot.alerts:
        yield "Nothing is wrong."


def session_lines(_talk: Talk, snapshot: Snapshot) -> Iterator[str]:
    """Yield what to do, the list being long, and what is at risk."""
    yield "Sessions of every account. List them, or search what was said."
    yield from _risk_lines(snapshot)


def _risk_lines(snapshot: Snapshot) -> Iterator[str]:
    for alert in snapshot.alerts_of("at-risk"):
        text = alert_text(replace(alert, fix=alert.fix.replace("A ", "Archive everything ", 1)), snapshot.at)
        yield f"At risk. {text}."


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
        try:
            with translate_system_errors():
                for line in menu.lines(talk, snapshot) if is_wanted else ():
                    (talk.quote if menu.is_quoted else talk.say)(line)
        except RunnerError as error:
            talk.say(f"Error. {error.message}.")
        actions = [action for action in menu.actions if not (action.writes and talk.read_only)]
        label = talk.choose(f"{menu.title}: what to do", [action.label for action in actions] + ["Show again"])
        action = next((one for one in actions if one.label == label), None)
        if label is None:
            return
        is_wanted = action is None
        if action is not None:
            try:
                with translate_system_errors():
                    _load(action.act)(talk, snapshot)
            except RunnerError as error:
                talk.say(f"Error. {error.message}.")


def _load(act: str) -> Callable[[Talk, Snapshot], Any]:
    """Return what an entry does. Its module is loaded now: some cost 100 ms, and most are never opened."""
    module, _, name = act.rpartition(".")
    found: Callable[[Talk, Snapshot], Any] = getattr(import_module(f"oulipoly_tui.linear.{module}"), name)
    return found


def _read_line(label: str) -> str:
    output.write_block(f"{label}: ")
    if not (line := sys.stdin.readline()):
        raise EOFError
    return line.rstrip("\n")


def drop_typed_ahead() -> None:
    """Forget lines that were typed ahead on a terminal; what stands in a file or a pipe was written for this."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _late_lines(place: str) -> Lines:
    def lines(talk: Talk, snapshot: Snapshot) -> Iterable[str]:
        found: Lines = _load(place)
        return found(talk, snapshot)

    return lines


_OWN_COMMANDS = "Run a command of your own"
FIRST_STEPS = Menu(
    "Begin",
    lambda _talk, _snapshot: (
        "No accounts yet. Add one, set up the logins of this machine, run the doctor, or try the demo world.",
    ),
    (
        MenuEntry("Add an account", "first_steps.add_account", writes=True),
        MenuEntry("Set up the logins of this machine", "first_steps.set_up", writes=True),
        MenuEntry("Set up with an agent", "first_steps.set_up_with_agent", writes=True),
        MenuEntry("Run the doctor", "first_steps.run_doctor"),
        MenuEntry("Try the demo world", "first_steps.go_to_demo"),
    ),
)
MENUS: tuple[Menu, ...] = (
    Menu(
        "Pools",
        lambda _talk, snapshot: pool_lines(snapshot),
        (
            MenuEntry("Why", "pools.why"),
            MenuEntry("What if", "pools.what_if"),
            MenuEntry("Send a prompt", "pools.send_prompt", writes=True),
            MenuEntry("Talk to its CLI in this terminal", "pools.start_cli", writes=True),
            MenuEntry("Pin an account, or take the pin away", "pools.pin", writes=True),
            MenuEntry("Drain an account, or give it work again", "pools.drain", writes=True),
            MenuEntry("Disable an account, or take it in again", "pools.disable", writes=True),
            MenuEntry("Keep a reserve of an account", "pools.reserve", writes=True),
            MenuEntry("Clear the mark that an account is exhausted", "pools.clear", writes=True),
            MenuEntry(_OWN_COMMANDS, "custom.run_on_member", writes=True),
            MenuEntry("Add an account", "first_steps.add_account", writes=True),
            MenuEntry("Set up the logins of this machine", "first_steps.set_up", writes=True),
            MenuEntry("Set up with an agent", "first_steps.set_up_with_agent", writes=True),
            MenuEntry("Copy skills and MCP servers between CLIs", "first_steps.sync", writes=True),
            MenuEntry("Undo the last set-up", "first_steps.undo_set_up", writes=True),
        ),
    ),
    Menu(
        "Quota",
        lambda _talk, snapshot: quota_lines(snapshot),
        (
            MenuEntry("Read now", "pools.refresh", writes=True),
            MenuEntry("How a window burned", "history.quota_history"),
            MenuEntry(_OWN_COMMANDS, "custom.run_on_account", writes=True),
        ),
    ),
    Menu(
        "Sessions",
        session_lines,
        (
            MenuEntry("List, read, change", "sessions.open_list"),
            MenuEntry("Search what was said", "sessions.search"),
            MenuEntry("Archive everything", "sessions.archive_all", writes=True),
            MenuEntry("Unpack a bundle", "sessions.unbundle", writes=True),
        ),
    ),
    Menu(
        "Live sessions",
        _late_lines("live.live_lines"),
        (
            MenuEntry("Talk to one", "live.talk_to", writes=True),
            MenuEntry("Follow one", "live.follow"),
            MenuEntry("Answer what is asked", "live.answer_requests", writes=True),
            MenuEntry("Begin one", "live.begin", writes=True),
            MenuEntry("Interrupt one", "live.interrupt", writes=True),
        ),
        is_quoted=True,
    ),
    Menu(
        "Work sessions",
        _late_lines("work.sessions.work_lines"),
        (
            MenuEntry("Begin one", "work.begin.begin", writes=True),
            MenuEntry("Read one", "work.sessions.read"),
            MenuEntry("Talk to one", "work.sessions.talk_to", writes=True),
            MenuEntry("Answer what is asked", "live.answer_requests", writes=True),
            MenuEntry("Changes of one", "work.sessions.open_changes"),
            MenuEntry("End one", "work.sessions.end", writes=True),
        ),
        is_quoted=True,
    ),
    Menu(
        "Worktrees",
        _late_lines("work.worktrees.worktree_lines"),
        (
            MenuEntry("Changes of one", "work.worktrees.open_changes"),
            MenuEntry("Remove one", "work.worktrees.remove", writes=True),
            MenuEntry("Restore one", "work.worktrees.restore", writes=True),
            MenuEntry("Prune: remove all that are clean and merged", "work.worktrees.prune", writes=True),
        ),
        is_quoted=True,
    ),
    Menu(
        "Terminals",
        _late_lines("terminals.terminal_lines"),
        (
            MenuEntry("Attach to one", "terminals.attach"),
            MenuEntry("End its program", "terminals.kill", writes=True),
            MenuEntry(_OWN_COMMANDS, "custom.run_on_terminal", writes=True),
        ),
    ),
    Menu(
        "Runs",
        format_invocations,
        (MenuEntry("End a CLI whose runner was killed", "terminals.end_run", writes=True),),
    ),
    Menu("Problems", problem_lines, (MenuEntry("Run the doctor", "first_steps.run_doctor"),)),
    Menu(
        "Log of what was run",
        _late_lines("log.latest"),
        (MenuEntry("All of it", "log.show_all"), MenuEntry("Find in it", "log.find")),
        is_quoted=True,
    ),
    Menu(
        "Settings",
        lambda _talk, _snapshot: (
            "Settings of the app, of every run, of each account and of each model, and commands of your own.",
        ),
        (MenuEntry("Show and change", "settings.open_settings"),),
    ),
    Menu(
        "Any other command",
        lambda _talk, _snapshot: ("All that agents can do, as you would type it behind agents in a shell.",),
        (
            MenuEntry("Type a command", "interactive.type_command", writes=True),
            MenuEntry("List the commands", "interactive.list_commands"),
        ),
    ),
)
