"""What a prompt asks for, and what it is answered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_demo.base import answers, directives
from oulipoly_demo.base.answers import Talk
from oulipoly_demo.base.directives import Directives, Step
from oulipoly_demo.base.options import OptionWrong, Style, Syntax, parse, style_of

SYNTAX = Syntax(
    vendor="claude",
    valued=frozenset({"--model", "--lines", "--tone"}),
    flags=frozenset({"--print"}),
    variadic=frozenset({"--tools"}),
    short=(("-p", "--print"),),
)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("plain", Directives("plain")),
        ("a [[sleep:1.5]] b", Directives("a b", sleep_s=1.5)),
        ("[[exit:3]]", Directives("", exit_code=3)),
        ("x [[429]]", Directives("x", failure="429")),
        ("x [[quota@me]]", Directives("x", failure="quota")),
        ("x [[quota@other]]", Directives("x")),
        ("x [[stderr:oh no]]", Directives("x", stderr="oh no")),
        ("[[big:10]][[noeol]]", Directives("", big_bytes=10, no_newline=True)),
        ("[[big:-5]] x", Directives("x")),
        ("[[sleep:inf]]", Directives("", sleep_s=86400.0)),
        ("[[bytes]]", Directives("", binary_bytes=1024)),
        ("x [[delegate:a-b]] [[return:c.md]]", Directives("x", delegate="a-b", returns="c.md")),
        ("[[bytes:5]]", Directives("", binary_bytes=5)),
        ("[[unknown]] [[sleep:soon]]", Directives("[[unknown]] [[sleep:soon]]")),
        ("a [[approve:ls -l | wc]] b", Directives("a b", steps=(Step("approve", "ls -l | wc"),))),
        ("[[run:ls]][[edit:a.py]]", Directives("", steps=(Step("run", "ls"), Step("edit", "a.py")))),
        ("[[ask: Which? | Red|Blue]]", Directives("", steps=(Step("ask", "Which?", ("Red", "Blue")),))),
        ("[[ask:Name?]]", Directives("", steps=(Step("ask", "Name?"),))),
        ("[[plan:look|do it]]", Directives("", steps=(Step("plan", choices=("look", "do it")),))),
        ("[[stall:0.5]][[flood:10]]", Directives("", steps=(Step("stall", amount=0.5), Step("flood", amount=10)))),
        ("[[retry]][[drift]][[die@me]]", Directives("", steps=(Step("retry"), Step("drift"), Step("die")))),
        ("x [[die@other]]", Directives("x")),
        ("[[run:]] [[plan:|]] [[stall:soon]] [[think]]", Directives("[[run:]] [[plan:|]] [[stall:soon]] [[think]]")),
    ],
)
def test_directives_are_read_and_leave_the_text(prompt, expected):
    assert expected == directives.parse(prompt, "me")


@pytest.mark.parametrize(
    ("prompt", "part"),
    [
        ("hello", "made up"),
        ("please count one two", "4 words"),
        ("list 5 ideas for tea", "5. "),
        ("what is 12 * 12", "= 144"),
        ("write a function for turtles", "```python"),
        ("review this line", "Verdict"),
        ("why is the sky blue?", "Short answer"),
        ("nothing special", "You said: nothing special"),
        ("You write a haiku.\n\nrain", "rain"),
        ("", "nothing to answer"),
    ],
)
def test_answer_follows_the_prompt(prompt, part):
    assert part in answers.answer(Talk(prompt))


def test_answer_knows_what_was_said_before():
    answer = answers.answer(Talk("what did I say so far?", ("the word is turtle",)))

    assert "1. the word is turtle" in answer


def test_answer_obeys_the_style():
    style = Style(tone="pirate", lines=2, emoji=True, title="News")

    answer = answers.answer(Talk("list 5 ideas for tea", style=style))

    assert "# News\n\n🐢 Arr, Here is a list" in answer
    assert 4 == len(answer.split("\n"))


@given(st.text(), st.floats(0, 1))
def test_equal_talks_get_equal_answers(prompt, temperature):
    talk = Talk(prompt, style=Style(temperature=temperature))

    assert answers.answer(talk) == answers.answer(talk) != ""


@given(st.text())
def test_chunks_make_the_answer_again(text):
    assert text == "".join(answers.chunks(text))


def test_big_and_binary_answers_have_their_exact_size():
    assert 100_001 == len(answers.big(100_001))
    assert bytes(range(256)) == answers.binary(1000)[256:512]


def test_command_line_is_taken_apart():
    parsed = parse(["-p", "--model=m", "--tools", "A", "B", "--lines", "3", "--", "-x", "y"], SYNTAX)

    assert ("m", True, ("A", "B"), ("-x", "y")) == (
        parsed.last("--model"),
        parsed.has("--print"),
        parsed.values["--tools"],
        parsed.positionals,
    )
    assert Style(lines=3) == style_of(parsed, "claude")


@pytest.mark.parametrize(
    ("argv", "vendor", "message"),
    [
        (["--nope"], "claude", "error: unknown option '--nope'"),
        (["--nope"], "codex", "error: unexpected argument '--nope' found"),
        (["--model"], "claude", "error: option '--model <value>' argument missing"),
        (["--print=1"], "claude", "error: unknown option '--print=1'"),
        (["--tone", "sad"], "claude", "argument 'sad' is invalid. Allowed choices are plain, cheerful, pirate."),
        (["--lines", "few"], "codex", "invalid value 'few' for '--lines <VALUE>'"),
    ],
)
def test_wrong_command_line_is_refused_in_the_vendors_words(argv, vendor, message):
    with pytest.raises(OptionWrong) as caught:
        style_of(parse(argv, SYNTAX._replace(vendor=vendor)), vendor)

    assert message in str(caught.value)
