"""Whatever stands in a configuration file's place, and however much of it: a problem at once, and no crash."""

import os
import time

import pytest

from oulipoly_engine.config import check, load, prices_file
from oulipoly_engine.config.toml.toml_file import parse, read
from oulipoly_engine.errors import AgentFileInvalid, ConfigInvalid
from oulipoly_engine.paths import Paths

FILES = (
    "providers.toml",
    "config.toml",
    "sessions.toml",
    "app.toml",
    "models/m.toml",
    "agents/g.md",
    "themes/t.toml",
)


@pytest.fixture
def paths(tmp_path):
    for folder in ("models", "agents", "themes"):
        (tmp_path / "config" / folder).mkdir(parents=True)
    return Paths(config=tmp_path / "config", data=tmp_path / "data", home=tmp_path)


PUT = {
    "fifo": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_regular_file_is_named_at_once(paths, name, put):
    put(paths.config / name)

    problems = check.check(paths)

    assert [paths.config / name] == [problem.file for problem in problems]
    assert "regular file" in problems[0].message


@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
def test_file_that_is_asked_for_by_name_is_refused_at_once(paths, tmp_path, put):
    put(paths.models / "m.toml")
    put(tmp_path / "agent.md")
    put(paths.config / "prices.toml")

    with pytest.raises(ConfigInvalid, match="not a regular file"):
        load.load_model(paths, "m")
    with pytest.raises(AgentFileInvalid, match="not a regular file"):
        load.load_agent_file(tmp_path / "agent.md")
    assert "not a regular file" in prices_file.read_prices(paths).problems[0].message


def test_file_of_more_than_four_megabytes_is_no_configuration(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"# " + b"x" * (4 << 20))

    assert "it has more than 4 MB" in read(path).failure.message


_MANY = 100_000
EXCESS = {
    "keys": ("".join(f"k{i} = 1\n" for i in range(25_000)), None, "more than 20000 values"),
    "accounts": ("".join(f"[a{i}]\ncommand = 'x'\n" for i in range(25_000)), None, "more than 20000 values"),
    "entries of a list": (f"a = [{'1,' * _MANY}]", None, "more than 20000 values"),
    "parts of a key": ("x = 1\n" + "a." * _MANY + "b = 1", 2, "more than 64 parts"),
    "parts of a table's name": ("[" + "a." * _MANY + "b]", 1, "more than 64 parts"),
    "parts in an inline table": ("x = {" + "'a'.\"b\" . " * _MANY + "b = 1}", 1, "more than 64 parts"),
    "parts and tables together": ("[a.b]\n" + "a." * 60 + "b = [[[[[[1]]]]]]", 2, "more than 64 parts"),
    "lists in lists": ("x = " + "[" * 100 + "]" * 100, 1, "more than 64 parts"),
    "digits": ("a = 1\n\nb = " + "9" * 5000, 3, "more than 64 bits"),
    "hexadecimal digits": ("a = 1\n[b]\nc = [1, 0x" + "f" * 5000 + "]", 3, "more than 64 bits"),
    "bits": ("a = -9223372036854775809", 1, "more than 64 bits"),
}


@pytest.mark.parametrize(("text", "line", "message"), EXCESS.values(), ids=EXCESS)
def test_too_much_of_anything_is_a_problem_within_moments(tmp_path, text, line, message):
    began = time.process_time()
    failure = parse(tmp_path / "x.toml", text).failure

    assert time.process_time() - began < 30  # 0.5 s is usual; without the limits, minutes
    assert (line, True) == (failure.line, message in failure.message)


def test_what_stays_within_the_limits_is_read(tmp_path):
    text = "a = [-9223372036854775808, 9223372036854775807, true]\n" + "a1." * 62 + "b = '" + "a.b" * 100 + "'\n"

    assert parse(tmp_path / "x.toml", text).failure is None


def test_frontmatter_has_a_limit_and_the_instructions_do_not(tmp_path):
    path = tmp_path / "g.md"
    path.write_text("---\nmodel: m\ndescription: d\n---\n" + "x" * 200_000)
    assert 200_000 == len(load.load_agent_file(path).value.body)

    path.write_text("---\n" + "".join(f"k{i}: 1\n" for i in range(_MANY)) + "---\n")
    with pytest.raises(AgentFileInvalid, match="frontmatter has more than 64 KB"):
        load.load_agent_file(path)
