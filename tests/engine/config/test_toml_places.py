import pytest

from oulipoly_engine.config.toml.toml_file import parse, read
from oulipoly_engine.config.toml.toml_lines import index, line_of

TEXT = '''# top [not.a.table]
a = 1
b.c = "x # = [no]"   # dotted
"quoted \\u0041" = 'y'
[one]
list = [ # comment ]
  1,
  [2, 3], # nested
]
long = """
[fake]
key = 1
"""
inline = { x = 1, y = { z = 2 } }
[[pool]]
name = "p0"
[pool.sub]
deep = true
[[pool]]
args = [
  "a",
  "b",
]
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("b", "c"), 3),
        (("quoted A",), 4),
        (("one",), 5),
        (("one", "list", 1, 0), 8),
        (("one", "long"), 10),
        (("one", "inline", "y", "z"), 14),
        (("pool", 0), 15),
        (("pool", 0, "sub", "deep"), 18),
        (("pool", 1), 19),
        (("pool", 1, "args", 1), 22),
        (("pool", 1, "missing"), 19),
        (("nowhere",), None),
    ],
)
def test_key_is_found_on_its_line(path, line):
    assert line == line_of(index(TEXT), path)


def test_headings_and_keys_inside_strings_are_not_keys():
    assert not {("fake",), ("key",), ("not",)} & set(index(TEXT))


@pytest.mark.parametrize(
    "value",
    ['"""a"""""', '""""a"""', "'''x'''''", '"\\\\"', "1979-05-27T07:32:00Z", "[{a = 1}, {a = 2}]", "[\n]", "{}"],
)
def test_any_value_leads_to_the_next_key(value):
    assert parse(None, f"first = {value}\nsecond = 2\n").failure is None
    assert value.count("\n") + 2 == line_of(index(f"first = {value}\nsecond = 2\n"), ("second",))


def test_syntax_error_names_its_line(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("a = 1\nb = = 2\n")

    problem = read(path).failure

    assert (2, True) == (problem.line, problem.text.startswith(f"{path}:2: the file is not valid TOML"))


def test_unclosed_file_names_its_last_line(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text('a = 1\nb = "\n')

    assert 2 == read(path).failure.line


def test_bytes_that_are_no_text_name_their_line(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"a = 1\n\n# \xff\n")

    assert (3, "the file is not UTF-8 text") == (read(path).failure.line, read(path).failure.message)


def test_folder_in_place_of_a_file_is_a_problem_and_a_missing_file_is_none(tmp_path):
    (tmp_path / "x.toml").mkdir()

    assert "cannot be read" in read(tmp_path / "x.toml").failure.message
    assert (None, False) == (read(tmp_path / "y.toml").failure, read(tmp_path / "y.toml").exists)


def test_endless_nesting_is_a_problem_not_a_crash(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("a = " + "[" * 100_000 + "]" * 100_000)

    assert "nested too deeply" in read(path).failure.message
