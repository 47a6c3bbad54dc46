"""A removal of an account with its home that a kill has cut off is finished or taken back at the next start."""

import os
import shutil

import pytest

from oulipoly_engine.config.edit import undo
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.accounts import new_account

HOME = ".claude-b"


class Killed(KeyboardInterrupt):
    """What no code of ours handles, as little as SIGKILL."""


def die(*_):
    raise Killed


@pytest.fixture
def made(world):
    """A world whose account `b` has a home that was made for it."""
    world.model("m", "a", "b")
    world.account("a", "cat")
    with (world.config / "providers.toml").open("a") as file:
        file.write(f"[b]\ncommand = 'claude'\nenvironment = {{ CLAUDE_CONFIG_DIR = '{world.home / HOME}' }}\n")
    fill(world.home / HOME)
    return world


def fill(home):
    (home / "projects").mkdir(parents=True)
    (home / "projects" / "1.jsonl").write_text("{}\n")
    (home / ".credentials.json").write_text("{}")
    (home / new_account._MARKER).write_bytes(os.fsencode(home))


def files(home):
    return sorted(str(path.relative_to(home)) for path in home.glob(".claude*/**/*"))


def remove(engine, home):
    removals = engine.account_setup.removals
    step = removals.plan_deletion(removals.plan("b"), "b", home, "")
    engine.account_setup.changes.write(step)
    with removals.hold_deletion(step):
        removals.delete_home(home)


def accounts():
    return {state.name for state in Engine().accounts.states()}


@pytest.mark.parametrize("what", ["write", "_drop_journal"])
def test_before_its_files_are_written_whole_it_is_taken_back(made, monkeypatch, what):
    before = files(made.home)
    engine = Engine()
    with monkeypatch.context() as patched:
        patched.setattr(undo, what, die)
        with pytest.raises(Killed):
            remove(engine, made.home / HOME)

    assert ({"a", "b"}, before) == (accounts(), files(made.home))
    assert not engine.paths.removed_homes.exists()
    remove(Engine(), made.home / HOME)
    assert ({"a"}, []) == (accounts(), files(made.home))


# What deletes a home, one call after the other.
CALLS = [("os", "rename", 0), ("shutil", "rmtree", 0), ("os", "unlink", 0), ("shutil", "rmtree", 1)]


@pytest.mark.parametrize(("module", "name", "number"), CALLS)
def test_then_the_home_is_deleted_by_the_next_start(made, monkeypatch, module, name, number):
    engine, calls = Engine(), []
    real = getattr({"os": os, "shutil": shutil}[module], name)

    def die_later(*words, **more):
        calls.append(words)
        if len(calls) > number and ".claude-b" in str(words[0]):
            die()
        return real(*words, **more)

    with monkeypatch.context() as patched:
        patched.setattr(f"{module}.{name}", die_later)
        with pytest.raises(Killed):
            remove(engine, made.home / HOME)
    assert (made.home / HOME).exists() == (name == "rename")

    assert ({"a"}, []) == (accounts(), files(made.home))
    assert not engine.paths.removed_homes.exists()
    assert Engine().account_setup.changes.last_step().what == "removed the account b"


def test_a_home_that_an_account_has_again_stays(made, monkeypatch):
    before, engine = files(made.home), Engine()
    text = (made.config / "providers.toml").read_text()
    with monkeypatch.context() as patched:
        patched.setattr(new_account, "delete_made_home", die)
        with pytest.raises(Killed):
            remove(engine, made.home / HOME)
    (made.config / "providers.toml").write_text(text)

    assert ({"a", "b"}, before) == (accounts(), files(made.home))
    assert not engine.paths.removed_homes.exists()


def test_a_start_leaves_a_removal_that_is_under_way_to_who_does_it(made):
    before, engine = files(made.home), Engine()
    removals = engine.account_setup.removals
    step = removals.plan_deletion(removals.plan("b"), "b", made.home / HOME, "")
    engine.account_setup.changes.write(step)
    with removals.hold_deletion(step):
        assert {"a"} == accounts()
        assert before == files(made.home)
        Engine().account_setup.changes.undo(step)  # what its key's keyring refuses has it undone

    assert ({"a", "b"}, before) == (accounts(), files(made.home))
