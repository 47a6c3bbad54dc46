"""Pages of a transcript: any place costs the same, what is appended is taken in, where it comes from is told."""

import json
import tracemalloc
from hashlib import sha256

import pytest

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.transcripts.document_head import Origin
from oulipoly_engine.service.reading.pages import Damage, FilePages, text_of

SECRET = "sk-ant-" + "api03-" + "A1b2C3d4" * 6


def record(number, text, kind="user", **more):
    message = {"role": kind, "content": [{"type": "text", "text": text}]}
    uuid, at = f"uuid-{number}", f"2026-11-20T12:00:{number % 60:02}.000Z"
    return json.dumps({"type": kind, "uuid": uuid, "sessionId": "s", "timestamp": at, "message": message, **more})


@pytest.fixture
def path(tmp_path):
    lines = [record(0, "zero"), json.dumps({"type": "mode", "x": 1}), "{rubbish", record(1, "one", "assistant")]
    found = tmp_path / "s.jsonl"
    found.write_text("\n".join(lines) + "\n")
    return found


@pytest.fixture
def pages(path):
    found = FilePages(path, StorageType.CLAUDE_CODE)
    yield found
    found.close()


def texts(pages, start=0, count=100, **more):
    placed_entries = pages.page(start, count, redacting=more.get("redacting", True))
    return [None if placed.entry is None else text_of(placed.entry) for placed in placed_entries]


def test_only_lines_that_may_hold_a_turn_have_a_place(pages):
    assert ["zero", "one"] == texts(pages)


def test_a_page_beyond_the_end_is_cut(pages):
    assert ["one"] == texts(pages, 1, 50)
    assert [] == texts(pages, 7, 50)


def test_provenance_is_the_lines_own_bytes(pages, path):
    found = pages.provenance(1)
    line = path.read_bytes().splitlines()[3]

    assert (4, sha256(line).hexdigest()) == (found.line, found.sha256)
    assert line == path.read_bytes()[found.byte_start : found.byte_end]
    assert Origin.TRANSCRIPT is found.origin


def test_an_append_is_growth_from_the_first_new_place(pages, path):
    assert pages.grow() is None
    with path.open("a") as file:
        file.write(record(2, "two") + "\n")
    growth = pages.grow()

    assert (3, 2, False) == (growth.length, growth.first_changed, growth.is_new_file)
    assert ["zero", "one", "two"] == texts(pages)


def test_a_line_written_in_halves_is_shown_when_it_is_whole(pages, path):
    line = record(2, "two halves")
    with path.open("a") as file:
        file.write(line[:70])
        file.flush()
        pages.grow()
        file.write(line[70:] + "\n")
    growth = pages.grow()

    assert 3 == growth.length
    assert growth.first_changed <= 2
    assert "two halves" == texts(pages)[-1]


def test_a_file_rewritten_in_place_is_a_new_one_even_when_it_is_longer(pages, path):
    path.write_text(record(9, "something else") + "\n" + record(10, "and longer " * 99) + "\n")
    growth = pages.grow()

    assert growth.is_new_file
    assert "something else" == texts(pages)[0]


def test_a_file_put_in_its_place_is_a_new_one(pages, path, tmp_path):
    other = tmp_path / "other"
    other.write_text(record(9, "another") + "\n")
    other.replace(path)

    assert pages.grow().is_new_file
    assert ["another"] == texts(pages)


def test_a_vanished_file_stays_readable_and_is_told_once(pages, path):
    path.unlink()
    growth = pages.grow()

    assert (2, 2, True) == (growth.length, growth.first_changed, growth.is_gone)
    assert pages.grow() is None
    assert pages.is_gone
    assert pages.provenance(0).is_gone
    assert ["zero", "one"] == texts(pages)


def test_a_file_that_is_there_again_is_told_and_read(pages, path):
    before = path.read_text()
    path.unlink()
    pages.grow()
    path.write_text(before + record(2, "two") + "\n")
    growth = pages.grow()

    assert (3, True, True) == (growth.length, growth.is_new_file, growth.is_back)
    assert not pages.is_gone
    assert ["zero", "one", "two"] == texts(pages)


