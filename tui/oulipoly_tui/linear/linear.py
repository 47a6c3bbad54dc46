"""The app for screen readers: labelled plain lines, numbered menus, no repaint, and no Textual.

Each line is whole by itself; nothing is drawn over, no colour and no box says anything. A pane adds a `Menu`.
"""

from __future__ import annotations

import sys
import termios
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from oulipoly_engine.core.commands.command import ACCOUNT, MODEL, Argument, Command
from oulipoly_engine.core.commands.table import find
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
    """One entry of a menu: a command of the table, or a talk that is led here."""

    act: str  # a module of this package and a function in it, loaded when it is done: `pools.why`; "": the command
    does: Command
    name: str = ""  # what it is called where it is not that command alone
    note: str = ""  # what it does beyond that

    @property
    def label(self) -> str:
        """Return what the menu says of it."""
        if self.name or not self.does.name:
            return self.name or self.does.label
        return f"{self.does.menu_line}{self.note}"


class Menu(Record):
    """One list with what can be done to it."""

    title: str
    lines: Lines
    actions: tuple[MenuEntry, ...]
    is_quoted: bool = False  # its lines hold what others wrote, which stays as it is
    choose: str = ""  # a function as `act` is one, by which a session of its list is chosen


def run(surroundings: Surroundings) -> int:
    """Talk in lines until the user leaves; return the exit code."""
    engine = Engine(surroundings)
    engine.command_log.list()  # it watches from now on
    engine.extensions.post_questions()
    for text in engine.recovery.settle_at_start():
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
        text = alert_text(replace(alert, fix=alert.fix.replace("A ", "Archive all ", 1)), snapshot.at)
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
        actions = [action for action in menu.actions if not (action.does.writes and talk.read_only)]
        label = talk.choose(f"{menu.title}: what to do", [action.label for action in actions] + ["Show again"])
        action = next((one for one in actions if one.label == label), None)
        if label is None:
            return
        is_wanted = action is None
        if action is not None:
            try:
                with translate_system_errors():
                    _do(talk, snapshot, menu, action)
            except RunnerError as error:
                talk.say(f"Error. {error.message}.")


def _do(talk: Talk, snapshot: Snapshot, menu: Menu, entry: MenuEntry) -> None:
    """Do what an entry says; where its command is about one thing that there is, that is chosen first.

    An entry without a function of its own gives the terminal to the command, which asks for everything in lines.
    """
    if not entry.act:
        _load("interactive.run_own_command")(talk, *entry.does.name.split())
        return
    kind = next((argument.name for argument in entry.does.arguments[:1] if not argument.is_optional), "")
    choose = menu.choose if kind == "session" else _CHOOSERS.get(kind)
    subject = _load(choose)(talk, snapshot, entry.does) if choose else snapshot
    if subject is not None:
        _load(entry.act)(talk, subject)


def _load(act: str) -> Callable[..., Any]:
    """Return what an entry does. Its module is loaded now: some cost 100 ms, and most are never opened."""
    module, _, name = act.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"oulipoly_tui.linear.{module}"), name)
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


def _own(label: str, *about: Argument, writes: bool = False) -> Command:
    """Return what is this face's own. about: what is chosen first."""
    return Command("", label, label, about, writes=writes)


