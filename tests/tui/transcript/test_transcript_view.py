"""Entries as lines: Markdown, folds, what is hostile; and the view over any number of them."""

import pytest

from oulipoly_engine.core.transcripts.dialogue import Entry, Kind, Part
from oulipoly_engine.service.reading.pages import PlacedEntry
from oulipoly_tui.view.transcript.markdown import code_blocks, markdown
from oulipoly_tui.view.transcript.spans import cells, plain
from oulipoly_tui.view.transcript.transcript import Folds, entry_lines, message_text, part_with
from oulipoly_tui.widgets.places.transcript_layout import Layout
from oulipoly_tui.widgets.transcript_entries import PAGE, Entries

TEXT = """# A heading

Some **bold**, *soft* and `coded` words, and [a link](https://x.test/y) that go on until the line is full.

- first item that is so long that it must be broken and hangs under its own words
  1. inner
> quoted

---
| a | b |
```python
def f():
    return "a very long line of code that does not fit into the width of the view"
```
left ** alone * as `it stands
"""


def written(text, width=44):
    return [one.line for one in markdown(text, width)]


def test_markdown_is_drawn_as_in_the_golden(check_golden):
    tones = {
        "": "",
        "dim": "~",
        "accent": "^",
        "strong": "*",
        "heading": "#",
        "key": "`",
        "keyword": "%",
        "string": '"',
    }
    shown = ["".join(f"{tones[tone]}{text}{tones[tone]}" for text, tone in line) for line in written(TEXT)]

    check_golden("markdown", "\n".join(shown))


@pytest.mark.parametrize("width", [12, 20, 44, 200])
def test_no_line_is_wider_than_asked(width):
    wide = TEXT + "中文字符" * 40 + "\n" + "x" * 300

    assert all(cells(plain(line)) <= width for line in written(wide, width))


def test_nothing_of_a_plain_text_is_lost():
    text = "a b  c\n  d * e ** f _ g\nsnake_case_name 2*3*4"

    assert text == "\n".join(plain(line) for line in written(text, 80))


def test_code_blocks_are_numbered_as_they_are_copied():
    text = "```a\none\n```\nx\n~~~\ntwo\n~~~"
    blocks = {one.block for one in markdown(text, 40)}

    assert {-1, 0, 1} == blocks
    assert ["one", "two"] == code_blocks(text)


def entry(*parts, role="assistant", **more):
    return PlacedEntry(3, Entry(role, "2026-11-20T12:00:00Z", parts, **more))


def shown(one, **folds):
    return [plain(drawn.line) for drawn in entry_lines(one, 60, Folds(**folds))]


def test_a_call_a_result_and_a_thought_take_a_line_each_until_they_are_unfolded():
    one = entry(
        Part(Kind.THINKING, "hm\nwell"), Part(Kind.CALL, "command: ls", "Bash"), Part(Kind.RESULT, "no", is_error=True)
    )

    assert ["  ▸ thinking  hm well (2 lines)", "  ▸ Bash  command: ls", "  ▸ result (error)  no"] == shown(one)
    assert ["  ▾ thinking (2 lines)", "    │ hm", "    │ well"] == shown(one, opened={(3, 0)})[:3]
    assert "    │ command: ls" in shown(one, is_all=True)


def test_what_a_person_wrote_is_shown_as_typed():
    part = Part(Kind.TEXT, "+ return 1\n  * `x`\n1. x\n# x\n<b>")

    assert ["  + return 1", "    * `x`", "  1. x", "  # x", "  <b>"] == shown(entry(part, role="user"))[2:]
    assert ["  • return 1", "    • x"] == shown(entry(part))[2:4]


def test_a_side_chains_turn_is_one_line_until_it_is_unfolded():
    one = entry(Part(Kind.TEXT, "inner words"), is_sidechain=True)

    assert ["┆▸ sub-agent session  assistant: inner words"] == shown(one)
    assert any("inner words" in line for line in shown(one, opened={(3, -2)})[1:])
    assert not any(line.startswith("┆") for line in shown(one, is_side=True))


def test_an_empty_record_takes_no_line():
    assert [] == shown(PlacedEntry(0, None))
    assert [] == shown(entry(Part(Kind.TEXT, "  ")))


def test_control_signs_never_come_out():
    hostile = "a\x1b[2J\x00b\x9bc\u202ed\ttab"

    drawn = "".join(shown(entry(Part(Kind.TEXT, hostile), Part(Kind.CALL, hostile, hostile)), is_all=True))

    assert drawn.isprintable()


def test_a_message_is_copied_without_its_tools():
    one = entry(Part(Kind.CALL, "x", "Bash"), Part(Kind.TEXT, "said"))

    assert "said" == message_text(one.entry)
    assert 0 == part_with(one.entry, "bash")


def test_long_entries_are_not_kept_without_end():
    kept = {}
    for length in (10, 100_000):
        pages = Entries(lambda _number, _question: None)
        pages.clear(60 * PAGE)
        for number in range(60):
            page = tuple(entry(Part(Kind.TEXT, f"{number}".zfill(length))) for _ in range(PAGE))
            pages.put(number, page)
        kept[length] = [number for number in range(60) if pages.has_page(number)]

    assert {10: list(range(60)), 100_000: list(range(52, 60))} == kept


def test_lines_that_were_looked_at_are_not_kept_without_end():
    placed_entries = Entries(lambda _number, _question: None)
    placed_entries.clear(10 * PAGE)
    page = entry(Part(Kind.TEXT, "\n\n".join(map(str, range(100)))), role="user")
    layout = Layout(placed_entries)
    layout.fit(80)
    for number in range(10):
        placed_entries.put(number, (page,) * PAGE)
    for place in range(10 * PAGE):
        assert len(layout.lines_at(place)) > 100

    kept = [place for place in range(10 * PAGE) if place in layout._laid]
    assert len(kept) < 60
    assert 10 * PAGE - 1 == kept[-1]
