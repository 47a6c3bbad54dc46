"""Commands of the set-up with an agent, and of the sync of skills and MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.setup.dialogs import FormAnswer

if TYPE_CHECKING:
    from oulipoly_engine.core.setup.dialogs import Answer
    from oulipoly_engine.facade.setup.agent import Offers
    from oulipoly_tui.app_interface import AppInterface


def set_up_with_agent(app: AppInterface, _arguments: list[str]) -> None:
    """Show the set-up that is under way, or ask what is wanted and begin one."""
    from oulipoly_tui.screens.setup import agent as screen  # noqa: PLC0415 - 40 ms, only when it is opened

    if screen.show(app):
        return
    engine = app.engine
    assert engine is not None  # noqa: S101 - the command needs an engine

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

    assert app.engine is not None  # noqa: S101 - the command needs an engine
    app.push_screen(SyncScreen(app.engine.setup_sync))
