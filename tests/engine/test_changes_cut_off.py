"""A change of the accounts, or its undo, that was cut off between any two steps is taken back at the next start."""

from contextlib import contextmanager

import pytest

from oulipoly_engine.config.edit import undo
from oulipoly_engine.config.edit.write_files import write
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.engine import Engine

WRITES = 3  # at most: journal, files, note; a change writes its note with its files


class Killed(KeyboardInterrupt):
    """What no code of ours handles, as little as SIGKILL."""


def die(*_):
    raise Killed


@contextmanager
def cut(monkeypatch, step):
    """Have the change in the block end after so many steps of it: its writes, and the end of its journal."""
    writes = []

    def count_and_write(changes):
        writes.append(changes)
        if len(writes) > step:
            die()
        write(changes)

    with monkeypatch.context() as patched:
        patched.setattr(undo, "write", count_and_write)
        patched.setattr(undo, "_drop_journal", die)
        with pytest.raises(Killed):
            yield


@pytest.fixture
def drained(world):
    """A world whose account `a` is drained: the state file has that under its name."""
    world.account("a", "cat")
    world.account("z", "cat")
    world.model("m", "a", "z")
    Engine().accounts.drain("a", on=True)
    return world


def drained_account(world):
    """Return the account beside `z`, told alike by the files and the state file, at a next start."""
    engine = Engine()
    states = {state.name: state.controls.drained for state in engine.accounts.states()}
    (name,) = set(states) - {"z"}
    assert states == {name: True, "z": False}
    assert f"name = '{name}'" in (world.config / "models" / "m.toml").read_text().replace('"', "'")
    assert not engine.paths.configuration_journal.exists()
    return name


@pytest.mark.parametrize("step", range(WRITES))
def test_a_rename_that_was_cut_off_is_taken_back_and_can_be_done_again(drained, monkeypatch, step):
    changes = Engine().account_setup.changes
    with cut(monkeypatch, step):
        changes.write(changes.plan_rename("a", "b"))

    assert "a" == drained_account(drained)
    changes.write(changes.plan_rename("a", "b"))
    assert "b" == drained_account(drained)


@pytest.mark.parametrize("step", range(WRITES + 1))
def test_an_undo_that_was_cut_off_has_happened_or_can_be_done_again(drained, monkeypatch, step):
    changes = Engine().account_setup.changes
    changes.write(changes.plan_rename("a", "b"))
    with cut(monkeypatch, step):
        changes.undo()

    if step == 0:  # nothing was noted yet
        assert "b" == drained_account(drained)
        changes.undo()
    assert "a" == drained_account(drained)


def test_an_undo_after_a_cut_takes_back_that_change_and_not_the_one_before(drained, monkeypatch):
    changes = Engine().account_setup.changes
    changes.write(changes.plan_rename("z", "y"))
    with cut(monkeypatch, 2):
        changes.write(changes.plan_rename("a", "b"))
    undone = drained.run("account", "undo", "--yes")

    assert (0, b"Undone: renamed the account a to b\n") == (undone.returncode, undone.stdout)
    assert {"a", "y"} == {state.name for state in Engine().accounts.states()}


def test_what_is_taken_back_leaves_no_half_of_a_file(drained, monkeypatch):
    changes = Engine().account_setup.changes
    with cut(monkeypatch, 1):
        changes.write(changes.plan_rename("a", "b"))
    halves = [
        drained.config / "models" / ".m.toml.new-x1y2z3w4",
        drained.data / ".configuration-undo.json.new-x1y2z3w4",
    ]
    for half in halves:
        half.touch()
    Engine()

    assert [False, False] == [half.exists() for half in halves]


def test_files_edited_by_hand_after_a_cut_are_left_alone_and_doctor_names_them(drained, monkeypatch):
    changes = Engine().account_setup.changes
    with cut(monkeypatch, 2):
        changes.write(changes.plan_rename("a", "b"))
    accounts = drained.config / "providers.toml"
    edited = accounts.read_text() + "# mine\n"
    accounts.write_text(edited)

    engine = Engine()
    with pytest.raises(RequestRefused, match="cut off"):
        engine.account_setup.changes.write(engine.account_setup.removals.plan("z"))
    assert edited == accounts.read_text()
    journal = str(engine.paths.configuration_journal)
    (finding,) = (one for one in engine.checks.run() if one.subject == journal)
    assert str(accounts) in finding.fix
    assert f"rm {journal}" == finding.command
