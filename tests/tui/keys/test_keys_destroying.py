"""What an action destroys is asked for first: the list of them, and what each asks with."""

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_tui.actions.registry import ACTIONS

DOOR = "22222222-1111-4111-8111-111111111111"
# In tests/tui: terminals/test_end_run.py, frame/test_first_set_up_screen.py, keys/test_keys_artifacts.py,
# keys/test_keys_live.py, keys/test_keys_agents.py, keys/test_keys_repl.py and keys/test_keys_transcript.py; pools and
# views below and by their keys.
ASKED_ELSEWHERE = {
    *(
        "repl.end_run",
        "repl.kill",
        "pools.undo_set_up",
        "pools.remove",
        "pools.stop",
        "sessions.delete_view",
        "artifacts.remove",
        "transcript.import",
        "live.close",
        "agents.remove",
        "agents.stop",
        "agents.delete",
        "agents.cancel",
    ),
}
ASKS = {
    "sessions.import": "Review",
    "sessions.delete": "Confirm",
    "sessions.edit": "Review",
    "sessions.undo_replacement": "Review",
    "transcript.edit": "Review",
}


def test_the_list_of_what_destroys_is_whole():
    assert set(ASKS) | ASKED_ELSEWHERE == {action.id for action in ACTIONS if action.destroys}
    assert all(action.writes for action in ACTIONS if action.destroys)


@pytest.fixture
def editor(tmp_path):
    """An editor that paints another thing; the driver lets go of its terminal."""
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\nsed -i 's/Paint the door/Paint the gate/; s/Mend the roof/Mend the wall/' \"$1\"\n")
    script.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VISUAL", str(script))
        patch.setattr(HeadlessDriver, "can_suspend", property(lambda _: True))
        yield


async def asked(one, identity):
    """Wait for the question of an action, and answer no."""
    await one.at(ASKS[identity])
    await one.press("escape")
    await one.rest()


async def test_what_replaces_turns_shows_the_difference_and_asks(transcript, talks, editor, tmp_path):
    target = tmp_path / "edited.jsonl"
    before, of_roof = talks.door.path.read_bytes(), talks.roof.path.read_bytes()
    async with transcript(panes=("pools", "sessions", "transcript"), size=(120, 30)) as one:
        await one.press("E")
        await asked(one, "transcript.edit")
        assert of_roof == talks.roof.path.read_bytes()

        one.app.engine.sessions.files.export(DOOR, ExportOptions("canonical-jsonl"), target)
        target.write_text(target.read_text().replace("Paint the door", "Paint the gate"))
        one.app.order("session import", [DOOR, str(target)])
        await asked(one, "sessions.import")
        one.app.order("session edit", [DOOR])
        await asked(one, "sessions.edit")
        assert before == talks.door.path.read_bytes()

        one.app.order("session import", [DOOR, str(target)])
        await one.at("Review")
        await one.press("y")
        await one.told("Session replaced")
        after = talks.door.path.read_bytes()
        one.app.order("session undo", [DOOR])
        await asked(one, "sessions.undo_replacement")
        assert after == talks.door.path.read_bytes() != before


async def test_a_session_is_deleted_after_a_yes_and_an_undo_puts_it_back(transcript, talks):
    async with transcript(panes=("pools", "sessions", "transcript"), size=(120, 30)) as one:
        one.app.order("session delete", [DOOR])
        await asked(one, "sessions.delete")
        assert talks.door.path.exists()

        one.app.order("session delete", [DOOR])
        await one.at("Confirm")
        await one.press("y")
        await one.told("Session deleted")
        assert not talks.door.path.exists()
        await one.press("2", "u")
        await one.told("Undone")
        assert talks.door.path.exists()

        one.app.engine.sessions.archive.delete(DOOR)
        one.app.order("session undelete", [DOOR])
        await one.told("is back")
        assert talks.door.path.exists()
