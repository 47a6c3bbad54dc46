"""What a package may hold: paths that mean one file only, below its folder, whatever an archive says."""

import contextlib
import unicodedata
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.core.packages.tree import (
    LARGEST,
    MOST_BYTES,
    PackageFile,
    Paths,
    check_path,
    check_ratio,
    check_size,
    common_folder,
    digest_of,
    list_text,
    read_list,
)

NASTY = st.text(st.sampled_from("aA.é/\\ \n\0:\u202e~-é"), max_size=12) | st.text(max_size=30)


@given(NASTY)
def test_path_that_is_taken_stays_below_its_folder_and_is_taken_again_as_it_is(text):
    try:
        path = check_path(text)
    except PackageRefused:
        return
    assert not path.startswith("/")
    assert not {"..", ".", ""} & set(path.split("/")) or not path
    assert "\0" not in path
    assert path == check_path(path)


@given(st.lists(NASTY, max_size=8))
def test_of_paths_that_are_taken_no_two_are_the_same_file_anywhere(texts):
    paths = Paths()
    taken = []
    for text in texts:
        with contextlib.suppress(PackageRefused):
            taken.append(paths.add(text))
    folded = [unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold()) for path in taken]
    folders = {str(folder) for path in folded for folder in PurePosixPath(path).parents}

    assert len(folded) == len(set(folded))
    assert not folders & set(folded)


@pytest.mark.parametrize(
    "text",
    [
        "../evil",
        "a/../../evil",
        "/etc/passwd",
        "a\\..\\b",
        "C:x",
        "a\nb",
        "a\x1b[2Jb",
        "a\u202eb",
        chr(0xDCFF),  # half a character, as of a name that is not UTF-8
        "a/" * 17 + "b",
        "x" * 201,
        "a/ b",
        "a /b",
        "d/" * 3 + "x" * 600,
    ],
)
def test_path_is_refused_and_named(text):
    with pytest.raises(PackageRefused, match=r"nothing of the package was taken$") as refused:
        check_path(text)

    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("first", "second"),
    [("a", "a"), ("A", "a"), ("a/B", "a/b"), ("a", "a/b"), ("a/b", "a"), ("A/x", "a/y"), ("é", "é"), ("ß", "ss")],
)
def test_second_of_two_that_clash_is_refused_and_both_are_named(first, second):
    paths = Paths()
    paths.add(first)

    with pytest.raises(PackageRefused, match="remove one of them"):
        paths.add(second)


@pytest.mark.parametrize(("is_folder", "most"), [(False, 5000), (True, 10_000)])
def test_too_many_files_or_folders_are_refused(is_folder, most):
    paths = Paths()
    for number in range(most):
        paths.add(f"f{number}", is_folder=is_folder)

    with pytest.raises(PackageRefused, match="5,000 files"):
        paths.add("more", is_folder=is_folder)


def test_sizes_and_ratios_have_limits():
    check_size("a", LARGEST, MOST_BYTES)
    check_ratio(1000, 8 << 20)
    check_ratio(1 << 20, 100 << 20)
    for call in (
        lambda: check_size("a", LARGEST + 1, LARGEST + 1),
        lambda: check_size("a", 1, MOST_BYTES + 1),
        lambda: check_ratio(1000, 9 << 20),
        lambda: check_ratio(1 << 30, 200 << 20),
    ):
        with pytest.raises(PackageRefused):
            call()


@pytest.mark.parametrize(
    ("paths", "top"),
    [
        (["package/package.json", "package/a/b"], "package/"),
        (["package.toml", "a/b"], ""),
        (["skills/a/SKILL.md", "skills/b/SKILL.md"], ""),
        (["a/x", "b/x"], ""),
        (["a"], ""),
    ],
)
def test_a_folder_around_everything_is_left_away(paths, top):
    assert top == common_folder(paths)


@given(st.dictionaries(st.text(st.sampled_from("abc /-é"), min_size=1, max_size=8), st.integers(0, 99), min_size=1))
def test_digest_is_of_all_files_in_any_order_and_a_list_is_read_as_it_was(sizes):
    files = [PackageFile(path, "0" * 64, size, bool(size % 2)) for path, size in sizes.items()]

    assert digest_of(files) == digest_of(reversed(files))
    assert sorted(files, key=lambda file: file.path) == list(read_list(list_text(files)))
    changed = [*files[1:], PackageFile(files[0].path, "1" * 64, files[0].size, files[0].is_executable)]
    assert digest_of(files) != digest_of(changed)
