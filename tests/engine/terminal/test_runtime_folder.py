"""The runtime folder: who may use it, what lives, and what is tidied up."""

import errno
import fcntl
import os
import shutil
import socket
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oulipoly_engine.host.runtime_folder import HostFiles, RuntimeFolderUnsafe, claim, ensure, is_held
from oulipoly_engine.paths import from_environment
from oulipoly_engine.records import replace
from oulipoly_engine.terminal.host.runtime_folder import Terminal, survey


@pytest.fixture
def runtime():
    root = Path(tempfile.mkdtemp(prefix="agr-", dir="/tmp"))
    yield root / "run"
    shutil.rmtree(root, ignore_errors=True)


def _described(place, started="2026-11-21T08:00:00Z", **more):
    terminal = Terminal(place.id, "cat", "/", 1, 1, started, **more)
    place.describe(terminal)
    return terminal


def _stale_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def test_folder_is_for_its_owner_only(runtime):
    runtime.mkdir(mode=0o755)

    ensure(runtime)

    assert 0o700 == runtime.stat().st_mode & 0o777


def test_folder_that_is_a_link_or_a_file_is_refused(runtime, tmp_path):
    runtime.symlink_to(tmp_path)
    with pytest.raises(RuntimeFolderUnsafe, match="XDG_RUNTIME_DIR"):
        ensure(runtime)
    runtime.unlink()
    runtime.touch()
    with pytest.raises(RuntimeFolderUnsafe, match="XDG_RUNTIME_DIR"):
        ensure(runtime)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_folder_of_somebody_else_is_refused(runtime):
    runtime.mkdir(mode=0o700)
    os.chown(runtime, 12345, 12345)

    with pytest.raises(RuntimeFolderUnsafe, match="belongs to somebody else"):
        ensure(runtime)


def test_held_terminal_lives_and_a_let_go_one_is_lost_and_tidied(runtime):
    place, lock = claim(runtime)
    terminal = _described(place)
    listener = place.listen()
    assert (terminal,) == survey(runtime).living

    os.close(lock)
    listener.close()

    found = survey(runtime)
    assert ((), (terminal,), 1) == (found.living, found.lost, found.stale_sockets)
    assert [] == list(runtime.iterdir())


def test_ended_terminal_of_a_dead_host_is_tidied_without_a_word(runtime):
    place, lock = claim(runtime)
    _described(place, exit_code=0)
    os.close(lock)

    assert () == survey(runtime).lost
    assert [] == list(runtime.iterdir())


def test_folder_full_of_stale_sockets_is_emptied_and_the_living_stay(runtime):
    place, lock = claim(runtime)
    terminal = _described(place)
    listener = place.listen()
    for number in range(500):
        _stale_socket(runtime / f"{number:06x}.sock")

    found = survey(runtime)

    assert ((terminal,), 500) == (found.living, found.stale_sockets)
    assert {f"{place.id}.{kind}" for kind in ("sock", "json", "lock")} == {path.name for path in runtime.iterdir()}
    listener.close()
    os.close(lock)


def test_listening_socket_without_its_lock_file_is_left_alone(runtime):
    ensure(runtime)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "abcdef.sock"))
        listener.listen()

        assert 0 == survey(runtime).stale_sockets
        assert (runtime / "abcdef.sock").exists()


def test_files_of_others_are_left_alone(runtime):
    ensure(runtime)
    (runtime / "app.sock").touch()
    (runtime / "notes.txt").touch()

    survey(runtime)

    assert {"app.sock", "notes.txt"} == {path.name for path in runtime.iterdir()}


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"id": 3}', b"\xff\xfe", b'{"id":"x"}'])
def test_description_that_cannot_be_read_hides_nothing_else(runtime, text):
    place, lock = claim(runtime)
    place.description.write_bytes(text)
    other, other_lock = claim(runtime)
    terminal = _described(other)

    assert (terminal,) == survey(runtime).living

    os.close(lock)
    os.close(other_lock)


def test_the_work_of_listing_grows_with_the_terminals_and_no_faster(runtime):
    held = [claim(runtime) for _ in range(100)]
    for place, _ in held:
        _described(place)
    calls = []
    sys.setprofile(lambda *event: calls.append(event))
    found = survey(runtime)
    sys.setprofile(None)

    assert len(calls) < 100 * 500  # 171 each; a count, which no other program changes
    assert 100 == len(found.living)
    for _, lock in held:
        os.close(lock)


