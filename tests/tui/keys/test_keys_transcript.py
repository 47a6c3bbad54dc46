"""Every key of the Transcript pane in the real app."""

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


@keys("transcript.unfold", "o")
@keys("transcript.unfold_all", "O")
async def test_o_unfolds_the_part_of_the_cursor_and_shift_o_all(transcript):
    async with transcript() as one:
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


@keys("transcript.find", "slash")
@keys("transcript.find_next", "n")
@keys("transcript.find_before", "N")
async def test_find_goes_to_the_text_and_on_to_the_next_and_back(transcript):
    async with transcript() as one:
        await one.press("g")
        await go_to_text(one, "nail")
        assert 4 == view(one).here[0]
        for key, expected in (("n", 5), ("n", 7), ("N", 5)):
            await one.press(key)
            await one.until(lambda expected=expected: place(one) == expected)


@keys("transcript.turn_next", "right_square_bracket")
@keys("transcript.turn_before", "left_square_bracket")
@keys("transcript.user_next", "right_curly_bracket")
@keys("transcript.user_before", "left_curly_bracket")
async def test_brackets_go_from_turn_to_turn_and_braces_to_the_user_s(transcript):
    async with transcript() as one:
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


@keys("transcript.copy", "y")
@keys("transcript.copy_code", "Y")
async def test_message_and_code_block_are_copied(transcript):
    async with transcript() as one:
        await one.press("y")
        await one.told("Copied The ladder stands; a last nail.")
        assert "The ladder stands; a last nail." == one.app.clipboard
        await go_to_text(one, "print('roof')")
        await one.press("Y")
        await one.until(lambda: one.app.clipboard.strip() == "print('roof')")


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


@keys("transcript.pager", "p")
@keys("transcript.editor", "e")
async def test_pager_and_editor_get_the_whole_conversation(programs, transcript):
    async with transcript() as one:
        for key, name in (("p", "PAGER"), ("e", "EDITOR")):
            await one.press(key)
            await one.until((programs / name).exists)
            await one.rest()
            text = (programs / name).read_text()
            assert "Mend the roof please" in text
            assert "a last nail" in text
        await one.sees("a last nail")


@keys("transcript.provenance", "i")
async def test_i_names_file_line_hash_and_account_of_the_turn(talks, transcript):
    async with transcript() as one:
        await one.press("i")
        await one.at("Reading")
        assert "Where this turn comes from" == one.title
        line = talks.roof.path.read_bytes().splitlines()[-1]
        await one.sees(sha256(line).hexdigest(), f"{ROOF}.jsonl", "eve")


@keys("transcript.side_chains", "s")
@keys("frame.back", "escape")
async def test_s_steps_into_a_sub_agent_s_conversation_and_escape_out(transcript):
    async with transcript() as one:
        await one.press("s")
        await one.at("Choice")
        await one.press("enter")
        await one.sees("There are forty", "sub-agent session")
        await one.press("x")
        await one.told("this is a sub-agent session: esc steps out of it")
        await one.press("escape")
        await one.sees("a last nail")


@keys("transcript.secrets", "S")
async def test_shift_s_shows_secrets_and_hides_them_again(transcript):
    async with transcript() as one:
        await go_to_text(one, "The key is")
        assert "sk-ant-api03-Ab1" not in one.text
        await one.press("S")
        await one.told("Secrets are shown")
        await one.sees("sk-ant-api03-Ab1Cd2Ef3G")
        await one.press("S")
        await one.told("Secrets are hidden")
        await one.misses("sk-ant-api03-Ab1")


@keys("transcript.resume", "r")
@keys("transcript.fork", "f")
async def test_r_goes_on_with_it_in_a_terminal_and_f_in_a_new_session(transcript, hosts):
    async with transcript() as one:
        await with_list_elsewhere(one)
        for key, how in (("r", "resume"), ("f", "fork")):
            await one.press(key)
            await one.until(lambda: one.pane == "repl")
            await one.sees(f"hello eve --{how} {ROOF[:8]}")
            await one.turn_to("transcript")


async def with_list_elsewhere(one):
    """Put the list's cursor on another session, while this one stays open."""
    await one.choose("sessions", "Paint")
    assert "Paint the door" == one.app.frame.find("sessions").cursor.listed.session.title
    await one.sees("4 Transcript · Mend the roof please")