_CHOOSERS = {"account": "pools.choose_account", "model": "pools.choose_model", "terminal": "terminals.choose"}
_run_own = partial(_own, "Run a command of your own", writes=True)
FIRST_STEPS = Menu(
    "Begin",
    lambda _talk, _snapshot: (
        "No accounts yet. Add one, set up the logins of this machine, run the doctor, or try the demo world.",
    ),
    (
        MenuEntry("", find("account add")),
        MenuEntry("first_steps.set_up", find("setup")),
        MenuEntry("", find("setup run")),
        MenuEntry("first_steps.run_doctor", find("doctor")),
        MenuEntry("first_steps.go_to_demo", find("demo")),
    ),
)
MENUS: tuple[Menu, ...] = (
    Menu(
        "Pools",
        lambda _talk, snapshot: pool_lines(snapshot),
        (
            MenuEntry("pools.why", find("why")),
            MenuEntry("pools.what_if", find("why if")),
            MenuEntry("pools.send_prompt", find("prompt")),
            MenuEntry("pools.start_cli", find("repl")),
            MenuEntry("pools.pin", find("pool pin"), note=", or take the pin away"),
            MenuEntry("pools.drain", find("account drain"), note=", or give it work again"),
            MenuEntry("pools.disable", find("account disable"), note=", or take it in again"),
            MenuEntry("pools.reserve", find("account reserve")),
            MenuEntry("pools.clear", find("account clear")),
            MenuEntry("custom.run_on_member", _run_own(MODEL)),
            MenuEntry("", find("account add")),
            MenuEntry("first_steps.set_up", find("setup")),
            MenuEntry("", find("setup run")),
            MenuEntry("first_steps.sync", find("setup sync")),
            MenuEntry("", find("account undo")),
        ),
    ),
    Menu(
        "Quota",
        lambda _talk, snapshot: quota_lines(snapshot),
        (
            MenuEntry("pools.refresh", find("quota refresh all")),
            MenuEntry("history.quota_history", _own("How a window burned")),
            MenuEntry("custom.run_on_account", _run_own(ACCOUNT)),
        ),
    ),
    Menu(
        "Sessions",
        session_lines,
        (
            MenuEntry("sessions.open_list", find("session list"), "List, read, change"),
            MenuEntry("sessions.search", find("session search")),
            MenuEntry("sessions.archive_all", find("session archive all")),
            MenuEntry("sessions.unbundle", find("session unbundle")),
        ),
    ),
    Menu(
        "Live sessions",
        _late_lines("live.live_lines"),
        (
            MenuEntry("live.talk_to", find("session send"), "Talk to one"),
            MenuEntry("live.follow", find("session follow"), "Follow one"),
            MenuEntry("live.answer_requests", find("requests answer"), "Answer what is asked"),
            MenuEntry("live.begin", find("session new"), "Begin one"),
            MenuEntry("live.interrupt", find("session interrupt"), "Interrupt one"),
        ),
        is_quoted=True,
        choose="live.choose",
    ),
    Menu(
        "Work sessions",
        _late_lines("work.sessions.work_lines"),
        (
            MenuEntry("work.begin.begin", find("session work"), "Begin one"),
            MenuEntry("live.read", find("session show"), "Read one"),
            MenuEntry("live.talk_to", find("session send"), "Talk to one"),
            MenuEntry("live.answer_requests", find("requests answer"), "Answer what is asked"),
            MenuEntry("work.sessions.open_changes", find("changes"), "Changes of one"),
            MenuEntry("work.sessions.end", find("session cancel"), "End one"),
        ),
        is_quoted=True,
        choose="work.sessions.choose",
    ),
    Menu(
        "Worktrees",
        _late_lines("work.worktrees.worktree_lines"),
        (
            MenuEntry("work.worktrees.open_changes", find("changes"), "Changes of one"),
            MenuEntry("work.worktrees.remove", find("worktree remove"), "Remove one"),
            MenuEntry("work.worktrees.restore", find("worktree restore"), "Restore one"),
            MenuEntry("work.worktrees.prune", find("worktree prune"), "Prune: remove all that are clean and merged"),
        ),
        is_quoted=True,
        choose="work.worktrees.choose",
    ),
    Menu(
        "Terminals",
        _late_lines("terminals.terminal_lines"),
        (
            MenuEntry("terminals.attach", find("terminal attach"), "Attach to one"),
            MenuEntry("terminals.kill", find("terminal kill"), "End its program"),
            MenuEntry("custom.run_on_terminal", _run_own(Argument("terminal"))),
        ),
    ),
    Menu(
        "Runs",
        format_invocations,
        (MenuEntry("terminals.end_run", find("run end")),),
    ),
    Menu("Problems", problem_lines, (MenuEntry("first_steps.run_doctor", find("doctor")),)),
    Menu(
        "Log of what was run",
        _late_lines("log.latest"),
        (MenuEntry("log.show_all", _own("All of it")), MenuEntry("log.find", _own("Find in it"))),
        is_quoted=True,
    ),
    Menu(
        "Settings",
        lambda _talk, _snapshot: (
            "Settings of the app, of every run, of each account and of each model, and commands of your own.",
        ),
        (MenuEntry("settings.open_settings", _own("Show and change")),),
    ),
    Menu(
        "Any other command",
        lambda _talk, _snapshot: ("All that agents can do, as you would type it behind agents in a shell.",),
        (
            MenuEntry("interactive.type_command", _own("Type a command", writes=True)),
            MenuEntry("interactive.list_commands", _own("List the commands")),
        ),
    ),
)
