"""What is heard of a session as the typed events of a prompt."""

from oulipoly_engine.core.agents.prompt_events import PromptEvents
from oulipoly_engine.core.live import events as ev


def take(*heard):
    """Return the events of a prompt as tuples. heard: pairs of the second and the event."""
    events = PromptEvents()
    numbered = [
        ev.Numbered(number, f"2026-11-30T07:00:{second:06.3f}+00:00", event)
        for number, (second, event) in enumerate(heard, 1)
    ]
    return [
        (event.type, event.step, event.tool, event.content, event.tool_id, event.duration_ms)
        for each in numbered
        for event in events.take(each)
    ]


def test_answer_comes_in_pieces_and_once_as_a_whole():
    message = ev.Item("m", "agent_message", text="Rain, then sun.")
    events = take(
        (0, ev.TurnStarted()),
        (1, ev.ItemDelta("m", "Rain, ")),
        (2, ev.ItemEnded(message)),
        (2, ev.ItemEnded(ev.Item("u", "user_message", text="Weather?"))),
        (3, ev.TurnEnded("completed", reply="Rain, then sun.")),
    )

    assert events == [
        ("step.start", 1, "", "", "", None),
        ("text.delta", 1, "", "Rain, ", "", None),
        ("text.delta", 1, "", "then sun.", "", None),
        ("message.create", 1, "", "Rain, then sun.", "", None),
        ("step.finish", 1, "", "", "", None),
    ]


def test_result_of_a_tool_has_the_id_of_its_call_and_how_long_it_took():
    call = ev.Item("t1", "command", title="jq .")
    result = ev.Item("t1", "command", "completed", title="jq .", text="{}")
    events = take((1, ev.ItemStarted(call)), (2.5, ev.ItemEnded(result)), (3, ev.ItemEnded(ev.Item("t2", "tool"))))

    assert events == [
        ("tool.call", 1, "jq .", "", "t1", None),
        ("tool.result", 1, "jq .", "{}", "t1", 1500),
        ("tool.call", 1, "tool", "", "t2", None),
        ("tool.result", 1, "tool", "", "t2", None),
    ]


def test_turn_that_fails_says_why_and_the_next_try_is_another_step():
    events = take(
        (0, ev.TurnStarted()),
        (1, ev.TurnRetrying("overloaded")),
        (2, ev.TurnStarted()),
        (3, ev.TurnEnded("failed", "no more quota")),
        (4, ev.TurnEnded("interrupted")),
    )

    assert [(name, step, text) for name, step, _, text, _, _ in events] == [
        ("step.start", 1, ""),
        ("error", 1, "overloaded"),
        ("step.start", 2, ""),
        ("error", 2, "no more quota"),
        ("step.finish", 2, ""),
        ("error", 2, "the turn was interrupted"),
        ("step.finish", 2, ""),
    ]
