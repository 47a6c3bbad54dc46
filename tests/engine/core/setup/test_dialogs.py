"""What the set-up asks: descriptions and answers are checked before anybody sees them."""

from __future__ import annotations

import msgspec
import pytest

from oulipoly_engine.core.setup import dialogs
from oulipoly_engine.core.setup.dialogs import AnyDialog, Form, FormField, KeyGiven, Option, Problem
from oulipoly_engine.errors import RequestRefused

FORM = Form(
    "Pools",
    (
        FormField("name", "Name", required=True),
        FormField("share", "Share", "number", default_value=50.0),
        FormField("on", "In use", "checkbox", default_value=True),
        FormField("rule", "Rule", "select", options=(Option("most-headroom", "Most left"), Option("readme"))),
        FormField("clis", "CLIs", "multi_select", options=(Option("claude"), Option("codex"))),
    ),
)


def test_values_are_read_as_a_person_types_them() -> None:
    values, problems = dialogs.check_values(FORM, {"name": " work ", "rule": "most left", "clis": "2, claude,codex"})
    assert problems == ()
    assert values == {"name": "work", "share": 50.0, "on": True, "rule": "most-headroom", "clis": ("codex", "claude")}


def test_each_wrong_value_is_named() -> None:
    texts = {"name": " ", "share": "nan", "on": "perhaps", "rule": "none", "clis": "claude, vim"}
    _, problems = dialogs.check_values(FORM, texts)
    assert problems == (
        Problem("name", "Name: it has to be filled in"),
        Problem("share", "Share: 'nan' is not a number"),
        Problem("on", "In use: answer yes or no"),
        Problem("rule", "Rule: 'none' is none of most-headroom, readme"),
        Problem("clis", "CLIs: 'vim' is none of claude, codex"),
    )


def test_a_value_is_meant_before_a_label_and_a_label_before_a_number() -> None:
    port = FormField("port", field_type="select", options=tuple(map(Option, ("3", "2", "1"), ("one", "1", ""))))
    assert [dialogs.read_value(port, text) for text in ("1", "2", "3", "ONE")] == ["1", "2", "3", "3"]
    assert dialogs.read_value(port, (" as it is ",)) == " as it is "
    with pytest.raises(RequestRefused):
        dialogs.read_value(FormField("port", field_type="multi_select", required=True), ())


@pytest.mark.parametrize(
    "document",
    [
        {"type": "form", "title": "t", "fields": []},
        {"type": "form", "title": "t", "fields": [{"name": "a"}, {"name": "a"}]},
        {"type": "form", "title": "t", "fields": [{"name": "a", "label": "x" * 201}]},
        {"type": "form", "title": "t", "fields": [{"name": "a", "field_type": "select"}]},
        {"type": "form", "title": "t", "fields": [{"name": "a", "label": "Your API key"}]},
        {"type": "form", "title": "t", "fields": [{"name": "authToken"}]},
        {"type": "form", "title": "t", "fields": [{"name": "sudo_password", "field_type": "textarea"}]},
        {"type": "form", "title": "Paste your API key", "fields": [{"name": "v"}]},
        {"type": "form", "title": "t", "fields": [{"name": "v", "help_text": "your token"}, {"name": "w"}]},
        {"type": "form", "title": "t", "fields": [{"name": "v", "label": "Ihr Passwort"}]},
        {"type": "form", "title": "t", "fields": [{"name": "a", "placeholder": "the login code"}]},
        {"type": "wizard", "title": "t", "steps": []},
        {
            "type": "wizard",
            "title": "t",
            "current_step": 1,
            "steps": [{"label": "a", "form": msgspec.to_builtins(FORM)}],
        },
        {"type": "cli_selection", "available": []},
    ],
)
def test_a_description_that_nobody_could_answer_is_refused(document: dict[str, object]) -> None:
    dialog = msgspec.convert(document, AnyDialog)
    with pytest.raises(RequestRefused):
        dialogs.check_dialog(dialog)


def test_a_key_is_in_no_document() -> None:
    answer = KeyGiven("openrouter", "OPENROUTER_API_KEY", "sk-or-1")
    assert "sk-or-1" not in f"{answer!r}{dialogs.answer_document(answer)}"