def test_a_file_that_was_moved_away_and_back_goes_on_where_it_was(pages, path):
    away = path.rename(path.with_name("away"))
    pages.grow()
    away.rename(path)
    growth = pages.grow()

    assert (2, 2, False, True) == (growth.length, growth.first_changed, growth.is_new_file, growth.is_back)
    assert pages.grow() is None


def test_lines_that_are_no_record_are_counted_with_the_first_one_s_number(pages, path):
    assert Damage(1, 3) == pages.damage
    with path.open("a") as file:
        file.write("no json\n\n" + record(2, "two") + "\r\n[1]\n")
    pages.grow()

    assert Damage(3, 3) == pages.damage
    assert Damage(3, 3) == pages.provenance(0).damage
    assert ["zero", "one", "two"] == texts(pages)


def test_a_last_line_is_not_unreadable_before_it_is_ended(pages, path):
    line = record(2, "two halves")
    with path.open("a") as file:
        file.write(line[:70])
        file.flush()
        pages.grow()
        halfway = pages.damage
        file.write(line[70:] + "\n")
    pages.grow()

    assert [Damage(1, 3)] * 2 == [halfway, pages.damage]


def test_a_rewritten_file_has_its_own_damage(pages, path):
    path.write_text(record(9, "whole") + "\n")
    pages.grow()

    assert Damage() == pages.damage


def test_secrets_are_hidden_unless_they_are_asked_for(path):
    path.write_text(record(0, f"token={SECRET}") + "\n")
    pages = FilePages(path, StorageType.CLAUDE_CODE)

    assert SECRET not in texts(pages)[0]
    assert SECRET in texts(pages, redacting=False)[0]
    pages.close()


def test_find_shows_the_first_place_of_those_asked_whatever_the_case(path):
    path.write_text("".join(record(number, f"Line {number % 10} ÄPFEL") + "\n" for number in range(30)))
    pages = FilePages(path, StorageType.CLAUDE_CODE)

    assert 7 == pages.find("line 7", range(30))
    assert 17 == pages.find("line 7", range(8, 30))
    assert 27 == pages.find("LINE 7", range(29, -1, -1))
    assert 0 == pages.find("äpfel", range(30))
    assert pages.find("nowhere", range(30)) is None
    pages.close()


def test_a_key_of_the_format_is_not_taken_for_a_text(pages):
    assert pages.find("sessionId", range(2)) is None


def test_a_turn_is_found_by_its_id(pages):
    assert 1 == pages.place_of("uuid-1")
    assert pages.place_of("uuid-77") is None


def test_a_hundred_thousand_turns_open_without_reading_one(tmp_path, monkeypatch):
    path = tmp_path / "long.jsonl"
    line = record(1, "x" * 200) + "\n"
    path.write_text(line * 100_000)
    read = []
    monkeypatch.setattr(FilePages, "_entry", lambda self, place: read.append(place))
    pages = FilePages(path, StorageType.CLAUDE_CODE)
    pages.page(99_980, 32, redacting=True)

    assert 100_000 == len(pages)
    assert list(range(99_980, 100_000)) == read
    pages.close()


def test_a_short_transcript_takes_little_memory(path):
    tracemalloc.start()
    try:
        FilePages(path, StorageType.CLAUDE_CODE).close()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1 << 20


def test_a_line_that_is_too_long_is_damage_and_what_comes_behind_it_is_read(path):
    long = record(2, "x" * (5 << 20)).encode() + b"\n"
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(long[: 4 << 20])
    pages = FilePages(path, StorageType.CLAUDE_CODE, longest_line=1 << 20)
    before = texts(pages)
    grown = []
    for part in (long[4 << 20 : -9], long[-9:], record(3, "three").encode() + b"\n"):
        with path.open("ab") as file:
            file.write(part)
        grown.append((pages.grow().length, pages.damage))
    found, place = texts(pages), pages.provenance(2)
    pages.close()

    assert (["zero", "one"], ["zero", "one", "three"]) == (before, found)
    assert [(2, Damage(1, 3)), (2, Damage(2, 3)), (3, Damage(2, 3))] == grown
    assert (6, size + len(long)) == (place.line, place.byte_start)
