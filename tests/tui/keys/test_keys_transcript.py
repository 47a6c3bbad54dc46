"""Every key of the Transcript pane in the real app; how it goes on in a terminal is in test_keys_sessions."""

from functools import partial
from hashlib import sha256

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from oulipoly_tui.widgets.places.transcript_view import TranscriptView

keys = pytest.mark.keys
ROOF = "11111111-1111-4111-8111-111111111111"


def view(one):
    return one.app.frame.query_one("#transcript-view", TranscriptView)


def place(one):
    """Return the number of the entry under the cursor; None: there is none yet."""
    here = view(one).here
    return None if here is None else here[0]


async def go_to_text(one, text):
    """Put the cursor on a text by finding it."""
    await one.press("slash")
    await one.until(lambda: one.app.focused.id == "transcript-find")
    one.app.focused.value = ""
    await one.type(text)
    await one.press("enter")
    await one.until(lambda: view(one).here is not None and text in "".join(part for part, _ in view(one).here[1].line))


@pytest.fixture
def programs(tmp_path):
    """A pager and an editor that keep what they are given; the driver of the tests lets go of its terminal."""
    with pytest.MonkeyPatch.context() as patch:
        for name, source in (("PAGER", "cat"), ("EDITOR", 'cat "$1"')):
            script = tmp_path / name.lower()
            script.write_text(f"#!/bin/sh\n{source} > {tmp_path}/{name}\n")
            script.chmod(0o755)
            patch.setenv(name, str(script))
        patch.delenv("VISUAL", raising=False)
        patch.setattr(HeadlessDriver, "can_suspend", property(lambda _: True))
        yield tmp_path


async def copy(one):
    await one.press("y")
    await one.told("Copied The ladder stands; a last nail.")
    assert "The ladder stands; a last nail." == one.app.clipboard
    await go_to_text(one, "print('roof')")
    await one.press("Y")
    await one.until(lambda: one.app.clipboard.strip() == "print('roof')")


async def to_the_end(one):
    """Put the cursor on the last entry, where a transcript is opened."""
    await one.press("G")
    await one.until(lambda: place(one) == 7)


async def unfold(one):
    await one.press("g")
    await one.sees("▸ thinking", "▸ result")
    while "thinking" not in "".join(text for text, _ in view(one).here[1].line):
        await one.press("j")
    await one.press("o")
    await one.sees("The red ones.", "▸ result")
    await one.press("o")
    await one.misses("│ The red ones.")
    await one.press("O")
    await one.sees("The red ones.", "│ tile-two")
    await one.press("O")
    await one.misses("│ tile-two")


async def find_nails(one):
    await one.press("g")
    await go_to_text(one, "nail")
    assert 4 == view(one).here[0]
    for key, expected in (("n", 5), ("n", 7), ("N", 5)):
        await one.press(key)
        await one.until(lambda expected=expected: place(one) == expected)


async def go_by_turns(one):
    await to_the_end(one)
    await one.press("left_curly_bracket")
    await one.until(lambda: place(one) == 6)
    for key, expected in (
        ("left_square_bracket", 5),
        ("left_square_bracket", 4),
        ("right_square_bracket", 5),
        ("right_curly_bracket", 6),
        ("left_curly_bracket", 4),
    ):
        await one.press(key)
        await one.until(lambda expected=expected: place(one) == expected)
        assert "4 Transcript" in one.text


async def hand_over_to_programs(one, programs):
    for key, name in (("p", "PAGER"), ("e", "EDITOR")):
        await one.press(key)
        await one.until((programs / name).exists)
        await one.rest()
        text = (programs / name).read_text()
        assert "Mend the roof please" in text
        assert "a last nail" in text
    await one.sees("a last nail")


async def ask_where_a_turn_comes_from(one, talks):
    await to_the_end(one)
    await one.press("i")
    await one.at("Reading")
    assert "Where this turn comes from" == one.title
    line = talks.roof.path.read_bytes().splitlines()[-1]
    await one.sees(sha256(line).hexdigest(), f"{ROOF}.jsonl", "eve")
    await one.back()


async def step_into_a_sub_agent(one):
    await one.press("s")
    await one.at("Choice")
    await one.press("enter")
    await one.sees("There are forty", "sub-agent session")
    await one.press("x")
    await one.told("this is a sub-agent session: esc steps out of it")
    await one.press("escape")
    await one.sees("a last nail")


async def show_secrets(one):
    await go_to_text(one, "The key is")
    assert "sk-ant-api03-Ab1" not in one.text
    await one.press("S")
    await one.told("Secrets are shown")
    await one.sees("sk-ant-api03-Ab1Cd2Ef3G")
    await one.press("S")
    await one.told("Secrets are hidden")
    await one.misses("sk-ant-api03-Ab1")


@keys("transcript.unfold", "o")
@keys("transcript.unfold_all", "O")
@keys("transcript.find", "slash")
@keys("transcript.find_next", "n")
@keys("transcript.find_before", "N")
@keys("transcript.turn_next", "right_square_bracket")
@keys("transcript.turn_before", "left_square_bracket")
@keys("transcript.user_next", "right_curly_bracket")
@keys("transcript.user_before", "left_curly_bracket")
@keys("transcript.copy", "y")
@keys("transcript.copy_code", "Y")
@keys("transcript.secrets", "S")
@keys("transcript.provenance", "i")
@keys("transcript.side_chains", "s")
@keys("transcript.pager", "p")
@keys("transcript.editor", "e")
@keys("frame.back", "escape")
async def test_a_transcript_is_unfolded_searched_walked_copied_and_traced(programs, talks, transcript):
    async with transcript() as one:
        await one.walk(
            copy,
            unfold,
            find_nails,
            go_by_turns,
            show_secrets,
            partial(ask_where_a_turn_comes_from, talks=talks),
            step_into_a_sub_agent,
            partial(hand_over_to_programs, programs=programs),
        )


