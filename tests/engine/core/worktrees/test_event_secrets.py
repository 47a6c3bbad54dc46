"""No secret is in what a session tells, however its text is cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.worktrees.event_secrets import EventCleaner

KEY = "sk-proj-abcdefghijklmnop1234"
TEXTS = (
    f"export OPENAI_API_KEY={KEY} and go on\nnext line\n",
    f"say {KEY}\n",
    "password: correct-horse-77\nAuthorization: Bearer abcdefghijklmnop1234\n",
    "-----BEGIN RSA PRIVATE KEY-----\nabcdefghijklmnop1234\n-----END RSA PRIVATE KEY-----\nbehind it\n",
    "x " * 400 + f"{KEY} end\n",
)


def told_in_pieces(pieces):
    cleaner = EventCleaner()
    cleaned = [cleaner.clean(ev.ItemDelta("i", piece)) for piece in pieces]
    return "".join(one.text for one in cleaned if one is not None)


@pytest.mark.parametrize("text", TEXTS)
@given(cuts=st.lists(st.integers(0, 900), max_size=12))
def test_no_cut_lets_a_secret_through(text, cuts):
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    told = told_in_pieces([text[begin:end] for begin, end in pairwise(places)])

    assert "abcdefghijklmnop1234" not in told
    assert "correct-horse" not in told
    assert "[redacted]" in told
    assert text.count("\n") - told.count("\n") in (0, 2)  # of a key one line is left


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=8), max_size=40))
def test_other_text_comes_whole_and_in_order(pieces):
    text = "".join(pieces).replace("-", " ")
    told = told_in_pieces([*(piece.replace("-", " ") for piece in pieces), "\n"])
    cleaned = EventCleaner().clean(ev.ItemEnded(ev.Item("i", "agent_message", "completed", text)))

    if cleaned.item.text == text:  # nothing of it looks like a secret
        assert f"{text}\n" == told


@pytest.mark.parametrize("step", [1, 7, 40, 97])
@pytest.mark.parametrize("before", [4050, 4090, 6150])
def test_no_cut_of_a_line_without_blanks_lets_a_secret_through(before, step):
    """As a command prints JSON."""
    text = f'["{"x" * 60}","' * 200
    text = f'{text[:before]}","{KEY}","{"y" * 60}"]\n'
    told = told_in_pieces([text[at : at + step] for at in range(0, len(text), step)])

    assert told == text.replace(KEY, "[redacted]")


def test_a_long_word_is_not_waited_for_and_a_long_line_is_whole():
    assert "a" * 2952 == told_in_pieces(["a" * 3000, "a" * 2000])
    assert "a" * 5000 + "\n" == told_in_pieces(["a" * 3000, "a" * 2000, "\n"])
    line = "word " * 3000
    assert line.rstrip() == told_in_pieces([line[at : at + 7] for at in range(0, len(line), 7)]).rstrip()


def test_all_texts_of_an_event_are_cleaned_and_no_id():
    item = ev.Item(KEY, "command", title=f"echo {KEY}", text=f"API_TOKEN={KEY}")
    change = ev.FileChange(".env", diff=f"+OPENAI_API_KEY={KEY}")
    asked = ev.RequestOpened(
        KEY, "command_approval", ev.Prompt("run", command=f"curl -H 'x: {KEY}'", changes=(change,))
    )
    told = [EventCleaner().clean(event) for event in (ev.ItemEnded(item), ev.ItemStarted(item), asked)]

    assert [KEY, KEY, KEY] == [told[0].item.id, told[1].item.id, told[2].native_id]
    assert KEY not in f"{told[0].item.title}{told[0].item.text}{told[2].prompt}"
