"""The README's walk by keys: filter and act, import what was exported, edit in place, take back, the row's menu."""

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
@keys("sessions.export", "x")
async def test_a_filter_leads_to_the_first_conversation_so_that_a_key_acts_at_once(sessions):
    async with sessions("Paint") as one:
        await one.press("home", "slash", *"roof", "enter", "x")  # in one breath
        await one.at("Export")
        await one.sees("Mend the roof")

        assert ROOF == chosen(one)


async def test_an_emptied_filter_leaves_the_cursor_where_it_is(sessions):
    async with sessions("Paint") as one:
        await one.press("slash", *"roof")
        await one.until(lambda: ROOF == chosen(one))
        await one.press("escape")
        await one.until(lambda: any("Paint" in row for row in one.rows("sessions")))

        assert ROOF == chosen(one)


@keys("sessions.import", "i")
@keys("sessions.export", "x")
async def test_an_import_offers_the_latest_lossless_export_and_typing_replaces_it(sessions, tmp_path):
    async with sessions("Paint") as one:
        await one.press("x")
        await one.at("Export")
        await one.press("ctrl+o", "ctrl+o")
        await one.until(lambda: question(one).value.endswith(".jsonl"))
        question(one).value = str(tmp_path / "mine.jsonl")
        await one.press("enter")
        await one.at("Frame")
        await one.press("i")
        await one.at("Question")
        assert str(tmp_path / "mine.jsonl") == question(one).value
        await one.press("q")

        assert "q" == question(one).value


async def test_an_import_offers_the_file_of_that_name_in_the_working_folder(sessions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with sessions("Paint") as one:
        for exists in (False, True):
            if exists:
                (tmp_path / f"{DOOR[:8]}.jsonl").touch()
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
async def test_shift_e_edits_the_turns_in_the_editor_and_shows_the_difference_first(sessions, talks, editor, tmp_path):
    editor(f"open({str(tmp_path / 'mode')!r}, 'w').write(oct(path.stat().st_mode & 0o777))\n{_REPLACE}")
    before = talks.door.path.read_bytes()
    async with sessions("Paint") as one:
        await one.press("E")
        await one.at("Review")
        await one.sees("- Paint the door", "+ Paint the gate")
        assert ("0o600", []) == ((tmp_path / "mode").read_text(), drafts(talks.world))
        assert before == talks.door.path.read_bytes()
        await one.press("y")
        await one.told("Session replaced")
        assert b"Paint the gate" in talks.door.path.read_bytes()
        await one.press("u")
        await one.until(lambda: before == talks.door.path.read_bytes())


@keys("transcript.edit", "E")
async def test_shift_e_in_the_transcript_says_when_nothing_was_written(transcript, talks, editor):
    editor("")
    async with transcript() as one:
        await one.press("E")
        await one.told("The file is as it was: nothing is changed")
        await one.rest()

        assert ([], "Frame") == (drafts(talks.world), type(one.app.screen).__name__)


async def test_what_cannot_be_imported_can_be_mended_and_is_not_lost(sessions, talks, editor):
    editor("path.write_text(path.read_text() + 'rubbish')")
    before = talks.door.path.read_bytes()
    async with sessions("Paint") as one:
        await one.press("E")
        await one.at("Confirm")
        editor("path.write_text(path.read_text().removesuffix('rubbish'))\n" + _REPLACE)
        await one.press("y")
        await one.at("Review")
        await one.sees("+ Paint the gate")
        await one.press("n")
        await one.at("Frame")

    assert ([], before) == (drafts(talks.world), talks.door.path.read_bytes())


@pytest.mark.parametrize("line", ["/nowhere/editor", "'"])
async def test_an_editor_that_cannot_be_started_is_named_and_leaves_nothing_behind(sessions, talks, editor, line):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VISUAL", line)
        async with sessions("Paint") as one:
            await one.press("E")
            await one.told("set EDITOR to a program")

            assert [] == drafts(talks.world)