async def with_list_elsewhere(one):
    """Put the list's cursor on another session, while this one stays open."""
    await one.choose("sessions", "Paint")
    assert "Paint the door" == one.app.frame.find("sessions").cursor.listed.session.title
    await one.sees("4 Transcript · Mend the roof please")


@keys("transcript.move", "M")
@keys("transcript.undo", "u")
@keys("transcript.export", "x")
@keys("transcript.import", "X")
@keys("transcript.elsewhere", "a")
async def test_what_is_shown_moves_and_back_is_imported_after_a_look_and_goes_on_elsewhere(
    talks, transcript, hosts, tmp_path
):
    async with transcript() as one:
        await with_list_elsewhere(one)
        assert "there is nothing to undo" == one.app.reason_against(one.app.keys.find("transcript.undo"))
        await one.walk(move_and_undo, partial(export_and_import, target=tmp_path / "roof.jsonl"))
        assert b"Mend the wall please" in talks.roof.path.read_bytes()
        await one.walk(go_on_elsewhere)


async def move_and_undo(one):
    def account():
        return one.app.engine.sessions.catalogue.find(ROOF).active.account

    await one.press("M")
    await one.at("Choice")
    assert "Move “Mend the roof please” where?" == one.title
    await one.press("enter")
    await one.at("Confirm")
    await one.sees("Move “Mend the roof please”?", "From eve to eva")
    await one.press("y")
    await one.told("moved to eva. u: undo")
    assert "eva" == account()
    await one.press("u")
    await one.until(lambda: "eve" == account())


async def export_and_import(one, target):
    await with_list_elsewhere(one)
    await one.press("x")
    await one.at("Export")
    assert "Export “Mend the roof please”" == one.title
    await one.press("ctrl+o", "ctrl+o")
    await one.until(lambda: one.app.screen.query_one("Input").value.endswith(".jsonl"))
    one.app.screen.query_one("Input").value = str(target)
    await one.press("enter")
    await one.until(target.exists)
    await one.at("Frame")
    target.write_text(target.read_text().replace("Mend the roof please", "Mend the wall please"))
    await one.press("X")
    await one.at("Question")
    assert "Import into “Mend the roof please”" == one.title
    assert str(target) == one.app.screen.query_one("Input").value
    await one.press("enter")
    await one.at("Review")
    await one.sees("Mend the wall please")
    await one.press("y")
    await one.told("Session replaced. u: undo")


async def go_on_elsewhere(one):
    """Have `a` go on on another account with what is shown."""
    await one.until(lambda: listed(one).session.title == "Mend the wall please")  # the list is read behind the import
    await with_list_elsewhere(one)
    await one.press("a")
    await one.at("Choice")
    assert "Go on with “Mend the wall please” where?" == one.title
    await one.press("enter")
    await one.sees(f"hello eva --resume {ROOF[:8]}")


def listed(one):
    board = one.app.frame.find("sessions").reading.board
    return next(row for row in board.rows if row.session.active.session_id == ROOF)


def is_listed_as_there(one):
    return listed(one).has_transcript


async def test_a_transcript_s_file_is_followed_when_it_is_deleted_put_back_damaged_and_archived(talks, transcript):
    async with transcript() as one:
        await one.walk(
            partial(stay_readable_without_the_file, roof=talks.roof),
            partial(count_damaged_lines, roof=talks.roof),
            partial(say_that_the_archive_has_it, roof=talks.roof),
            partial(read_a_kept_copy, door=talks.door),
        )


async def stay_readable_without_the_file(one, roof):
    """Have a deleted transcript told, kept readable, and followed again when it is back."""
    before = roof.path.read_bytes()
    await one.sees("eve · live")
    roof.path.unlink()
    await one.sees("eve · its file is gone", "a last nail")
    await one.until(lambda: not is_listed_as_there(one))
    await one.press("i")
    await one.at("Reading")
    await one.sees("the CLI's transcript, whose file is gone")
    await one.back()
    roof.path.write_bytes(before)
    await one.sees("eve · live")
    await one.until(lambda: is_listed_as_there(one))
    roof.say("user", "One more nail")
    await one.sees("One more nail")


async def count_damaged_lines(one, roof):
    """Have lines that cannot be read counted at the edge and under `i`."""
    for line, expected in (("no json", "line 10 unreadable"), ("nor this", "2 lines unreadable, first 10")):
        with roof.path.open("a") as file:
            file.write(line + "\n")
        await one.sees(f"eve · live · {expected}")
    await one.press("i")
    await one.at("Reading")
    await one.sees("damage    2 lines unreadable, first 10")
    await one.back()


async def say_that_the_archive_has_it(one, roof):
    """Have `r` say that the transcript is gone and what puts it back."""
    await one.turn_to("sessions")
    await one.press("A")  # all that the account has
    await one.until(lambda: one.app.frame.find("sessions").reading.board.kept)
    await one.turn_to("transcript")
    roof.path.unlink()
    await one.press("r")
    await one.told("its transcript is gone: B under Sessions restores the archive's copy")

    assert "transcript" == one.pane


async def read_a_kept_copy(one, door):
    """Have a kept copy give way to the transcript that is back when it is opened again."""
    door.path.unlink()
    await one.turn_to("sessions")
    await one.choose("sessions", "Paint the d")
    await one.press("enter")
    await one.sees("eve · kept copy · live", "Green it is.")
    await one.turn_to("sessions")
    await one.press("B")
    await one.until(door.path.exists)
    await one.press("enter")
    await one.sees("eve · live", "Green it is.")
    door.say("user", "Blue after all")
    await one.sees("Blue after all")
