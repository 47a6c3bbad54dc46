"""Commands that set up: single accounts, the set-up with an agent, the sync of skills and MCP servers.

What a CLI itself asks is asked in a terminal, by our own command; a change of files is shown before it is written.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.setup.dialogs import FormAnswer
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from oulipoly_engine.core.setup.dialogs import Answer
    from oulipoly_engine.facade.accounts.changes import AccountChanges, Step
    from oulipoly_engine.facade.setup.agent import Offers
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.view.transcript.spans import Line


def set_up_with_agent(app: AppInterface, _arguments: list[str]) -> None:
    """Show the set-up that is under way, or ask what is wanted and begin one."""
    from oulipoly_tui.screens.setup import agent as screen  # noqa: PLC0415 - 40 ms, only when it is opened

    if screen.show(app):
        return
    engine = engine_of(app)

    def on_offered(offers: Offers) -> None:
        from oulipoly_tui.screens.setup.form import FormScreen  # noqa: PLC0415 - loaded already
        from oulipoly_tui.view.setup.dialogs import wish_page  # noqa: PLC0415 - loaded already

        app.push_screen(FormScreen(wish_page(offers)), on_answered)

    def on_answered(answer: Answer | None) -> None:
        if isinstance(answer, FormAnswer):
            from oulipoly_engine.facade.setup.agent import SetupWish  # noqa: PLC0415 - only where one begins
            from oulipoly_tui.view.setup.dialogs import EVERY_CLI  # noqa: PLC0415 - loaded already

            text, model, cli = (str(answer.values.get(name, "")) for name in ("wish", "model", "cli"))
            wish = SetupWish(text, model or None, cli=None if cli == EVERY_CLI else cli)
            screen.begin(app, engine.setup_agent, wish)

    app.work("set-up", engine.setup_agent.offers, on_offered)


def open_sync(app: AppInterface, _arguments: list[str]) -> None:
    """List skills and MCP servers of every CLI, to be copied to another."""
    from oulipoly_tui.screens.setup.sync import SyncScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(SyncScreen(engine_of(app).setup_sync))


def add_account(app: AppInterface, arguments: list[str]) -> str | None:
    """Add an account in a terminal: the CLI's own login wants one, and the command asks for everything else."""
    return _run_in_terminal(app, "add", arguments)


def test_account(app: AppInterface, arguments: list[str]) -> str | None:
    """Ask an account for one word, in a terminal."""
    return _run_in_terminal(app, "test", arguments)


def log_in(app: AppInterface, arguments: list[str]) -> str | None:
    """Log in to an account again, in a terminal."""
    return _run_in_terminal(app, "login", arguments)


def _run_in_terminal(app: AppInterface, verb: str, arguments: list[str]) -> str | None:
    if not app.has_pane("repl"):
        return f"this app shows no terminals: run `agents account {verb}` in a shell"
    from oulipoly_tui.orders.programs import show_program  # noqa: PLC0415 - only when it is done

    before = app.frame.current.id

    def on_ended() -> None:
        """Give the keys back, unless the user has gone elsewhere meanwhile."""
        app.take_snapshot()
        pane = app.frame.find("repl")
        if pane is not None and app.frame.current is pane and before not in (None, pane.id):
            app.call_next(app.frame.turn_to, before)
            app.say(f"Ended: account {verb}. What it said is in the terminal's tab")

    show_program(app, (sys.executable, "-m", "oulipoly_tui", "account", verb, *arguments), ended=on_ended)
    return None


def rename_account(app: AppInterface, arguments: list[str]) -> None:
    """Give an account another name, once its change of files was agreed to."""
    account, new = arguments
    changes = engine_of(app).account_setup.changes
    _review(app, partial(changes.plan_rename, account, new), f"Rename {account} to {new}", "Yes, rename")


def remove_account(app: AppInterface, arguments: list[str]) -> None:
    """Take an account out, once its change of files was agreed to."""
    account = arguments[0]
    plan = partial(engine_of(app).account_setup.removals.plan, account)
    _review(app, plan, f"Remove {account}", "Yes, remove", "What its CLI keeps stays where it is.")


def _review(app: AppInterface, plan: partial[Step], title: str, yes: str, note: str = "") -> None:
    changes: AccountChanges = engine_of(app).account_setup.changes

    def make() -> tuple[Step, str]:
        step = plan()
        return step, changes.diff(step.files)

    def on_planned(planned: tuple[Step, str]) -> None:
        from oulipoly_tui.view.setup.log import diff_lines  # noqa: PLC0415 - only when it is opened

        step, diff = planned
        head: tuple[Line, ...] = (((note, ""),),) if note else ()
        write = partial(app.work, "account", partial(changes.write, step), partial(on_written, step))
        dialogs.review(app, title, head, tuple(diff_lines(diff)), write, yes=yes)

    def on_written(step: Step, _result: None) -> None:
        app.say(f"{step.what[:1].upper()}{step.what[1:]}. Undo: `:setup undo`")
        app.take_snapshot()

    app.work("account", make, on_planned)


def undo(app: AppInterface, _arguments: list[str]) -> None:
    """Take back the last change of the accounts: a set-up, an addition, a rename, a removal. Asks first."""
    setup = engine_of(app).account_setup.changes

    def on_known(step: Step | None) -> None:
        if step is None:
            app.say(Need.UNDO.value, severity="warning")
            return
        files = ", ".join(map(str, step.places))
        take_back = partial(app.work, "undo", partial(setup.undo, step), on_undone)
        dialogs.confirm(app, f"Undo: {step.what}?", f"This changes {files}.", "undo", take_back)

    def on_undone(step: Step) -> None:
        app.say(f"Undone: {step.what}")
        app.take_snapshot()

    app.work("undo", setup.last_step, on_known)
