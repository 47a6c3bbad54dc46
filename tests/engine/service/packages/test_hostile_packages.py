"""Packages that lie: each is refused whole, the file is named, and nothing is written outside or left."""

import gzip
import io
import os
import stat
import tarfile
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.errors import RunnerError

GOOD = ("package/package.toml", b'name = "kit"\n')


def entry(name, kind, link="", mode=0o644, **more):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    info.mode = mode
    for key, value in more.items():
        setattr(info, key, value)
    return info


def setuid(name):
    return entry(name, tarfile.REGTYPE, mode=0o4755)


HOSTILE = {
    "leads out": (("package/../../evil", b"x"), "leads out"),
    "absolute": (("/tmp/evil-of-a-package", b"x"), "leads out"),
    "only dots": (("..", b"x"), "leads out"),
    "link out": (entry("package/a", tarfile.SYMTYPE, "/etc/passwd"), "a link"),
    "link in": (entry("package/a", tarfile.SYMTYPE, "package.toml"), "a link"),
    "hard link": (entry("package/a", tarfile.LNKTYPE, "/etc/passwd"), "a link"),
    "device": (entry("package/a", tarfile.CHRTYPE, devmajor=1, devminor=5), "a device"),
    "block device": (entry("package/a", tarfile.BLKTYPE), "a device"),
    "fifo": (entry("package/a", tarfile.FIFOTYPE), "a device"),
    "setuid": (setuid("package/a"), "setuid"),
    "setgid": (entry("package/a", tarfile.REGTYPE, mode=0o2755), "setuid"),
    "control characters": (("package/a\x1b[2J", b"x"), "control characters"),
    "new line": (("package/a\nb", b"x"), "control characters"),
    "twice": (("package/package.toml", b"other"), "twice"),
    "case": (("package/PACKAGE.toml", b"other"), "twice"),
    "file as folder": (("package/package.toml/x", b"other"), "in the way"),
    "deep": (("package/" + "d/" * 20 + "x", b"x"), "deeper"),
    "long": (("package/" + "x" * 300, b"x"), "more than"),
    "not a name": (("", b"x"), "not a name"),
}


def list_around(folder):
    """Return all that is in a test's folder, and what lies beside it: in there are the files of all tests before."""
    return {*folder.rglob("*"), *folder.parent.glob("*")}


@pytest.mark.parametrize(("member", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_archive_is_refused_and_the_file_is_named(machine, pack, member, reason):
    before = list_around(machine.folder)
    archive = pack(GOOD, member)

    with pytest.raises(PackageRefused, match=reason) as refused:
        machine.install(archive)

    assert refused.value.message.isprintable()
    assert {} == machine.packages.lock().packages
    assert [] == machine.leftovers()
    new = list_around(machine.folder) - {*before, archive}
    data = machine.root.parent
    assert all(path.is_relative_to(data) or data.is_relative_to(path) for path in new)
    assert not os.path.lexists("/tmp/evil-of-a-package")


def test_bomb_ends_early(machine, tmp_path):
    zeros = io.BytesIO()
    with tarfile.open(fileobj=zeros, mode="w") as archive:
        for number in range(4):
            info = tarfile.TarInfo(f"z{number}")
            info.size = 20 << 20
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    path = tmp_path / "bomb.tgz"
    path.write_bytes(gzip.compress(zeros.getvalue()))

    with pytest.raises(PackageRefused, match="unpacks to more than"):
        machine.install(path)
    assert [] == machine.leftovers()


def test_sizes_that_a_header_lies_about_are_refused(machine, pack, tmp_path):
    huge = entry("package/huge", tarfile.REGTYPE, size=1 << 40)
    path = tmp_path / "huge.tar"
    path.write_bytes(huge.tobuf() + bytes(2048))

    with pytest.raises(PackageRefused, match="more than"):
        machine.install(path)


@pytest.mark.parametrize("size", [5000, 1 << 20, 1 << 32])
def test_header_that_swallows_the_rest_takes_no_memory_and_no_time(machine, tmp_path, size):
    header = entry("x", b"x", size=size)
    path = tmp_path / "pax.tgz"
    path.write_bytes(gzip.compress(header.tobuf() + b"1" * (1 << 20)))

    with pytest.raises(PackageRefused, match="header of more than 4096 bytes"):
        machine.install(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.integers(0, 3000), data=st.binary(min_size=1, max_size=40))
def test_broken_archive_is_refused_or_taken_but_never_half(machine, pack, place, data):
    path = pack(GOOD, ("package/skills/a/SKILL.md", b"Review.\n"), mode="w", name="kit.tar")
    raw = path.read_bytes()
    path.write_bytes(raw[:place] + data + raw[place + len(data) :])
    with suppress(RunnerError):
        machine.install(path)
    for name, installed in machine.packages.lock().packages.items():
        assert () == machine.packages.details(name).damaged
        assert installed.digest == str((machine.root / name).readlink())
    assert [] == machine.leftovers()


NO_ARCHIVES = {
    "empty": b"",
    "text": b"not an archive",
    "packed text": gzip.compress(b"not one either", mtime=0),
    "cut off": gzip.compress(b"x" * 9000, mtime=0)[:30],
}


@pytest.mark.parametrize("data", NO_ARCHIVES.values(), ids=NO_ARCHIVES)
def test_what_is_not_an_archive_is_named(machine, tmp_path, data):
    path = tmp_path / "kit.tgz"
    path.write_bytes(data)

    with pytest.raises(PackageRefused, match=r"kit\.tgz"):
        machine.install(path)
    assert [] == machine.leftovers()


@pytest.mark.parametrize("kind", ["link", "folder link", "fifo", "setuid"])
def test_folder_with_what_we_do_not_take_is_refused(machine, kind):
    root = machine.kit()
    bad = root / "skills" / "bad"
    if kind == "fifo":
        os.mkfifo(bad)
    elif kind == "setuid":
        bad.write_text("x")
        bad.chmod(stat.S_ISUID | 0o755)
    else:
        bad.symlink_to("/etc/passwd" if kind == "link" else "/etc")

    with pytest.raises(PackageRefused, match="skills/bad"):
        machine.install(root)
    assert {} == machine.packages.lock().packages
    assert [] == machine.leftovers()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"package.toml": "name = "}, "package.toml cannot be used"),
        ({"package.toml": "name = 3"}, "package.toml cannot be used"),
        ({"package.json": "[]"}, "it is not a table"),
        ({"package.json": "[" * 100_000}, "package.json cannot be used"),
        ({"package.toml": 'name = "../../x"'}, "is not a name|is one of ours"),
        ({"package.toml": 'name = "prompt"'}, "one of ours"),
        ({"package.toml": f'name = "{"ab" * 32}"'}, "one of ours"),
        ({"package.toml": f'version = "{"1" * 99}"'}, "version of more than 64"),
        ({"package.toml": "skills = [" + 101 * "'x', " + "]"}, "list of more than 100"),
        ({}, "holds no file"),
    ],
)
def test_manifest_that_lies_is_named(machine, files, reason):
    root = machine.write(files, "bad")
    root.mkdir(exist_ok=True)

    with pytest.raises(PackageRefused, match=reason):
        machine.install(root)


def test_extension_whose_manifest_is_broken_is_listed_and_not_used(machine):
    machine.install(machine.kit(extension='permissions = ["everything"]\nname = "hello"\n'))

    assert ["two"] == [each.name for each in machine.packages.enabled("extensions")]
    (part,) = [part for part in machine.packages.lock().packages["foo-oxi-tools"].parts if part.problem]
    assert "permissions" in part.problem
