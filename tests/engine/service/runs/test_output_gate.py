import pytest

from oulipoly_engine.service.runs.output_gate import HEAD_LIMIT, HEAD_PATIENCE_S, OutputGate

INIT = b'{"type":"system","subtype":"init","session_id":"x"}\n'


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def passed():
    return bytearray()


@pytest.fixture
def held(clock, passed):
    return OutputGate(passed.extend, clock)


def test_a_short_text_can_be_taken_back(held, passed):
    held.feed(memoryview(b"You've hit your limit\n"))

    assert b"You've hit your limit\n" == held.take_back()
    assert b"" == passed


def test_a_head_is_let_go_after_its_patience(held, passed, clock):
    held.feed(memoryview(b"tick\n"))
    clock.now += HEAD_PATIENCE_S
    held.tick()

    assert b"tick\n" == passed
    assert b"" == held.take_back()


def test_more_than_the_limit_passes_at_once_and_in_order(held, passed):
    data = bytes(range(256)) * (HEAD_LIMIT // 256)
    held.feed(memoryview(data))
    held.feed(memoryview(b"!"))

    assert data + b"!" == passed
    assert ord("!") == held.last_byte
    assert HEAD_LIMIT + 1 == held.forwarded


def test_an_event_streams_preamble_waits_for_the_first_real_line(held, passed, clock):
    held.feed(memoryview(INIT))
    clock.now += 60
    held.tick()
    assert b"" == passed

    held.feed(memoryview(b'{"type":"assistant"}\n'))
    clock.now += HEAD_PATIENCE_S
    held.tick()

    assert INIT + b'{"type":"assistant"}\n' == passed


def test_codex_events_before_the_answer_are_a_preamble_too(held, clock):
    events = b'{"type":"thread.started","thread_id":"t"}\n{"type":"turn.started"}\n'
    held.feed(memoryview(events))
    clock.now += 60
    held.tick()

    assert events == held.take_back()


def test_nothing_printed_stays_nothing(held, passed):
    held.release()

    assert b"" == passed
    assert held.last_byte is None
