"""Lines of a transcript come whole, or as the length of one that is too long."""

import io

import pytest

from oulipoly_engine.adapters.transcript_file import lines_of, open_to_append, open_transcript, read_transcript
from oulipoly_engine.core.transcripts.canonical import LongLine
from oulipoly_engine.errors import TranscriptMalformed


@pytest.mark.parametrize("longest", [4, 5, 6, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "open"])
def test_lines_up_to_the_limit_are_whole_and_longer_ones_are_only_counted(longest, end):
    sizes = [1, 4, 5, 6, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2 << 20, (4 << 20) + 7, 2]
    lines = [b"x" * (size - 1) + b"\n" for size in sizes] + [b"y" * 5 + end]

    found = list(lines_of(io.BytesIO(b"".join(lines)), longest))

    assert [line if len(line) <= longest else LongLine(len(line)) for line in lines] == found


def test_a_transcript_with_a_long_line_is_not_read_as_a_whole(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"{}\n" + b"x" * 20 + b"\n")

    assert path.read_bytes() == read_transcript(path, 21)
    with pytest.raises(TranscriptMalformed, match=r"line 2: from byte 3 on it has 21 bytes, more than") as caught:
        read_transcript(path, 20)
    assert 2 == caught.value.extra["line"]


@pytest.mark.parametrize("opens", [open_transcript, open_to_append])
def test_a_link_is_opened_neither_to_be_read_nor_to_be_appended_to(tmp_path, opens):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "file")

    with pytest.raises(OSError, match=r"it is a link|Too many levels"):
        opens(tmp_path / "link")
    opens(tmp_path / "file").close()
