from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import PromptMode
from oulipoly_engine.core.runs import prompt
from oulipoly_engine.core.runs.prompt import Transport
from oulipoly_engine.errors import PromptMissing


@pytest.mark.parametrize(
    ("mode", "size", "expected"),
    [
        (PromptMode.ARG, 102_400, Transport.INLINE),
        (PromptMode.ARG, 102_401, Transport.FILE),
        (PromptMode.ARG, 0, Transport.INLINE),
        (PromptMode.STDIN, 10_000_000, Transport.STDIN),
    ],
)
def test_only_long_arguments_travel_as_files(mode, size, expected):
    assert expected is prompt.transport(mode, size)


def test_size_is_counted_in_bytes_and_odd_bytes_survive():
    assert "é\udcff".encode("utf-8", "surrogateescape") == prompt.to_bytes("é\udcff")
    assert 3 == len(prompt.to_bytes("é\udcff"))


def test_file_instruction_is_one_line_naming_the_file():
    name = prompt.file_name("u-1")

    assert "_agent_prompt_u-1.md" == name
    assert f"/w/{name}" in prompt.file_instruction(Path("/w") / name)
    assert "\n" not in prompt.file_instruction(Path("/w\nx") / name)
    assert name in prompt.file_instruction(Path("/w\nx") / name)


def test_file_wins_over_words_and_words_over_the_pipe():
    assert "from file\n" == prompt.choose("from file\n", ["a", "b"], "piped")
    assert "a b" == prompt.choose(None, ["a", "b"], "piped")
    assert "piped\n" == prompt.choose(None, [], "piped\n")


@pytest.mark.parametrize(
    ("file_text", "words", "piped", "message"),
    [
        (None, [], None, "no prompt was given"),
        (None, [], " \n", "prompt on stdin is empty"),
        ("", ["a"], None, "prompt file is empty"),
        (None, ["", " "], "piped", "prompt is empty"),
    ],
)
def test_blank_prompt_is_refused_where_it_came_from(file_text, words, piped, message):
    with pytest.raises(PromptMissing, match=message):
        prompt.choose(file_text, words, piped)


def test_instructions_keep_their_newline_and_two_more_follow():
    assert "Be terse.\n\n\nhello" == prompt.with_instructions("Be terse.\n", "hello")
    assert "hello" == prompt.with_instructions("", "hello")
