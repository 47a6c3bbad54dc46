"""No key answers a request unless it was seen and the hand has paused."""

from oulipoly_tui.view.live.answer_guard import PAUSE_S, SEEN_S, AnswerGuard


def pressed(guard, now):
    guard.take_key(now)
    return guard.refuse(now) is None


def test_a_key_after_a_look_and_a_pause_answers():
    guard = AnswerGuard()
    guard.show("r", 10.0)

    assert not pressed(guard, 10.1)
    assert pressed(guard, 10.1 + max(SEEN_S, PAUSE_S))


def test_a_held_key_never_answers_the_first_one_aside():
    guard = AnswerGuard()
    guard.show("r", 0.0)
    answered = [pressed(guard, 10.0 + place * 0.03) for place in range(100)]

    assert [0] == [place for place, yes in enumerate(answered) if yes]
    guard.show("another", 13.0)  # came while it was held
    assert not any(pressed(guard, 13.0 + place * 0.03) for place in range(100))


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
    assert pressed(guard, 10.6)


def test_a_click_after_a_pause_answers_as_a_key_does():
    guard = AnswerGuard()
    guard.show("r", 0.0)
    guard.cover(1.0)

    assert guard.refuse(1.2) is not None
    assert guard.refuse(1.0 + PAUSE_S) is None
