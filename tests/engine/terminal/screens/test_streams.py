"""What real programs wrote, recorded by scripts/record-streams, looks the same in every emulator and in tmux."""

import pytest

STREAMS = ("claude", "codex", "htop", "less", "shell", "top", "vim")


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_ends_in_the_screen_that_tmux_shows(screens, recorded, name):
    data, columns, rows, golden = recorded(name)

    shown = screens(columns, rows).feed(data)

    assert golden == shown.text


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [7, 4096])
def test_a_recording_means_the_same_however_it_is_cut(screens, recorded, name, size):
    data, columns, rows, _ = recorded(name)
    whole, cut = screens(columns, rows).feed(data), screens(columns, rows)
    step = size if len(data) // size < 4000 else 64

    for place, start in enumerate(range(0, len(data), step)):
        cut.screen.feed(data[start : start + step])
        if place % 16 == 0:
            cut.look()
    cut.look()

    assert whole.rows == cut.rows
    assert whole.frame.cursor == cut.frame.cursor


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_survives_a_restore(screens, recorded, name):
    data, columns, rows, _ = recorded(name)
    half = data.rfind(b"\x1b[", 0, len(data) // 2)
    shown = screens(columns, rows).feed(data[:half])

    again = screens(dump=shown.screen.dump()).feed(data[half:])

    assert shown.feed(data[half:]).text == again.text
