"""`:grants`: what is allowed is listed, and revoked after a question."""

import asyncio

from oulipoly_tui.screens.question import Confirm


async def test_a_grant_is_revoked_after_a_question(app_world, running, settled, screen_text):
    async with running(size=(100, 30), panes=["pools"], toasts=True) as (app, pilot):
        web = app.engine.web
        await asyncio.to_thread(web.make_link, "Ann [b]x[/b]")

        def shows(words):
            return any(words in line for line in screen_text(app))

        await pilot.press("colon", *"grants", "enter")
        await settled(pilot, lambda: shows("Ann [b]x[/b]"))
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, Confirm) and shows("makes it worthless at once"))
        await pilot.press("n")
        await pilot.press("colon", *"grants", "enter")
        await settled(pilot, lambda: shows("Ann [b]x[/b]"))
        assert 1 == len(web.devices())
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")

        await settled(pilot, lambda: () == web.devices())
        await pilot.press("colon", *"grants", "enter")
        await settled(pilot, lambda: shows("Nothing is allowed to anybody"))
