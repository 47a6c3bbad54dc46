"""The snapshot gives what the files say, whatever has become of it, and never a word about its own troubles."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.config import (
    agent_files,
    app_file,
    load,
    model_files,
    prices_file,
    small_files,
    snapshot,
)
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.config.parse import accounts as accounts_parser
from oulipoly_engine.config.snapshot import Snapshot
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import replace

ACCOUNT = '[a]\ncommand = "{command}"\nenvironment = {{ TOKEN = "t" }}\n'
_ONE_FOLDER = settings(  # which each example writes anew
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=60
)


def later():
    """Return an instant at which every file of a test has lain still for long."""
    return time.time_ns() + 10**11


@pytest.fixture
def paths(tmp_path):
    return Paths(tmp_path / "c", tmp_path / "d", tmp_path / "home", cache=tmp_path / "cache")


@pytest.fixture
def write(paths):
    def write(text, path="providers.toml"):
        target = paths.config / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    return write


class Reader:
    """Reads one text file through a snapshot, and counts how often it had to be parsed."""

    def __init__(self, paths, **arguments):
        self.snapshot = Snapshot(paths.cache, paths.home, **arguments)
        self.path = paths.providers
        self.parsed = 0

    def __call__(self, path=None):
        def parse(raw):
            self.parsed += 1
            return Loaded("?" if raw is None else raw.decode())

        return self.snapshot.read(path or self.path, "text", Loaded[str], parse).value


def command_of(paths):
    return load.load_accounts(paths).value["a"].command


# What is kept, and until when


@pytest.mark.parametrize("arguments", [{}, {"now_ns": later}], ids=["young file", "old file"])
def test_a_file_is_parsed_once(paths, write, arguments):
    write("one")
    reader = Reader(paths, **arguments)

    assert ["one", "one", "one"] == [reader(), reader(), reader()]
    assert 1 == reader.parsed


@pytest.mark.parametrize("arguments", [{}, {"now_ns": later}], ids=["young file", "old file"])
@pytest.mark.parametrize("how", ["in place", "renamed over", "taken away", "another folder", "a link turned"])
def test_a_changed_file_is_seen(paths, write, tmp_path, arguments, how):
    path = write("one")
    if how == "a link turned":
        path.rename(tmp_path / "first")
        path.symlink_to(tmp_path / "first")
    reader = Reader(paths, **arguments)
    reader()
    before = path.stat()

    match how:
        case "in place":
            path.write_text("two")
        case "renamed over":
            write("two", "new").rename(path)
        case "taken away":
            path.unlink()
        case "another folder":
            path.unlink()
            path.mkdir()
        case "a link turned":
            (tmp_path / "second").write_text("two")
            path.unlink()
            path.symlink_to(tmp_path / "second")
    if how in ("in place", "renamed over"):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert ("?" if how in ("taken away", "another folder") else "two") == reader()


def test_a_young_file_written_again_within_one_tick_of_the_clock_is_seen(paths, write, monkeypatch):
    path = write("one")
    status = path.stat()
    reader = Reader(paths)
    reader()
    path.write_text("two")
    monkeypatch.setattr(Path, "stat", lambda self, **_: status)

    assert "two" == reader()


def test_a_file_from_the_future_is_known_by_its_bytes(paths, write):
    path = write("one")
    reader = Reader(paths, now_ns=lambda: 0)
    reader()
    path.write_text("two")

    assert "two" == reader()


def test_what_home_means_is_part_of_what_is_kept(paths, write):
    write('[a]\ncommand = "~/bin/cli"\n')

    first, second = (command_of(replace(paths, home=Path(home))) for home in ("/home/one", "/home/two"))

    assert ("/home/one/bin/cli", "/home/two/bin/cli") == (first, second)


def test_files_do_not_stand_for_one_another(paths, write):
    reader = Reader(paths)
    one, two = write("one", "1"), write("two", "2")

    assert ["one", "two", "one", "two"] == [reader(one), reader(two), reader(one), reader(two)]
    assert 2 == reader.parsed


def test_one_file_read_as_two_kinds_is_kept_twice(paths, write):
    path = write("7")
    kept = Snapshot(paths.cache, paths.home)

    for _ in range(2):
        number = kept.read(path, "number", Loaded[int], lambda raw: Loaded(int(raw)))
        text = kept.read(path, "text", Loaded[str], lambda raw: Loaded(raw.decode()))
        assert (7, "7") == (number.value, text.value)


def test_a_relative_path_is_the_file_that_it_leads_to_now(paths, tmp_path, monkeypatch):
    reader = Reader(paths, now_ns=later)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)

    found = []
    for name in ("one", "two", "one"):
        monkeypatch.chdir(tmp_path / name)
        found.append(reader(Path("x")))

    assert ["one", "two", "one"] == found


@pytest.mark.parametrize("value", ["\ud800", 1 << 80], ids=["half a character", "a number beyond 64 bits"])
def test_what_cannot_be_kept_is_read_each_time(paths, write, value):
    path = write("x")
    kept = Snapshot(paths.cache, paths.home)

    assert [value] * 2 == [kept.read(path, "odd", Loaded[object], lambda _: Loaded(value)).value for _ in range(2)]


def test_a_name_that_is_no_text_is_no_model(paths, write):
    write(FILES["models/m.toml"], "models/\udcff.toml")

    first, second = (load.load_models(paths).value for _ in range(2))

    assert {} == first == second  # the state file could not hold it


def test_warnings_are_told_from_the_snapshot_too(paths, write):
    write('[a]\ncommand = "c"\nprompt_mode = "argh"\ncomand = "d"\n')

    first, second = load.load_accounts(paths), load.load_accounts(paths)

    assert 2 == len(first.problems)
    assert first == second


def test_of_many_files_the_last_are_kept(paths, write):
    reader = Reader(paths, limit=8)
    many = [write(str(number), f"many/{number}") for number in range(20)]
    for path in many:
        reader(path)

    assert ["16", "17", "18", "19"] == [reader(path) for path in many[-4:]]
    assert 20 == reader.parsed
    assert reader.snapshot.file.stat().st_size < 2000


def test_files_that_are_gone_make_way_first(paths, write):
    reader = Reader(paths, limit=8)
    first = write("first", "many/first")
    reader(first)
    for number in range(20):
        path = write(str(number), f"many/{number}")
        reader(path)
        path.unlink()

    assert "first" == reader(first)
    assert 21 == reader.parsed


# The file itself


def test_only_its_owner_may_read_it(paths, write):
    write(ACCOUNT.format(command="one"))
    umask = os.umask(0)
    try:
        load.load_accounts(paths)
    finally:
        os.umask(umask)

    assert [0o600] == [path.stat().st_mode & 0o7777 for path in paths.cache.iterdir()]
    assert 0o700 == paths.cache.stat().st_mode & 0o7777


def test_what_a_killed_process_left_goes_after_a_while(paths, write):
    reader = Reader(paths)
    paths.cache.mkdir()
    old, new = paths.cache / "configuration.1.aa.part", paths.cache / "configuration.2.bb.part"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (1, 1))
    write("one")

    reader()

    assert [False, True] == [old.exists(), new.exists()]


def _truncate(file):
    file.write_bytes(file.read_bytes()[:-20])


def _empty(file):
    file.write_bytes(b"")


def _noise(file):
    file.write_bytes(os.urandom(4000))


def _flip_the_value(file):
    file.write_bytes(file.read_bytes().replace(b"kept", b"tpek"))


def _open_to_all(file):
    file.chmod(0o644)


def _unreadable(file):
    file.chmod(0o000)


def _folder(file):
    file.unlink()
    file.mkdir()
    (file / "x").write_text("x")


def _pipe(file):
    file.unlink()
    os.mkfifo(file, 0o600)


def _link(file):
    target = file.with_name("elsewhere")
    target.write_bytes(file.read_bytes().replace(b"kept", b"tpek"))
    file.unlink()
    file.symlink_to(target)


def _gone(file):
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("a file where the folder was")


FAULTS = [_truncate, _empty, _noise, _flip_the_value, _open_to_all, _unreadable, _folder, _pipe, _link, _gone]


@pytest.mark.parametrize("spoil", FAULTS, ids=lambda fault: fault.__name__)
def test_a_snapshot_that_is_not_as_we_left_it_is_passed_over(paths, write, spoil):
    write("kept")
    reader = Reader(paths)
    reader()
    spoil(reader.snapshot.file)

    assert ["kept", "kept"] == [reader(), reader()]


def open_files():
    return list(Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
@pytest.mark.parametrize("spoil", FAULTS, ids=lambda fault: fault.__name__)
def test_a_spoiled_snapshot_leaves_no_file_open(paths, write, spoil):
    write("kept")
    reader = Reader(paths)
    reader()
    spoil(reader.snapshot.file)
    before = len(open_files())

    reader()

    assert before == len(open_files())


@pytest.mark.parametrize("spoil", [_truncate, _empty, _noise, _open_to_all, _link], ids=lambda fault: fault.__name__)
def test_a_spoiled_snapshot_is_made_anew(paths, write, spoil):
    write("kept")
    reader = Reader(paths)
    reader()
    spoil(reader.snapshot.file)

    assert ["kept", "kept", "kept"] == [reader(), reader(), reader()]
    assert 2 == reader.parsed


@given(place=st.integers(0, 10_000), byte=st.integers(1, 255))
@_ONE_FOLDER
def test_no_single_byte_of_it_can_change_what_is_read(paths, write, place, byte):
    write("one and two")
    reader = Reader(paths)
    reader()
    data = bytearray(reader.snapshot.file.read_bytes())
    data[place % len(data)] ^= byte
    reader.snapshot.file.write_bytes(data)

    assert "one and two" == reader()


@given(data=st.binary(max_size=200))
@_ONE_FOLDER
def test_no_bytes_in_its_place_can_change_what_is_read(paths, write, data):
    write("one")
    reader = Reader(paths)
    reader()
    reader.snapshot.file.write_bytes(data)

    assert "one" == reader()


def test_another_version_s_snapshot_counts_as_none(paths, write):
    write("one")
    old, new = Reader(paths, program="1"), Reader(paths, program="2")

    assert ["one", "one", "one"] == [old(), new(), old()]
    assert (2, 1) == (old.parsed, new.parsed)


@pytest.mark.parametrize("name", ["config/parse/accounts.py", "config/schema/fields.py", "core/accounts/accounts.py"])
def test_a_program_whose_sources_have_changed_is_another_one(tmp_path, name):
    before, same, after = tmp_path / "before", tmp_path / "same", tmp_path / "after"
    for root in (before, same, after):
        shutil.copytree(Path(snapshot.__file__).parent.parent, root, ignore=shutil.ignore_patterns("__pycache__"))
    with (after / name).open("a") as file:
        file.write("\n")

    assert snapshot.identify_program(before) == snapshot.identify_program(same)
    assert snapshot.identify_program(before) != snapshot.identify_program(after)


def test_a_value_of_another_shape_is_read_anew(paths, write):
    path = write("7")
    kept = Snapshot(paths.cache, paths.home, program="same")
    kept.read(path, "kind", Loaded[str], lambda raw: Loaded(raw.decode()))

    assert 7 == kept.read(path, "kind", Loaded[int], lambda raw: Loaded(int(raw))).value


def test_another_user_s_snapshot_is_not_believed(paths, write, monkeypatch):
    write("one")
    reader = Reader(paths)
    reader()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    assert ["one", "one"] == [reader(), reader()]
    assert 3 == reader.parsed


def test_a_cache_folder_that_takes_nothing_is_no_error(paths, write):
    write("one")
    paths.cache.mkdir(mode=0o500)
    reader = Reader(paths)

    assert ["one", "one"] == [reader(), reader()]


def test_no_cache_folder_at_all_is_no_error(paths, write):
    write(ACCOUNT.format(command="one"))

    assert "one" == command_of(replace(paths, cache=None))
    assert "one" == command_of(replace(paths, cache=Path("/proc/nowhere")))


def test_many_processes_see_what_the_file_says_while_it_changes(paths, write):
    """The number in the file only grows: what is read lies between what was there before and after."""
    write(ACCOUNT.format(command=f"{0:08}"))
    code = (
        "import re, sys; from pathlib import Path\n"
        "from oulipoly_engine.config import load; from oulipoly_engine.paths import Paths\n"
        "paths = Paths(*map(Path, sys.argv[1:4]), cache=Path(sys.argv[4]))\n"
        "def now(): return int(re.search(rb'[0-9]{8}', paths.providers.read_bytes())[0])\n"
        "for _ in range(25):\n"
        "    before, loaded, after = now(), load.load_accounts(paths), now()\n"
        "    assert not loaded.problems, loaded.problems\n"
        "    assert before <= int(loaded.value['a'].command) <= after, (before, loaded, after)\n"
    )
    arguments = [sys.executable, "-c", code, *map(str, (paths.config, paths.data, paths.home, paths.cache))]
    readers = [subprocess.Popen(arguments, stderr=subprocess.PIPE) for _ in range(3)]
    number = 0
    while any(reader.poll() is None for reader in readers):
        number += 1
        if number % 10:  # one byte in place, the size as before
            with paths.providers.open("r+b") as file:
                os.pwrite(file.fileno(), str(number)[-1].encode(), file.read().index(b"\nenv") - 2)
        else:
            write(ACCOUNT.format(command=f"{number:08}"), "new").rename(paths.providers)

    assert [b""] * 3 == [reader.communicate()[1] for reader in readers]
    assert number > 40


# Equal to the files


FILES = {
    "providers.toml": '[a]\ncommand = "~/x"\nargs = ["-p"]\ninteractive_args = []\ntimeout_seconds = 3\n'
    'environment = { TOKEN = "t" }\nunset_environment = ["A"]\nresume = { kind = "flag", flag = "-r" }\n'
    'session_storage = { kind = "codex", sessions_dir = "~/s" }\nprompt_mode = "arg"\nsize = 1\n'
    '[a.session_capture]\nkind = "stdout_json_event"\njson_flag = "-j"\nlast_message_flag = "-o"\nevent_type = "t"\n'
    'event_id_path = "a.b"\n[a.resume_acceptance]\naccepted_output_patterns = ["x", ""]\n[codex]\nargs = ["-x"]\n',
    "models/m.toml": 'sticky = true\n[[providers]]\nname = "a"\nargs = ["-m"]\n[[inputs]]\nname = "i"\ntype = "array"\n'
    'item_type = "integer"\nmin = 1\ndefault = [1, 2.0]\n',
    "models/bad.toml": "providers = 3\n",
    "models/overlap.toml": '[[providers]]\nname = "codex"\nargs = ["-x"]\n',
    "agents/g.md": "---\nmodel: m\ndescription: d\nmodle: x\n---\nBe brief.\n",
    "agents/bad.md": "no frontmatter",
    "config.toml": 'tie_rule = "lowest-use"\nrouting_ttl_seconds = 5\narchive_limit_mb = 7\n',
    "sessions.toml": '[a]\nturn_script = "t"\nstate_dir = "~/st"\n',
    "prices.toml": "[m]\ninput = 1\noutput = 2.5\n[n]\ninput = -1\n",
    "app.toml": 'theme = "t"\nkeys = { "a.b" = "x" }\n[views.mine]\nfilter = "f"\nsort = "used"\n'
    "[views.bad]\nsort = 1\n",
    "themes/t.toml": 'primary = "red"\n',
    "themes/bad.toml": "primary = 1\n",
}


def everything(paths):
    """Read all that there is, as values that can be compared."""
    return [
        small_files.read_accounts(paths),
        small_files.read_settings(paths),
        small_files.read_sessions(paths),
        prices_file.read_prices(paths),
        app_file.read(paths),
        app_file.read_themes(paths),
        *(load.read_model(paths, name) for name in load.list_models(paths)),
        *(agent_files.read(paths.agents / f"{name}.md", paths) for name in load.list_agents(paths)),
    ]


def test_all_files_give_the_same_from_the_snapshot(paths, write):
    for name, text in FILES.items():
        write(text, name)
    fresh = everything(replace(paths, cache=None))

    first, second = everything(paths), everything(paths)

    assert fresh == first == second
    assert all(type(new) is type(old) for new, old in zip(second, fresh, strict=True))


def test_no_files_give_the_same_with_a_snapshot(paths):
    assert everything(replace(paths, cache=None)) == everything(paths) == everything(paths)


_LINES = st.lists(st.sampled_from([line for text in FILES.values() for line in text.splitlines()]), max_size=12)


@given(lines=_LINES, name=st.sampled_from(sorted(FILES)))
@_ONE_FOLDER
def test_whatever_the_files_say_the_snapshot_says_it_too(paths, write, lines, name):
    write("\n".join(lines), name)
    fresh = everything(replace(paths, cache=None))

    assert fresh == everything(paths) == everything(paths)


def test_model_file_s_value_is_kept_as_what_it_is(paths, write):
    path = write(FILES["models/m.toml"], "models/m.toml")

    first, second = model_files.read(paths, path), model_files.read(paths, path)

    assert msgspec.structs.asdict(first.value) == msgspec.structs.asdict(second.value)
    assert isinstance(second.value.path, Path)


def test_reading_again_needs_no_parser(paths, write, monkeypatch):
    write(ACCOUNT.format(command="one"))
    load.load_accounts(paths)
    monkeypatch.delattr(accounts_parser, "parse")

    assert "one" == command_of(paths)
