"""Files that are there whole or not at all."""

import pytest

from oulipoly_engine.service.transcripts.atomic_file import new_file


@pytest.mark.parametrize("name", ["n" * 255, "\u6539" * 85], ids=["letters", "three bytes each"])
def test_file_may_have_the_longest_name(tmp_path, name):
    folder = tmp_path / "out"
    folder.mkdir()

    with new_file(folder / name) as file:
        file.write(b"all of it")

    assert {name: b"all of it"} == {path.name: path.read_bytes() for path in folder.iterdir()}
