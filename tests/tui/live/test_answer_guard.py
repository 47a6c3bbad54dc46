"""No key answers a request unless it was seen and the hand has paused."""

import pytest

from oulipoly_tui.view.live.answer_guard import HELD_S, PAUSE_S, SEEN_S, AnswerGuard


def pressed(guard, now, key="a"):
    guard.take_key(key, now)
    return guard.refuse_key() is None


def test_a_key_after_a_look_and_a_pause_answers():
    guard = AnswerGuard()
    guard.show("r", 10.0)

    assert not pressed(guard, 10.1)
    assert pressed(guard, 10.1 + HELD_S)
    assert not pressed(guard, 11.2, "d")
    assert pressed(guard, 11.2 + PAUSE_S, "a")


@pytest.mark.parametrize("delay_s", [0.2, 0.5, 0.66])
@pytest.mark.parametrize("covers", [False, True])
def test_a_held_key_never_answers_the_first_one_aside(delay_s, covers):
    guard = AnswerGuard()
    guard.show("r", 0.0)
    assert pressed(guard, 10.0)
    guard.show("another", 10.05)  # comes while the key is held
    if covers:
        guard.cover(10.06)  # the keys go elsewhere as the first one is answered

    assert not any(pressed(guard, 10.0 + delay_s + place * 0.03) for place in range(100))


def test_a_key_that_was_pressed_before_the_request_was_seen_answers_nothing_however_late_it_is_heard():
    guard = AnswerGuard()
    guard.show("r", 10.0)
    guard.take_key("a", 10.0 - 0.1)

    assert guard.refuse_key() is not None


def test_another_request_is_looked_at_anew():
    guard = AnswerGuard()
    guard.show("r", 0.0)
    guard.show("another", 9.9)

    assert not pressed(guard, 10.0)


def test_the_same_request_shown_again_was_seen_already():
    guard = AnswerGuard()
    guard.show("r", 0.0)
    guard.show("r", 9.9)

    assert pressed(guard, 10.0)


def test_what_was_covered_is_looked_at_anew():
    guard = AnswerGuard()
    guard.show("r", 0.0)
    guard.cover(9.9)

    assert not pressed(guard, 10.0)
    assert pressed(guard, 10.0 + HELD_S)


def test_a_click_after_a_pause_answers_as_a_key_does():
    guard = AnswerGuard()
    guard.show("r", 0.0)
    guard.cover(1.0)

    assert guard.refuse(1.2) is not None
    assert guard.refuse(1.0 + max(SEEN_S, PAUSE_S)) is None
