"""What of an artifact is shown, and what a file of it is called: whatever agents wrote."""

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address
from oulipoly_engine.core.artifacts.versions import NewVersion, Version
from oulipoly_engine.facade.artifacts import as_text, diff
from oulipoly_engine.service.artifacts.artifact_store import make_store
from oulipoly_engine.service.transcripts.atomic_file import FileExists

SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4


def file_name(name):
    return Version(Address("run", name, 1), "f" * 64, 1, SystemClock().now()).file_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.md", "report.md"),
        ("..", "artifact"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a\\b/c", "a_b_c"),
        ("-rf ~", "rf ~"),
        (".bashrc", "bashrc"),
        ("x\u202egnp.exe", "x_gnp.exe"),
        ("漢" * 300 + ".tar", "漢" * 65 + ".tar"),
        ("b" * 300, "b" * 200),
    ],
)
def test_a_file_is_called_as_its_artifact_where_that_is_safe(name, expected):
    assert expected == file_name(name)


def test_a_preview_hides_secrets_also_split_by_colours_or_by_its_end():
    assert "a [redacted] b" == as_text(f"a {SECRET} b".encode())
    assert "a [redacted] b" == as_text(f"a {SECRET[:9]}\x1b[0m{SECRET[9:]} b".encode())
    assert "a " == as_text(f"a {SECRET[:18]}".encode(), is_whole=False)
    assert "a <U+202E>␛ b" == as_text("a \u202e\x1b b".encode())


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe", "ä".encode()[:1]])
def test_what_is_not_a_text_has_no_preview(data):
    assert as_text(data) is None


def test_a_character_that_the_end_has_cut_does_not_hide_the_text():
    assert "words " == as_text("words ä".encode()[:-1], is_whole=False)


def test_a_file_that_is_there_is_replaced_only_when_that_was_asked_for(tmp_path):
    store, _ = make_store(tmp_path / "artifacts.db", SystemClock())
    one = store.put(NewVersion(Address("run", "name")), b"new")
    longest = tmp_path / ("n" * 255)
    longest.write_text("mine")

    with pytest.raises(FileExists):
        store.save(one.address, longest, force=False)
    assert "mine" == longest.read_text()
    store.save(one.address, longest)
    assert "new" == longest.read_text()
    store.file.close()
    assert [] == list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part"))


def test_long_texts_are_compared_where_little_differs_and_told_by_their_hashes_where_much_does(tmp_path):
    store, _ = make_store(tmp_path / "artifacts.db", SystemClock())
    lines = [f"line {number}" for number in range(50_000)]
    texts = (lines, [*lines[:30_000], "another line", *lines[30_001:]], [f"- {line}" for line in lines])
    a, b, c = (store.put(NewVersion(Address("run", "name")), "\n".join(text).encode()).address for text in texts)

    assert ["-line 30000", "+another line"] == [line for line in diff(store, a, b)[3:] if line[0] in "+-"]
    assert ["-", "+"] == [line[0] for line in diff(store, a, c)]
    store.file.close()
