"""The models of a runtime: both spellings of a CLI's list, its pages, and the user's own models."""

from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.models import ModelPages, decode_models, has_vision, merge_models


def test_a_native_list_is_read_in_both_spellings():
    new = {
        "data": [
            {
                "id": "x",
                "model": " gpt-5 ",
                "displayName": "GPT-5",
                "isDefault": True,
                "supportedReasoningEfforts": [{"reasoningEffort": "low"}, {"reasoningEffort": "high"}],
                "inputModalities": ["text", "image"],
                "contextWindow": 400_000,
            }
        ]
    }
    old = {"models": [{"id": "gpt-4", "name": "GPT-4", "supportedReasoningEfforts": ["low"], "maxTokens": 8000}]}

    assert (
        ModelInfo(
            "gpt-5",
            "GPT-5",
            "",
            True,
            efforts=("low", "high"),
            input_modalities=("text", "image"),
            max_input_tokens=400_000,
        ),
    ) == decode_models(new)
    assert (ModelInfo("gpt-4", "GPT-4", efforts=("low",), max_output_tokens=8000),) == decode_models(old)
    assert has_vision(decode_models(new)[0])


def test_what_is_no_model_is_left_out():
    odd = {"data": [None, 7, {}, {"id": "  "}, {"id": 3}, {"id": "a", "contextWindow": "many", "inputModalities": 1}]}

    assert (ModelInfo("a", "a"),) == decode_models(odd)
    assert () == decode_models({"data": {"id": "a"}})


def test_custom_models_come_behind_and_each_id_once():  # vector 14
    told = (ModelInfo("gpt-5", "GPT-5"), ModelInfo("gpt-4", "GPT-4"))

    merged = merge_models(told, (" gpt-5 ", "own", "", "own"))

    assert [("gpt-5", False), ("gpt-4", False), ("own", True)] == [(one.id, one.is_custom) for one in merged]


def test_pages_are_asked_by_cursor_to_the_end():  # vector 14
    pages = ModelPages()

    assert {"cursor": "cursor_2"} == pages.take({"data": [{"id": "a"}], "nextCursor": "cursor_2"})
    assert pages.take({"data": [{"id": "b"}, {"id": "a"}]}) is None
    assert ["a", "b"] == [one.id for one in pages.models]
    assert "" == pages.problem


def test_a_cursor_that_comes_again_ends_the_list_with_a_problem():  # vector 15
    pages = ModelPages()
    pages.take({"data": [{"id": "a"}], "nextCursor": "again"})

    assert pages.take({"data": [{"id": "b"}], "nextCursor": "again"}) is None
    assert "read already" in pages.problem
    assert ["a", "b"] == [one.id for one in pages.models]