@keys("transcript.elsewhere", "a")
async def test_a_goes_on_on_another_account_with_what_is_shown(transcript, hosts):
    async with transcript() as one:
        await with_list_elsewhere(one)
        await one.press("a")
        await one.at("Choice")
        assert "Go on with “Mend the roof please” where?" == one.title
        await one.press("enter")
        await one.sees(f"hello eva --resume {ROOF[:8]}")


@keys("transcript.move", "M")
@keys("transcript.undo", "u")
async def test_what_is_shown_moves_to_another_account_and_back(transcript):
    def account(one):
        return one.app.engine.sessions.catalogue.find(ROOF).active.account

    async with transcript() as one:
        await with_list_elsewhere(one)
        assert "there is nothing to undo" == one.app.reason_against(one.app.keys.find("transcript.undo"))
        await one.press("M")
        await one.at("Choice")
        assert "Move “Mend the roof please” where?" == one.title
        await one.press("enter")
        await one.at("Confirm")
        await one.sees("Move “Mend the roof please”?", "From eve to eva")
        await one.press("y")
        await one.told("moved to eva. u: undo")
        assert "eva" == account(one)
        await one.press("u")
        await one.until(lambda: "eve" == account(one))


@keys("transcript.export", "x")
@keys("transcript.import", "X")
async def test_what_is_shown_is_written_to_a_file_and_imported_after_a_look(talks, transcript, tmp_path):
    target = tmp_path / "roof.jsonl"
    async with transcript() as one:
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
    assert b"Mend the wall please" in talks.roof.path.read_bytes()


def is_listed_as_there(one):
    board = one.app.frame.find("sessions").reading.board
    return next(row.has_transcript for row in board.rows if row.session.active.session_id == ROOF)


async def test_a_deleted_transcript_is_told_stays_readable_and_is_followed_again_when_it_is_back(talks, transcript):
    before = talks.roof.path.read_bytes()
    async with transcript() as one:
        await one.sees("eve · live")
        talks.roof.path.unlink()
        await one.sees("eve · its file is gone", "a last nail")
        await one.until(lambda: not is_listed_as_there(one))
        await one.press("i")
        await one.at("Reading")
        await one.sees("the CLI's transcript, whose file is gone")
        await one.back()
        talks.roof.path.write_bytes(before)
        await one.sees("eve · live")
        await one.until(lambda: is_listed_as_there(one))
        talks.roof.say("user", "One more nail")
        await one.sees("One more nail")


async def test_r_says_that_the_transcript_is_gone_and_what_puts_it_back(talks, transcript):
    async with transcript() as one:
        await one.turn_to("sessions")
        await one.press("A")
        await one.until(lambda: one.app.frame.find("sessions").reading.board.kept)
        await one.turn_to("transcript")
        talks.roof.path.unlink()
        await one.press("r")
        await one.told("its transcript is gone: B under Sessions restores the archive's copy")

        assert "transcript" == one.pane


async def test_a_kept_copy_gives_way_to_the_transcript_that_is_back_when_it_is_opened_again(talks, sessions):
    async with sessions() as one:
        await one.press("A")  # all that the account has
        await one.until(lambda: one.app.frame.find("sessions").reading.board.kept)
        talks.door.path.unlink()
        await one.choose("sessions", "Paint the d")
        await one.press("enter")
        await one.sees("eve · kept copy · live", "Green it is.")
        await one.turn_to("sessions")
        await one.press("B")
        await one.until(talks.door.path.exists)
        await one.press("enter")
        await one.sees("eve · live", "Green it is.")
        talks.door.say("user", "Blue after all")
        await one.sees("Blue after all")


async def test_lines_that_cannot_be_read_are_counted_at_the_edge_and_under_i(talks, transcript):
    async with transcript() as one:
        for line, expected in (("no json", "line 9 unreadable"), ("nor this", "2 lines unreadable, first 9")):
            with talks.roof.path.open("a") as file:
                file.write(line + "\n")
            await one.sees(f"eve · live · {expected}")
        await one.press("i")
        await one.at("Reading")
        await one.sees("damage    2 lines unreadable, first 9")
