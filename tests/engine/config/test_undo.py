"""What was changed can be undone, also by whoever was cut off while doing so."""

import pytest

from oulipoly_engine.config.edit import undo
from oulipoly_engine.config.edit.write_files import FileChange, write
from oulipoly_engine.errors import RequestRefused


def test_an_undo_that_was_cut_off_is_finished_by_the_next_one(tmp_path, monkeypatch):
    step = undo.Step("added the account b", (FileChange(tmp_path / "providers.toml", None, "[b]\n"),))
    undo.write_step(tmp_path, undo.Step("added the account a", (FileChange(tmp_path / "a.toml", None, "[a]\n"),)))
    undo.write_step(tmp_path, step)

    def write_and_die(changes):
        write(changes)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(undo, "write", write_and_die)
        with pytest.raises(KeyboardInterrupt):
            undo.undo_last(tmp_path)

    assert step == undo.undo_last(tmp_path)
    assert [True, False] == [(tmp_path / name).exists() for name in ("a.toml", "providers.toml")]


def test_a_change_that_nobody_was_asked_about_is_not_undone(tmp_path):
    undo.write_step(tmp_path, undo.Step("added the account a", (FileChange(tmp_path / "a.toml", None, "[a]\n"),)))
    asked = undo.last_step(tmp_path)
    undo.write_step(tmp_path, undo.Step("added the account b", (FileChange(tmp_path / "b.toml", None, "[b]\n"),)))

    with pytest.raises(RequestRefused, match="another one meanwhile, so nothing was undone: added the account b"):
        undo.undo_last(tmp_path, asked)
    assert (tmp_path / "b.toml").exists()
    assert "added the account b" == undo.undo_last(tmp_path).what
    assert "added the account a" == undo.undo_last(tmp_path, asked).what


def test_all_changes_of_one_set_up_are_kept_and_count_as_one(tmp_path):
    def change(number, run=""):
        file = FileChange(tmp_path / f"{number}.toml", None, "x = 1\n")
        undo.write_step(tmp_path, undo.Step(f"change {number}", (file,), run=run))

    change(0)
    for number in range(1, 31):
        change(number, "a set-up")
    for number in range(31, 50):
        change(number)

    for number in reversed(range(1, 50)):
        assert f"change {number}" == undo.undo_last(tmp_path).what
    with pytest.raises(RequestRefused, match="nothing to undo"):
        undo.undo_last(tmp_path)
