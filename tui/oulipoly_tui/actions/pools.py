"""Commands for accounts and pools."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_tui.actions.frame import accounts, models
from oulipoly_tui.actions.registry import Argument, Command
from oulipoly_tui.view.frame import words

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.quota.quota import Refreshed
    from oulipoly_tui.app import AgentsApp

_ACCOUNT = Argument("account", accounts)
_MODEL = Argument("model", models)


def _engine(app: AgentsApp) -> Engine:
    if app.engine is None:
        raise RuntimeError("asked before the engine was open")  # `commands.run` refuses before it comes to this
    return app.engine


def _change(app: AgentsApp, name: str, function: Callable[[], Any], done: str) -> None:
    """Do something small in a thread, then say so and redraw."""

    def said(_result: object) -> None:
        app.say(done)
        app.take_snapshot()

    app.work(name, function, said)


def _refresh(app: AgentsApp, arguments: list[str]) -> None:
    engine = _engine(app)
    app.say(f"reading {', '.join(arguments) or 'every account'} …")

    def said(done: tuple[Refreshed, ...]) -> None:
        failed = [one for one in done if one.text is not None and one.kind != "updated"]
        if failed:
            text = words.local(failed[0].text or "", datetime.now(UTC))
            app.say(f"{failed[0].account}: {text}", severity="warning")
        else:
            app.say(_told_read(done))
        app.take_snapshot()

    title = f"reading {', '.join(arguments) or 'every account'}"
    app.work("reading quota", partial(engine.quota.refresh, tuple(arguments)), said, title=title, can_stop=True)


def _told_read(done: tuple[Refreshed, ...]) -> str:
    """Say how many accounts were read; another process, or an earlier wish, may be reading some right now."""
    by_others = [one.account for one in done if one.kind == "in-flight"]
    count = len(done) - len(by_others)
    ours = f"read {count} account{'s' * (count != 1)}" if count or not by_others else ""
    theirs = f"{', '.join(by_others)} {'is' if len(by_others) == 1 else 'are'} being read already" if by_others else ""
    return "; ".join(filter(None, (ours, theirs)))


def _drain(app: AgentsApp, arguments: list[str], *, on: bool) -> None:
    name = arguments[0]
    done = f"{name} is drained: it takes no new work" if on else f"{name} takes work again"
    _change(app, "drain", partial(_engine(app).accounts.drain, name, on=on), done)


def _disable(app: AgentsApp, arguments: list[str], *, on: bool) -> None:
    name = arguments[0]
    done = f"{name} is disabled and not read" if on else f"{name} is taken in again"
    _change(app, "disable", partial(_engine(app).accounts.disable, name, on=on), done)


def _reserve(app: AgentsApp, arguments: list[str]) -> str | None:
    name, text = arguments
    try:
        share = float(text.removesuffix("%").strip()) / 100
    except ValueError:
        return f"{text!r} is no percentage from 0 to 99"
    done = f"{name} keeps {words.percent(share)} of every window" if share else f"{name} keeps no reserve"
    _change(app, "reserve", partial(_engine(app).accounts.reserve, name, share), done)
    return None


def _clear(app: AgentsApp, arguments: list[str]) -> None:
    _change(app, "clear", partial(_engine(app).accounts.clear, arguments[0]), f"{arguments[0]} is no longer marked")


def _pin(app: AgentsApp, arguments: list[str]) -> None:
    model, account = arguments[0], arguments[1] if len(arguments) > 1 else None
    done = f"{model} has no pin" if account is None else f"{account} is pinned for this app's picks of {model}"
    _change(app, "pin", partial(_engine(app).pools.pin, model, account), done)


def _prompt(app: AgentsApp, arguments: list[str]) -> None:
    model, text = arguments
    pane: Any = app.frame.find("pools")
    app.work("one-shot", partial(_engine(app).background.start, model, text), partial(pane.one_shot_began, model, text))


COMMANDS = (
    Command("refresh", "read quota now", _refresh, (Argument("account", accounts, is_optional=True),), writes=True),
    Command("account drain", "give it no new work", partial(_drain, on=True), (_ACCOUNT,), writes=True),
    Command("account undrain", "give it work again", partial(_drain, on=False), (_ACCOUNT,), writes=True),
    Command("account disable", "leave it out, do not read it", partial(_disable, on=True), (_ACCOUNT,), writes=True),
    Command("account enable", "take it in again", partial(_disable, on=False), (_ACCOUNT,), writes=True),
    Command("account reserve", "keep a part unspent", _reserve, (_ACCOUNT, Argument("percent")), writes=True),
    Command("account clear", "take its exhausted mark away", _clear, (_ACCOUNT,), writes=True),
    Command(
        "pin", "let one account alone serve a model here", _pin, (_MODEL, Argument("account", accounts)), writes=True
    ),
    Command("unpin", "let the balancer choose again", _pin, (_MODEL,), writes=True),
    Command("prompt", "send one prompt to a model", _prompt, (_MODEL, Argument("text", is_rest=True)), writes=True),
)
