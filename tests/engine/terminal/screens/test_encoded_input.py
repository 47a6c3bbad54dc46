"""Keys, mouse, paste and focus become the bytes that the child's present modes ask for."""

import pytest

from oulipoly_engine.terminal.protocol.screen import Key, Mods, Mouse

KEYS = {
    "letter": (Key("a", "a"), b"a"),
    "upper case": (Key("A", "A"), b"A"),
    "beyond ascii": (Key("é", "é"), "é".encode()),
    "committed text": (Key("x", "日本"), "日本".encode()),
    "a symbol by its name": (Key("exclamation_mark", "!"), b"!"),
    "space": (Key("space", " "), b" "),
    "enter": (Key("enter", "\r"), b"\r"),
    "tab": (Key("tab", "\t"), b"\t"),
    "backtab": (Key("backtab"), b"\x1b[Z"),
    "shift tab": (Key("tab", mods=Mods.SHIFT), b"\x1b[Z"),
    "backspace": (Key("backspace", "\x7f"), b"\x7f"),
    "escape": (Key("escape", "\x1b"), b"\x1b"),
    "delete": (Key("delete"), b"\x1b[3~"),
    "insert": (Key("insert"), b"\x1b[2~"),
    "home": (Key("home"), b"\x1b[H"),
    "end": (Key("end"), b"\x1b[F"),
    "page up": (Key("pageup"), b"\x1b[5~"),
    "page down": (Key("pagedown"), b"\x1b[6~"),
    "up": (Key("up"), b"\x1b[A"),
    "ctrl left": (Key("left", mods=Mods.CTRL), b"\x1b[1;5D"),
    "shift alt right": (Key("right", mods=Mods.SHIFT | Mods.ALT), b"\x1b[1;4C"),
    "f1": (Key("f1"), b"\x1bOP"),
    "f5": (Key("f5"), b"\x1b[15~"),
    "f12": (Key("f12"), b"\x1b[24~"),
    "ctrl c": (Key("c", "\x03", Mods.CTRL), b"\x03"),
    "ctrl at": (Key("at", "\x00", Mods.CTRL), b"\x00"),
    "ctrl space": (Key("space", mods=Mods.CTRL), b"\x00"),
    "ctrl backslash": (Key("backslash", "\x1c", Mods.CTRL), b"\x1c"),
    "ctrl bracket": (Key("right_square_bracket", "\x1d", Mods.CTRL), b"\x1d"),
    "alt letter": (Key("b", "b", Mods.ALT), b"\x1bb"),
    "alt enter": (Key("enter", mods=Mods.ALT), b"\x1b\r"),
    "an unknown key": (Key("no_such_key_at_all"), b""),
}


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("case", KEYS)
def test_keys(screens, case):
    shown = screens()
    key, sent = KEYS[case]

    assert sent == shown.screen.encode_key(key)


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("mode", "key", "sent"),
    [
        ("\x1b[?1h", Key("up"), b"\x1bOA"),
        ("\x1b[>1u", Key("enter", "", Mods.SHIFT), b"\x1b[13;2u"),
        ("\x1b[>1u", Key("c", "\x03", Mods.CTRL), b"\x1b[99;5u"),
        ("\x1b[>1u", Key("escape", "\x1b"), b"\x1b[27u"),
        ("\x1b[>1u", Key("a", "a"), b"a"),
        ("\x1b[>1u\x1b[<u", Key("escape", "\x1b"), b"\x1b"),
        ("\x1b[>4;2m", Key("enter", "", Mods.SHIFT), b"\x1b[27;2;13~"),
    ],
    ids=["application", "kitty enter", "kitty ctrl", "kitty escape", "kitty text", "kitty popped", "other keys"],
)
def test_keys_in_the_modes_that_a_child_can_set(screens, mode, key, sent):
    shown = screens()
    shown.feed(mode)

    assert sent == shown.screen.encode_key(key)


def test_an_answer_that_waits_is_no_part_of_a_key(shown):
    shown.screen.feed(b"\x1b[6n")

    assert b"a" == shown.screen.encode_key(Key("a", "a"))
    assert b"\x1b[1;1R" == shown.screen.take_side_effects().replies


