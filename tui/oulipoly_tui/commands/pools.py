"""Commands for accounts and pools."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands.frame_keys import leave
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view import words

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import SetUp
    from oulipoly_engine.facade.quota.quota import RefreshResult
    from oulipoly_tui.base.app_interface import AppInterface


def _change(app: AppInterface, name: str, function: Callable[[], Any], done: str) -> None:
    """Do something small in a thread, then say so and redraw."""

    def on_said(_result: object) -> None:
        app.say(done)
        app.take_snapshot()

    app.work(name, function, on_said)


def refresh(app: AppInterface, arguments: list[str]) -> None:
    """Read the quota of some accounts, or of all."""
    engine = engine_of(app)
    app.say(f"Reading {', '.join(arguments) or 'every account'} …")

    def on_said(done: tuple[RefreshResult, ...]) -> None:
        failed = [one for one in done if one.text is not None and one.kind != "updated"]
        if failed:
            text = words.local(failed[0].text or "", datetime.now(UTC))
            app.say(f"{failed[0].account}: {text}", severity="warning")
        else:
            app.say(_format_read(done))
        app.take_snapshot()

    title = f"reading {', '.join(arguments) or 'every account'}"
    app.work("reading quota", partial(engine.quota.refresh, tuple(arguments)), on_said, title=title, can_stop=True)


def _format_read(done: tuple[RefreshResult, ...]) -> str:
    """Say how many accounts were read; another process, or an earlier wish, may be reading some right now."""
    by_others = [one.account for one in done if one.kind == "in-flight"]
    count = len(done) - len(by_others)
    ours = f"Read {count} account{'s' * (count != 1)}" if count or not by_others else ""
    theirs = f"{', '.join(by_others)} {'is' if len(by_others) == 1 else 'are'} being read already" if by_others else ""
    return "; ".join(filter(None, (ours, theirs)))


def drain(app: AppInterface, arguments: list[str]) -> None:
    """Give an account no new work."""
    _drain(app, arguments[0], f"{arguments[0]} is drained: it takes no new work", on=True)


def undrain(app: AppInterface, arguments: list[str]) -> None:
    """Give an account work again."""
    _drain(app, arguments[0], f"{arguments[0]} takes work again", on=False)


def disable(app: AppInterface, arguments: list[str]) -> None:
    """Leave an account out."""
    _disable(app, arguments[0], f"{arguments[0]} is disabled and not read", on=True)


def enable(app: AppInterface, arguments: list[str]) -> None:
    """Take an account in again."""
    _disable(app, arguments[0], f"{arguments[0]} is taken in again", on=False)


def _drain(app: AppInterface, name: str, done: str, *, on: bool) -> None:
    _change(app, "drain", partial(engine_of(app).accounts.drain, name, on=on), done)


def _disable(app: AppInterface, name: str, done: str, *, on: bool) -> None:
    _change(app, "disable", partial(engine_of(app).accounts.disable, name, on=on), done)


def set_reserve(app: AppInterface, arguments: list[str]) -> str | None:
    """Keep a part of an account unused."""
    name, text = arguments
    try:
        share = float(text.removesuffix("%").strip()) / 100
    except ValueError:
        return f"{text!r} is not a percentage from 0 to 99"
    done = f"{name} keeps {words.percent(share)} of every window" if share else f"{name} keeps no reserve"
    _change(app, "reserve", partial(engine_of(app).accounts.reserve, name, share), done)
    return None


def clear(app: AppInterface, arguments: list[str]) -> None:
    """Take an account's mark and pause away."""
    _change(app, "clear", partial(engine_of(app).accounts.clear, arguments[0]), f"{arguments[0]} is no longer marked")


def pin(app: AppInterface, arguments: list[str]) -> None:
    """Let one account alone serve a model."""
    model, account = arguments
    done = f"{account} is pinned for this app's picks of {model}"
    _change(app, "pin", partial(engine_of(app).pools.pin, model, account), done)


def unpin(app: AppInterface, arguments: list[str]) -> None:
    """Let the balancer choose for a model again."""
    model = arguments[0]
    _change(app, "pin", partial(engine_of(app).pools.pin, model, None), f"{model} has no pin")


def send_prompt(app: AppInterface, arguments: list[str]) -> None:
    """Send one prompt to a model."""
    model, text = arguments
    _send(app, model, text)


def send_prompt_to_account(app: AppInterface, arguments: list[str]) -> None:
    """Send one prompt to a model on one account of its pool."""
    account, model, text = arguments
    _send(app, model, text, account)


def _send(app: AppInterface, model: str, text: str, account: str | None = None) -> None:
    async def begin() -> None:
        if app.frame.find("pools") is None:  # not shown yet: its log tells how the prompt fares
            await app.frame.turn_to("pools")
        pane: Any = app.frame.find("pools")
        start = partial(engine_of(app).background.start, model, text, account=account)
        app.work("one-shot", start, partial(pane.one_shot_began, model, text))

    app.call_after_refresh(begin)


def go_to_demo(app: AppInterface, _arguments: list[str]) -> None:
    """End the app, and go to the demo; ask first where something would be lost."""
    leave(app, "Leave for the demo?", "demo")


def set_up(app: AppInterface, _arguments: list[str]) -> None:
    """Show what would be set up, and write it after a yes."""
    configuration = engine_of(app).configuration

    def on_arrived(found: SetUp) -> None:
        from oulipoly_tui.view.frame.first_run import set_up_lines  # noqa: PLC0415 - only when it is opened

        lines = set_up_lines(found)

        def on_written(_result: None) -> None:
            app.say(f"Set up {', '.join(login.account for login in found.logins)}. Undo: `:setup undo`")
            app.take_snapshot()

        if found.files:
            write = partial(app.work, "set-up", partial(configuration.write_set_up, found), on_written)
            dialogs.review(app, "Set up", (), lines, write, yes="Yes, write the files")
        else:
            dialogs.read(app, "Set up", lines)

    app.work("set-up", configuration.set_up, on_arrived)
