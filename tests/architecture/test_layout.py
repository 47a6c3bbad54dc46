"""The layout holds: folders stay small, nothing imports in circles, and the architecture page names what there is."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
BASES = ("engine/oulipoly_engine", "tui/oulipoly_tui", "engine", "tui", ".")


@pytest.fixture(scope="module")
def layout():
    """The functions of scripts/layout."""
    return runpy.run_path(str(ROOT / "scripts" / "layout"), run_name="layout")


@pytest.fixture(scope="module")
def known(layout):
    return layout["modules"](ROOT)


@pytest.fixture(scope="module")
def arrows(layout, known):
    return layout["graph"](known)


def test_no_folder_holds_more_modules_than_a_reader_takes_in(layout, known):
    crowded = {folder: count for folder, count in layout["folders"](known).items() if count > layout["MOST"]}

    assert {} == crowded


def test_nothing_imports_in_circles_deferred_and_type_only_imports_included(layout, arrows):
    assert [] == layout["cycles"](arrows)


def test_no_folder_imports_another_in_a_circle_its_own_parent_included(layout, known, arrows):
    assert [] == layout["cycles"](layout["packages"](arrows, known))


def test_every_folder_is_named_in_the_architecture_page(layout, known):
    folders = {name.replace(".", "/").removeprefix("oulipoly_engine/") for name in layout["folders"](known)}
    named = set(re.findall(r"`([\w/]+)/?`", PAGE)) | {
        f"oulipoly_tui/{name}" for name in re.findall(r"`([\w/]+)`", PAGE)
    }

    assert set() == folders - named - {"oulipoly_engine"}


def test_every_module_that_the_page_names_is_there():
    names = set(re.findall(r"`([\w/]+\.py)`", PAGE))

    assert len(names) > 50
    assert [] == [name for name in names if not any((ROOT / base / name).is_file() for base in BASES)]


def test_each_path_through_the_code_names_fourteen_files_at_most_and_all_are_there():
    page = (ROOT / "docs" / "following-the-code.md").read_text(encoding="utf-8")
    paths = [re.findall(r"^\d+\. `(\S+)`", section, re.MULTILINE) for section in page.split("\n## ")[1:]]

    assert len(paths) == 5
    assert all(0 < len(path) <= 14 for path in paths)
    assert [] == [name for path in paths for name in path if not (ROOT / name).is_file()]


def test_what_comes_most_often_takes_four_places_at_most_and_all_are_there():
    page = (ROOT / "docs" / "where-to-add.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")[1:]

    assert {
        "A column",
        "A field of REST and JSON",
        "A wire",
        "A CLI",
        "An alert",
        "Who asks a person",
        "A setting",
        "A command",
    } == {section.partition("\n")[0] for section in sections}
    assert all(0 < len(re.findall(r"^\d+\. ", section, re.MULTILINE)) <= 4 for section in sections)
    assert [] == [name for name in re.findall(r"^\d+\. `(\S+)`", page, re.MULTILINE) if not (ROOT / name).exists()]