LEFT, RIGHT, UP, DOWN = 1, 3, 4, 5
MICE = {
    "press": ("\x1b[?1000h\x1b[?1006h", Mouse("press", LEFT, 3, 4), b"\x1b[<0;4;5M"),
    "middle": ("\x1b[?1000h\x1b[?1006h", Mouse("press", 2, 0, 0), b"\x1b[<1;1;1M"),
    "right with ctrl": ("\x1b[?1000h\x1b[?1006h", Mouse("press", RIGHT, 0, 0, Mods.CTRL), b"\x1b[<18;1;1M"),
    "release": ("\x1b[?1000h\x1b[?1006h", Mouse("release", LEFT, 3, 4), b"\x1b[<0;4;5m"),
    "wheel up": ("\x1b[?1000h\x1b[?1006h", Mouse("press", UP, 0, 0), b"\x1b[<64;1;1M"),
    "wheel down": ("\x1b[?1000h\x1b[?1006h", Mouse("press", DOWN, 0, 0), b"\x1b[<65;1;1M"),
    "no moves in 1000": ("\x1b[?1000h\x1b[?1006h", Mouse("move", 0, 1, 1), b""),
    "moves in 1003": ("\x1b[?1003h\x1b[?1006h", Mouse("move", 0, 1, 1), b"\x1b[<35;2;2M"),
    "old encoding": ("\x1b[?1000h", Mouse("press", LEFT, 3, 4), b"\x1b[M $%"),
    "not wanted": ("", Mouse("press", LEFT, 3, 4), b""),
    "wheel not wanted": ("", Mouse("press", UP, 3, 4), b""),
    "wheel as arrows": ("\x1b[?1049h", Mouse("press", UP, 3, 4), b"\x1b[A" * 3),
    "wheel as arrows, refused": ("\x1b[?1049h\x1b[?1007l", Mouse("press", UP, 3, 4), b""),
}


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("case", MICE)
def test_mouse(screens, case):
    shown = screens()
    mode, mouse, sent = MICE[case]

    shown.feed(mode)

    assert sent == shown.screen.encode_mouse(mouse)


def test_dragging_is_told_in_1002(shown):
    shown.feed("\x1b[?1002h\x1b[?1006h")

    events = [Mouse("press", LEFT, 1, 1), Mouse("move", LEFT, 2, 1), Mouse("release", LEFT, 2, 1)]
    assert [b"\x1b[<0;2;2M", b"\x1b[<32;3;2M", b"\x1b[<0;3;2m"] == [
        shown.screen.encode_mouse(event) for event in events
    ]


def test_whether_the_child_wants_the_mouse_is_in_the_frame(shown):
    shown.feed("\x1b[?1002h")
    wanted = shown.frame.mouse
    shown.feed("\x1b[?1002l")

    assert [True, False] == [wanted, shown.frame.mouse]


def test_a_paste_is_marked_where_the_child_asked_for_it(shown):
    shown.feed("\x1b[?2004h")

    assert b"\x1b[200~a\nb\x1b[201~" == shown.screen.encode_paste("a\nb")
    assert shown.frame.bracketed_paste


def test_a_paste_that_is_not_marked_ends_its_lines_as_the_return_key_does(shown):
    assert b"a\rb\rc" == shown.screen.encode_paste("a\nb\r\nc")


@pytest.mark.parametrize("evil", ["\x1b[201~rm -rf /\n", "\x9b201~", "\x03", "\x00", "\x7f"], ids=ascii)
def test_a_paste_cannot_end_its_own_marks(shown, evil):
    shown.feed("\x1b[?2004h")

    sent = shown.screen.encode_paste(f"a{evil}b")

    inside = sent.removeprefix(b"\x1b[200~").removesuffix(b"\x1b[201~").decode()
    assert not set(inside) & {"\x1b", "\x9b", "\x03", "\x00", "\x7f"}


def test_focus_is_told_where_the_child_asked_for_it(shown):
    before = shown.screen.encode_focus(gained=True)
    shown.feed("\x1b[?1004h")

    assert (b"", b"\x1b[I", b"\x1b[O") == (
        before,
        shown.screen.encode_focus(gained=True),
        shown.screen.encode_focus(gained=False),
    )
