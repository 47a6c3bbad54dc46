"""Which capabilities there are, and how many notes an agent may keep."""

import pytest

from oulipoly_engine.core.agents.capabilities import (
    CAPABILITIES,
    Note,
    check_key,
    check_notes,
    keep_known,
    parse_capabilities,
)
from oulipoly_engine.core.images.names import check_label
from oulipoly_engine.errors import UsageInvalid


def test_unknown_capabilities_are_dropped_from_a_file_and_refused_to_a_person():
    assert keep_known(["note_save", "shell", "agent-list", "note-save"]) == ("note-save", "agent-list")
    assert parse_capabilities(["note_save"]) == ("note-save",)
    with pytest.raises(UsageInvalid, match=r"'shell'.*note-save, note-get"):
        parse_capabilities(["note-save", "shell"])


def test_each_capability_has_the_name_of_a_label():
    assert [name for name in CAPABILITIES if check_label(name)] == []


@pytest.mark.parametrize("key", ["", " a", "a\nb", "a" * 101])
def test_a_key_is_a_short_line(key):
    with pytest.raises(UsageInvalid, match="key of a note"):
        check_key(key)


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ([Note(str(number), "") for number in range(501)], "500 notes"),
        ([Note("a", "x" * 65537)], "65,536"),
        ([Note("a", "x" * 9000, is_pinned=True), Note("b", "x" * 9000, is_pinned=True)], "unpin"),
    ],
    ids=["many", "long", "pinned"],
)
def test_too_many_notes_are_refused_with_what_to_do(notes, words):
    with pytest.raises(UsageInvalid, match=words):
        check_notes(notes)
