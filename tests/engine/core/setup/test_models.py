"""Names of models are read from what CLIs print, and nothing else counts as one."""

import pytest

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup.models import model_names, model_names_in_help


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  1. o3\n  2) gpt-5\n", ("gpt-5", "o3")),
        ("- opus  the best\n* haiku\n• sonnet\n", ("haiku", "opus", "sonnet")),
        ("\x1b[1mopenai/gpt-5:free\x1b[0m x\n", ("openai/gpt-5:free",)),
        ("NAME  ID\nllama3.2  1\nllama3.2  2\n", ("llama3.2",)),
        ("Error: no models\n\n====\n12 models\n", ()),
        ("x" * 101 + "\né5\n-m\n", ()),
    ],
)
def test_first_word_of_a_line_is_a_name_if_it_can_be_one(text, expected):
    assert expected == model_names(text)


def test_commands_in_a_help_text_are_no_models():
    assert ("gpt-5",) == model_names_in_help("Usage: x [options]\n\nCommands:\n  exec  run it\n  gpt-5  a model\n")


def test_codex_catalogue_leaves_hidden_models_out():
    text = '{"models": [{"slug": "gpt-5", "visibility": "list"}, {"slug": "auto", "visibility": "hide"}, 7]}'

    assert (("gpt-5",), ()) == (CLIS["codex"].models.read(text), CLIS["codex"].models.read("[]"))
