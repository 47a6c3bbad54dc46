"""What a one-shot is asked is kept without secrets, and looked through only where it can hold one."""

import re

import pytest

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.text.secrets.rules import RULES
from oulipoly_engine.core.text.secrets.shapes import SHAPES
from oulipoly_engine.service.runs.run_text import RunText, SavedPrompt, list_files, may_hold_secret, read_prompt


@pytest.mark.parametrize(
    "prompt",
    ["machine host login bob password sesame", "vault login sesame", "setx MYTOKEN sesame", "Basic dXNlcjpwYXNz"],
)
def test_a_secret_of_letters_alone_is_not_kept(tmp_path, prompt):
    RunText(tmp_path, "u1", SavedPrompt(prompt, False, False)).begin()

    (path,) = list_files(tmp_path)
    assert read_prompt(path).prompt == redact(prompt) != prompt


def test_every_word_that_tells_of_a_secret_has_a_text_looked_through():
    needs = {need for rule in RULES for need in rule.needs}

    assert set() == {need for need in needs if not may_hold_secret(need.encode())}


def test_every_secret_that_is_known_by_its_form_is_longer_than_a_short_word_or_has_a_sign():
    shortest = {shape.needs: re._parser.parse(shape.pattern._pattern).getwidth()[0] for shape in SHAPES}

    assert {} == {
        needs: width
        for needs, width in shortest.items()
        if width <= 15 and not all(may_hold_secret(need.encode()) for need in needs)
    }


@pytest.mark.parametrize("prompt", ["what is 42 + 1?", "Mend the tests (3 fail); see src/app.py, please."])
def test_a_text_with_digits_and_signs_is_not_looked_through(prompt):
    assert not may_hold_secret(prompt.encode())
