"""Packages whose install, update, rollback or uninstall is killed: the old state is there or the new one, and whole."""

import json
from hashlib import sha256

import pytest


@pytest.fixture
def pkg(world):
    def run(*arguments):
        done = world.run("pkg", *arguments)
        assert 0 == done.returncode, (arguments, done.stderr)
        return done.stdout

    return run


@pytest.fixture
def kit(tmp_path):
    """Return a function that writes the package of a version and returns its folder."""
    root = tmp_path / "kit"
    (root / "skills" / "review").mkdir(parents=True)

    def write(version):
        (root / "package.toml").write_text(f'name = "kit"\nversion = "{version}"\n')
        (root / "skills" / "review" / "SKILL.md").write_text(f"Review {version}.\n" * 1000)
        return str(root)

    return write


def check(world, pkg):
    """Return the version that is installed, after looking that it is whole and nothing else lies there."""
    packages = {each["name"]: each for each in json.loads(pkg("list", "--json"))["packages"]}
    root = world.data / "packages"
    contents, hashes = set(), set()
    for name, package in packages.items():
        assert [] == json.loads(pkg("info", name, "--json"))["damaged"]
        every = [package["integrity"], *(each["integrity"] for each in package["previous"])]
        contents |= {each.removeprefix("sha256-") for each in every}
        assert (root / name).readlink().name == package["integrity"].removeprefix("sha256-")
    for content in contents:
        files = [path for path in (root / content).rglob("*") if path.is_file()]
        hashes |= {content, *(sha256(path.read_bytes()).hexdigest() for path in files)}
    names = {path.name for path in root.iterdir()}
    assert {".lock", "blobs", "packages-lock.json", *packages, *contents} == names
    assert hashes == {path.name for path in (root / "blobs").rglob("*") if path.is_file()}
    return packages["kit"]["version"] if packages else None


DRILLS = {  # what is done before, what is killed, and what may be there then
    "install": ((), ("install", "{kit}"), (None, "2")),
    "update": (("1",), ("update", "--yes"), ("1", "2")),
    "rollback": (("2", "1"), ("rollback", "kit", "--yes"), ("1", "2")),
    "uninstall": (("1",), ("uninstall", "kit", "--yes"), ("1", None)),
}


@pytest.mark.parametrize(
    ("before", "words", "states"),
    [pytest.param(*DRILLS[name], id=name, marks=[] if name == "update" else [pytest.mark.kills]) for name in DRILLS],
)
def test_killed_change_of_a_package(world, pkg, kit, kills, tmp_path, before, words, states):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "prompt.md").write_text("x")
    other = str(tmp_path / "other")

    def begin():
        if json.loads(pkg("list", "--json"))["packages"]:
            pkg("uninstall", "kit", "--yes")
        for version in before:
            pkg("install", kit(version))
        return ["pkg", *(word.format(kit=kit("2")) for word in words)]

    kills.measure(*begin())
    every_step = [f"change:{step}" for step in range(1, kills.steps + 1)]
    moments = [*kills]
    if len(kills) < kills.steps:
        moments += every_step[:: max(1, kills.steps // 4)]
    seen = set()
    for moment in moments:
        kills.kill(moment, *begin())
        pkg("install", other)  # settles what was cut off, as every change does
        pkg("uninstall", "other", "--yes")
        seen.add(check(world, pkg))

    assert seen <= {*states}
