"""The README's walk by keys: filter and act, import what was exported, edit in place, take back, the row's menu."""

from functools import partial

import pytest
from textual.drivers.headless_driver import HeadlessDriver

keys = pytest.mark.keys
ROOF, DOOR = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")


def chosen(one):
    """Return the session under the cursor."""
    found = one.app.frame.find("sessions").cursor.listed
    return None if found is None else found.session.active.session_id


def question(one):
    return one.app.screen.query_one("Input")


@keys("sessions.filter", "slash")
@keys("sessions.import", "i")
@keys("sessions.export", "x")
async def test_a_filter_leads_to_what_a_key_acts_on_and_an_import_offers_what_was_exported(
    sessions, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    async with sessions("Paint") as one:
        await one.walk(
            partial(offer_the_file_of_that_name, folder=tmp_path),
            act_at_once_behind_a_filter,
            stay_when_the_filter_is_emptied,
            partial(offer_the_latest_export, target=tmp_path / "mine.jsonl"),
        )


async def act_at_once_behind_a_filter(one):
    """Have a filter lead to the first conversation, so that a key acts at once."""
    await one.press("home", "slash", *"roof", "enter", "x")  # in one breath
    await one.at("Export")
    await one.sees("Mend the roof")

    assert ROOF == chosen(one)
    await one.back()


async def stay_when_the_filter_is_emptied(one):
    """Have the cursor stay where it is."""
    await one.press("slash")
    await one.until(lambda: not any("Paint" in row for row in one.rows("sessions")))
    await one.press("escape")
    await one.until(lambda: any("Paint" in row for row in one.rows("sessions")))

    assert ROOF == chosen(one)


async def offer_the_latest_export(one, target):
    """Have an import offer the latest lossless export, and typing replace it."""
    await one.choose("sessions", "Paint")
    await one.press("x")
    await one.at("Export")
    await one.press("ctrl+o", "ctrl+o")
    await one.until(lambda: question(one).value.endswith(".jsonl"))
    question(one).value = str(target)
    await one.press("enter")
    await one.at("Frame")
    await one.press("i")
    await one.at("Question")
    assert str(target) == question(one).value
    await one.press("q")

    assert "q" == question(one).value


async def offer_the_file_of_that_name(one, folder):
    """Have an import offer the file of that name in the working folder."""
    for exists in (False, True):
        if exists:
            (folder / f"{DOOR[:8]}.jsonl").touch()
        await one.press("i")
        await one.at("Question")
        assert (f"{DOOR[:8]}.jsonl" if exists else "") == question(one).value
        await one.back()


@pytest.fixture
def editor(tmp_path):
    """An editor that does what a test says in Python, to the file `path`; the driver lets go of its terminal."""
    with pytest.MonkeyPatch.context() as patch:
        script = tmp_path / "editor"
        patch.setenv("VISUAL", str(script))
        patch.setattr(HeadlessDriver, "can_suspend", property(lambda _: True))

        def does(source):
            script.write_text(
                f"#!/usr/bin/env python3\nimport os, pathlib, sys\npath = pathlib.Path(sys.argv[1])\n{source}\n"
            )
            script.chmod(0o755)

        yield does


def drafts(world):
    return [path for path in (world.data / "tmp").rglob("*") if path.is_file()]


_REPLACE = "path.write_text(path.read_text().replace('Paint the door', 'Paint the gate'))"


@keys("sessions.edit", "E")
@keys("sessions.undo", "u")
@keys("transcript.edit", "E")
async def test_shift_e_edits_the_turns_in_the_editor_shows_the_difference_first_and_loses_nothing(
    sessions, talks, editor, tmp_path
):
    async with sessions("Paint") as one:
        await one.walk(
            partial(name_an_editor_that_does_not_start, world=talks.world),
            partial(mend_what_cannot_be_imported, talks=talks, editor=editor),
            partial(edit_and_undo, talks=talks, editor=editor, folder=tmp_path),
            partial(write_nothing_in_the_transcript, world=talks.world, editor=editor),
        )


async def name_an_editor_that_does_not_start(one, world):
    """Have an editor that cannot be started named, and nothing left behind."""
    for line in ("/nowhere/editor", "'"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VISUAL", line)
            one.said.clear()
            await one.press("E")
            await one.told("set EDITOR to a program")
            await one.rest()

            assert [] == drafts(world)


async def mend_what_cannot_be_imported(one, talks, editor):
    """Have what cannot be imported mended and not lost."""
    editor("path.write_text(path.read_text() + 'rubbish')")
    before = talks.door.path.read_bytes()
    await one.press("E")
    await one.at("Confirm")
    editor("path.write_text(path.read_text().removesuffix('rubbish'))\n" + _REPLACE)
    await one.press("y")
    await one.at("Review")
    await one.sees("+ Paint the gate")
    await one.press("n")
    await one.at("Frame")
    await one.rest()

    assert ([], before) == (drafts(talks.world), talks.door.path.read_bytes())


async def edit_and_undo(one, talks, editor, folder):
    """Have the difference shown before anything is replaced."""
    editor(f"open({str(folder / 'mode')!r}, 'w').write(oct(path.stat().st_mode & 0o777))\n{_REPLACE}")
    before = talks.door.path.read_bytes()
    await one.press("E")
    await one.at("Review")
    await one.sees("- Paint the door", "+ Paint the gate")
    assert ("0o600", []) == ((folder / "mode").read_text(), drafts(talks.world))
    assert before == talks.door.path.read_bytes()
    await one.press("y")
    await one.told("Session replaced")
    assert b"Paint the gate" in talks.door.path.read_bytes()
    await one.press("u")
    await one.until(lambda: before == talks.door.path.read_bytes())


async def write_nothing_in_the_transcript(one, world, editor):
    """Have the transcript say when nothing was written."""
    editor("")
    await one.choose("sessions", "Mend")
    await one.press("enter")
    await one.until(lambda: one.pane == "transcript")
    await one.sees("a last nail")
    await one.press("E")
    await one.told("The file is as it was: nothing is changed")
    await one.rest()

    assert ([], "Frame") == (drafts(world), type(one.app.screen).__name__)
