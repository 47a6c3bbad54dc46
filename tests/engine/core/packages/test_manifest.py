"""What a package says of itself and what it brings: by lists, by the usual folders, and as npm's say it."""

import pytest

from oulipoly_engine.core.packages.lock import Installed, Lock, read_lock, write_lock
from oulipoly_engine.core.packages.manifest import find_parts, read_manifest
from oulipoly_engine.core.packages.names import folder_name, parse_npm
from oulipoly_engine.core.packages.refusals import PackageMissing, PackageRefused
from oulipoly_engine.errors import ConfigInvalid

FILES = [
    "SKILLS.md",
    "extensions/foreign.ts",
    "extensions/hello/extension.py",
    "extensions/hello/extension.toml",
    "extensions/two.py",
    "prompts/Fix Bug.md",
    "prompts/deep/no.md",
    "prompts/notes.txt",
    "skills/a/SKILL.md",
    "skills/a/more.md",
    "tools/b/SKILL.md",
    "themes/x.json",
    "themes/y.toml",
]


def parts_of(table, files=FILES, file="package.toml"):
    return [
        (part.kind, part.name, part.path, part.problem) for part in find_parts(read_manifest(file, table, "p"), files)
    ]


def test_without_lists_the_usual_places_count():
    assert [
        ("extensions", "hello", "extensions/hello", ""),
        ("extensions", "foreign", "extensions/foreign.ts", "it is written for another program"),
        ("extensions", "two", "extensions/two.py", ""),
        ("skills", "a", "skills/a", ""),
        ("skills", "b", "tools/b", ""),
        ("prompts", "fix-bug", "prompts/Fix Bug.md", ""),
        ("themes", "x", "themes/x.json", ""),
        ("themes", "y", "themes/y.toml", ""),
    ] == parts_of({})


def test_lists_count_alone_with_patterns_and_what_they_leave_out():
    table = {"skills": ["./skills", "gone"], "themes": ["themes/*", "!themes/x.json"]}

    assert [
        ("skills", "a", "skills/a", ""),
        ("skills", "gone", "gone", "it is not in the package"),
        ("themes", "y", "themes/y.toml", ""),
    ] == parts_of(table)


def test_package_of_npm_says_in_its_table_what_it_brings():
    table = {
        "name": "@me/kit",
        "version": "1.2.3",
        "pi": {"skills": ["./skills"], "x": 1},
        "scripts": {"install": "rm"},
    }
    manifest = read_manifest("package.json", table, "p")

    assert ("@me/kit", "1.2.3") == (manifest.name, manifest.version)
    assert ["skills"] == [part.kind for part in find_parts(manifest, FILES)]


def test_package_that_is_one_skill_or_one_extension_has_its_name():
    assert [("skills", "p", "", "")] == parts_of({}, ["SKILL.md", "more.md"])
    assert [("extensions", "p", "", "")] == parts_of({}, ["extension.toml", "extension.py"])


def test_of_two_with_one_name_the_second_is_listed_and_not_used():
    files = ["skills/a/SKILL.md", "more/a/SKILL.md"]

    assert ["", "another one of the package has its name"] == [problem for *_, problem in parts_of({}, files)]


@pytest.mark.parametrize(
    ("table", "field"),
    [({"name": 3}, "name"), ({"skills": "a"}, "skills"), ({"dependencies": {"a": 1}}, "dependencies")],
)
def test_field_of_another_type_is_named(table, field):
    with pytest.raises(PackageRefused, match=rf"package.toml cannot be used: .*\$\.{field}"):
        read_manifest("package.toml", table, "p")


@pytest.mark.parametrize(
    ("name", "folder"), [("@foo/oxi-tools", "foo-oxi-tools"), ("My Kit.2", "my-kit-2"), ("a_b", "a_b")]
)
def test_folder_of_a_package(name, folder):
    assert folder == folder_name(name)


@pytest.mark.parametrize("name", ["", "@/", "..", "-x", "x" * 65, "prompt", "cli", "blobs", "ab" * 32, "é"])
def test_name_that_is_ours_or_none_is_refused(name):
    with pytest.raises(PackageRefused):
        folder_name(name)


@pytest.mark.parametrize(
    ("source", "parsed"),
    [
        ("npm:@scope/name", ("@scope/name", "")),
        ("npm:@scope/name@1.2.3-beta.1", ("@scope/name", "1.2.3-beta.1")),
        ("npm:name@next", ("name", "next")),
    ],
)
def test_npm_source(source, parsed):
    assert parsed == parse_npm(source)


@pytest.mark.parametrize(
    "source",
    ["npm:", "npm:--x", "npm:../evil", "npm:git+ssh://x", "npm:a b", "npm:@a", "npm:a@b@c", "npm:/etc", "npm:A\n"],
)
def test_what_is_no_name_of_npm_is_refused(source):
    with pytest.raises(PackageRefused):
        parse_npm(source)


def installed(version, name="kit"):
    return Installed(name, version, "/src", "folder", f"sha256-{version * 64}"[:71], "2026-11-29T22:00:00Z")


def test_lock_is_read_as_it_was_written_and_keeps_the_last_three_for_a_rollback():
    lock = Lock()
    for version in "12345":
        lock = lock.put("kit", installed(version))
    lock = lock.put("kit", lock.packages["kit"].previous[1])

    assert lock == read_lock(write_lock(lock), "f")
    current = lock.packages["kit"]
    assert ("3", ["5", "4", "2"]) == (current.version, [each.version for each in current.previous])
    assert 4 == len(lock.digests())
    with pytest.raises(PackageMissing, match="installed: kit"):
        lock.find("other")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"version": 9}', b'{"packages": {"a": 1}}', b"\xff"])
def test_lock_that_is_broken_or_newer_is_named(data):
    with pytest.raises(ConfigInvalid, match=r"^the-file "):
        read_lock(data, "the-file")
