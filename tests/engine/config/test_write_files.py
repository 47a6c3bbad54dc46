"""Two processes that change one file: the second sees what the first has written."""

import fcntl
import os
import threading

import pytest

from oulipoly_engine.config.edit import write_files
from oulipoly_engine.config.edit.write_files import FileChange, write
from oulipoly_engine.errors import ConfigChanged, ConfigInvalid


def test_a_change_that_another_process_is_writing_is_not_overwritten(tmp_path):
    path = tmp_path / "providers.toml"
    path.write_text("before")
    said = []

    def change():
        try:
            write([FileChange(path, "before", "mine")])
        except ConfigInvalid as error:
            said.append(str(error))

    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    thread = threading.Thread(target=change)
    thread.start()
    path.write_text("theirs")
    os.close(other)
    thread.join()

    assert "theirs" == path.read_text()
    assert [f"{path} was changed in the meantime, so nothing was written: run the command again"] == said


def test_a_folder_whose_holder_hangs_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("oulipoly_engine.config.edit.write_files._PATIENCE_S", 0.0)
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)

    with pytest.raises(ConfigInvalid, match="another process changes files"):
        write([FileChange(tmp_path / "new.toml", None, "mine")])
    os.close(other)
    assert not (tmp_path / "new.toml").exists()


def test_what_a_killed_process_has_left_goes_with_the_next_change(tmp_path):
    (tmp_path / ".providers.toml.new-a1b2c3d4").write_text("half")
    (tmp_path / ".providers.toml.original").write_text("the user's")
    write([FileChange(tmp_path / "providers.toml", None, "mine")])

    assert {".providers.toml.original", "providers.toml"} == {one.name for one in tmp_path.glob("*providers*")}


def test_who_makes_a_folder_holds_it_too(tmp_path, monkeypatch):
    """Who comes later finds the folder, and would hold that alone: both were at work in it at once."""
    folder, prepare, said = tmp_path / "new" / "models", write_files._prepare, []

    def prepare_late(*arguments):
        with pytest.raises(ConfigInvalid) as refused:
            write([FileChange(folder / "theirs.toml", None, "theirs")])
        said.append(str(refused.value))
        return prepare(*arguments)

    monkeypatch.setattr(write_files, "_PATIENCE_S", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(write_files, "_prepare", prepare_late)
        write([FileChange(folder / "mine.toml", None, "mine")])

    assert [f"another process changes files in {folder}, so nothing was written: run the command again"] == said
    assert ["mine.toml"] == [one.name for one in folder.iterdir()]


def test_what_is_refused_leaves_no_folder(tmp_path):
    (tmp_path / "there.toml").write_text("now")
    changes = [
        FileChange(tmp_path / "a" / "b" / "new.toml", None, "x"),
        FileChange(tmp_path / "there.toml", "old", "x"),
    ]
    with pytest.raises(ConfigChanged):
        write(changes)

    assert not (tmp_path / "a").exists()
