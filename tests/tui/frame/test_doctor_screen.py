"""The doctor's screen: what is wrong first, all about one of it below, and the command that mends it to copy."""

from functools import partial

import pytest

from oulipoly_engine.core.checks.finding import Area, Finding, Severity
from oulipoly_tui.screens.doctor import DoctorScreen
from oulipoly_tui.view.frame.doctor import doctor_detail, doctor_rows, put_wrong_first
from oulipoly_tui.view.transcript.spans import cells, plain


@pytest.fixture
def running(running):
    """Open the app with one pane, without reading quota."""
    return partial(running, panes=["pools"], reads_quota=False)


@pytest.fixture
def broken_world(app_world):
    """A world with a program that is missing."""
    text = "[dan]\ncommand = 'no-such-program'\n"
    with (app_world.config / "providers.toml").open("a") as file:
        file.write(text)
    return app_world


async def test_what_is_wrong_is_first_its_command_can_be_copied_and_it_looks_again_when_it_is_asked(
    broken_world, running, screen_text, settled
):
    async with running((80, 24)) as (app, pilot):
        for size in ((80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await settled(pilot, lambda height=size[1]: len(screen_text(app)) == height)
            await pilot.press("f3")
            await settled(pilot, lambda: any("run     command" in one for one in screen_text(app)) and not app.busy)
            text = screen_text(app)
            app.copy_to_clipboard("")
            await pilot.press("enter")
            await settled(pilot, lambda: app.clipboard == "command -v no-such-program")

            first = next(line for line in text if "> " in line and "error" in line)
            assert "✗ error   programs       dan: the program 'no-such-program' was not" in first
            assert any("run     command -v no-such-program" in line for line in text)
            assert any("✓ ok      state file" in line for line in text) or size[1] == 24
            if size[1] == 24:
                await pilot.press("escape")
                await settled(pilot, lambda: not isinstance(app.screen, DoctorScreen))

        providers = broken_world.config / "providers.toml"
        providers.write_text(providers.read_text().replace("no-such-program", "sh"))
        await pilot.press("R")
        await settled(pilot, lambda: "dan: the program" not in "\n".join(screen_text(app)) and not app.busy)
        await pilot.press("escape")
        await settled(pilot, lambda: not isinstance(app.screen, DoctorScreen))


def test_rows_tell_the_severity_in_words_and_fit():
    wrong = Finding(Area.STATE, Severity.ERROR, "", "x" * 200, "effect", "fix", "agents state rebuild")
    well = Finding(Area.DISK, Severity.OK, "/a/b/c.toml:3", "fine")

    rows = doctor_rows(put_wrong_first((well, wrong)), 60)

    assert ["✗ error   state file     xx", "✓ ok      disk           c."] == [plain(row.line)[:27] for row in rows]
    assert all(60 >= cells(plain(row.line)) for row in rows)
    assert ["x" * 200, "effect  effect", "fix     fix", "run     agents state rebuild"] == [
        plain(line) for line in doctor_detail(wrong)
    ]