def test_lock_that_another_process_of_the_host_holds_counts(runtime):
    place, lock = claim(runtime)
    _described(place)
    twin = os.dup(lock)  # as a forked process has it
    os.close(lock)

    assert 1 == len(survey(runtime).living)
    os.close(twin)


def test_description_is_for_its_owner_only(runtime):
    place, lock = claim(runtime)
    _described(place)

    assert 0o600 == place.description.stat().st_mode & 0o777
    os.close(lock)


def test_missing_folder_has_no_terminals(runtime):
    assert () == survey(runtime).living
    assert not runtime.exists()


def test_folder_that_cannot_be_read_is_said_to_be_so(runtime):
    runtime.touch()
    for folder in (runtime, runtime / "below"):
        with pytest.raises(RuntimeFolderUnsafe, match="set XDG_RUNTIME_DIR to another"):
            survey(folder)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_folder_that_may_not_be_read_is_said_to_be_so(runtime):
    runtime.mkdir(mode=0o000)

    with pytest.raises(RuntimeFolderUnsafe, match="set XDG_RUNTIME_DIR to another"):
        survey(runtime)


def test_lock_is_given_back_by_a_survey(runtime):
    place, lock = claim(runtime)
    os.close(lock)
    survey(runtime)
    descriptor = os.open(place.lock, os.O_RDWR | os.O_CREAT, 0o600)

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    os.close(descriptor)


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, "/run/user/7/oulipoly-agent-runner"),
        ({}, "/home/me/.local/share/oulipoly-agent-runner/run"),
        ({"XDG_RUNTIME_DIR": "relative"}, "/home/me/.local/share/oulipoly-agent-runner/run"),
        ({"XDG_RUNTIME_DIR": "/run/user/7", "OULIPOLY_DATA_DIR": "/other"}, "/other/run"),
    ],
    ids=["xdg", "none", "relative", "another-data-folder"],
)
def test_runtime_folder_is_found(env, folder):
    assert Path(folder) == from_environment({"HOME": "/home/me"} | env).runtime


def test_hosts_of_live_sessions_are_found_from_every_environment(tmp_path):
    home = tmp_path / "me"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    environments = [
        {"HOME": str(home)},
        {"HOME": str(home), "XDG_RUNTIME_DIR": "/run/user/7"},
        {"HOME": str(tmp_path / "link")},
        {"HOME": "/", "OULIPOLY_DATA_DIR": str(home / ".local" / "share" / "oulipoly-agent-runner")},
    ]
    deep = from_environment({"HOME": f"/home/{'c' * 120}", "XDG_RUNTIME_DIR": "/run/user/7"})

    assert 1 == len({from_environment(env).live_runtime for env in environments})
    for paths in (deep, replace(deep, data=Path("/" + "d" * 72)), replace(deep, data=Path("/" + "d" * 71))):
        assert len(str(HostFiles(paths.live_runtime, 12 * "f").socket)) + len(".new") <= 103


@pytest.fixture
def stand_in():
    """The folder of a user whose own runtime folder has too long a path."""
    found = from_environment({"HOME": f"/home/{'c' * 120}{os.getpid()}"}).runtime
    yield found
    shutil.rmtree(found, ignore_errors=True)


def test_folder_in_tmp_goes_away_with_its_last_terminal(stand_in):
    (first, lock), (_, other_lock) = claim(stand_in), claim(stand_in)
    first.remove()
    assert stand_in.exists()
    os.close(other_lock)
    survey(stand_in)

    assert not stand_in.exists()
    os.close(lock)


def test_terminals_are_made_in_a_folder_in_tmp_that_others_take_away(stand_in):
    def come_and_go(_):
        for _ in range(300):
            place, lock = claim(stand_in)
            place.listen().close()
            place.remove()
            os.close(lock)
            survey(stand_in)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(come_and_go, range(4)))

    assert not stand_in.exists()


def test_runtime_folder_is_short_enough_for_a_socket_whatever_the_home():
    deep, deeper = (from_environment({"HOME": f"/home/{letter * 120}"}).runtime for letter in "ab")

    assert len(str(HostFiles(deep, "abcdef").socket) + ".new") <= 103
    assert deep != deeper


def test_a_folder_without_locks_is_refused_in_words(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        with pytest.raises(RuntimeFolderUnsafe, match="No locks available; set XDG_RUNTIME_DIR"):
            ensure(tmp_path / "run")


def test_asking_whether_a_host_lives_makes_nothing(runtime):
    runtime.mkdir(mode=0o700)

    assert not is_held(HostFiles(runtime, "abcdef"))
    assert [] == [*runtime.iterdir()]
