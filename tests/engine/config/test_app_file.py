"""app.toml: what is wrong in it costs that alone, is told by every check, and never takes read-only mode away."""

import pytest

from oulipoly_engine.config import app_file, check
from oulipoly_engine.paths import from_environment


@pytest.fixture
def paths(home):
    return from_environment()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_slip_costs_its_key_alone(paths):
    write(app_file.path_of(paths), 'footer = "nonsense"\nread_only = true\npreset = "vim"\n[keys]\n"frame.quit" = "Q"')

    found = app_file.read(paths)

    assert (True, "vim", {"frame.quit": "Q"}) == (found.value.read_only, found.value.preset, found.value.keys)
    assert "full" == found.value.footer
    assert [("footer", 1)] == [(one.key, one.line) for one in found.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('read_only = "yes"\n', True),
        ("read_only = 1\n", True),
        ("read_only = true\npreset = \n", True),  # no TOML at all
        ("  read_only=tru\n", True),
        ("read_only = false\npreset = \n", False),
        ("# read_only = true\npreset = \n", False),
        ("", False),
    ],
)
def test_whoever_meant_read_only_gets_it(paths, text, expected):
    write(app_file.path_of(paths), text)

    assert expected is app_file.read(paths).value.read_only


def test_the_check_of_all_files_reads_the_apps_too(paths):
    write(app_file.path_of(paths), 'footer = "nonsense"\n')
    write(paths.config / "themes" / "mine.toml", "dark = 3\n")

    found = [(one.file.name, one.key) for one in check.check(paths)]

    assert ("app.toml", "footer") in found
    assert {"dark", "primary"} <= {key for name, key in found if name == "mine.toml"}
