"""What xterm does, both emulators do: small cases of each control function, on 10 columns and 5 rows."""

import pytest

_FIVE = "aaaaa\r\nbbbbb\r\nccccc\r\nddddd\r\neeeee"
_FULL = "0123456789"

CASES = {
    # cursor
    "cup": ("\x1b[3;4HX", ["", "", "   X"]),
    "cup beyond the screen": ("\x1b[99;99HX", ["", "", "", "", "         X"]),
    "cup zero is one": ("\x1b[0;0HX", ["X"]),
    "hvp": ("\x1b[2;2fX", ["", " X"]),
    "cuu stops at the top": ("\x1b[2;1H\x1b[9AX", ["X"]),
    "cud": ("\x1b[2BX", ["", "", "X"]),
    "cuf": ("\x1b[3CX", ["   X"]),
    "cub stops at the left": ("ab\x1b[9DX", ["Xb"]),
    "cnl": ("ab\x1b[2EX", ["ab", "", "X"]),
    "cpl": ("\x1b[3;3H\x1b[FX", ["", "X"]),
    "cha": ("abc\x1b[2GX", ["aXc"]),
    "hpa": ("abc\x1b[5`X", ["abc X"]),
    "vpa": ("ab\x1b[3dX", ["ab", "", "  X"]),
    "vpr": ("a\x1b[2eX", ["a", "", " X"]),
    "backspace stops at the left": ("a\b\b\bX", ["X"]),
    "carriage return": ("abc\rX", ["Xbc"]),
    "vertical tab is a line feed": ("a\vb", ["a", " b"]),
    "form feed is a line feed": ("a\fb", ["a", " b"]),
    "next line": ("ab\x1bEX", ["ab", "X"]),
    "index": ("ab\x1bDX", ["ab", "  X"]),
    # the end of a line
    "wraps": (f"{_FULL}X", [_FULL, "X"]),
    "wraps late": (f"{_FULL}\rX", ["X123456789"]),
    "no wrap": (f"\x1b[?7l{_FULL}XY", ["012345678Y"]),
    "wraps and scrolls": (f"\x1b[5;1H{_FULL}X", ["", "", "", _FULL, "X"]),
    "wide does not straddle": ("012345678日", ["012345678", "日"]),
    # erasing
    "el right": (f"{_FULL}\x1b[1;4H\x1b[K", ["012"]),
    "el left": (f"{_FULL}\x1b[1;4H\x1b[1K", ["    456789"]),
    "el all": (f"{_FULL}\x1b[1;4H\x1b[2K", []),
    "ed below": (f"{_FIVE}\x1b[3;3H\x1b[J", ["aaaaa", "bbbbb", "cc"]),
    "ed above": (f"{_FIVE}\x1b[3;3H\x1b[1J", ["", "", "   cc", "ddddd", "eeeee"]),
    "ed all": (f"{_FIVE}\x1b[2J", []),
    "ech": (f"{_FULL}\x1b[1;3H\x1b[4X", ["01    6789"]),
    "erasing half a wide one takes it whole": ("日本\x1b[1;2H\x1b[X", ["  本"]),
    "decaln": ("\x1b#8", ["EEEEEEEEEE"] * 5),
    # inserting and deleting
    "ich": ("abcdef\x1b[1;3H\x1b[2@", ["ab  cdef"]),
    "dch": ("abcdef\x1b[1;3H\x1b[2P", ["abef"]),
    "irm": ("abc\x1b[1;2H\x1b[4hXY", ["aXYbc"]),
    "irm off": ("abc\x1b[1;2H\x1b[4h\x1b[4lXY", ["aXY"]),
    "il": (f"{_FIVE}\x1b[2;1H\x1b[2L", ["aaaaa", "", "", "bbbbb", "ccccc"]),
    "dl": (f"{_FIVE}\x1b[2;1H\x1b[2M", ["aaaaa", "ddddd", "eeeee"]),
    "dch takes a wide one whole": ("日本x\x1b[1;1H\x1b[P", [" 本x"]),
    "rep": ("ab\x1b[3b", ["abbbb"]),
    "rep of a wide one": ("日\x1b[2b", ["日日日"]),
    # scrolling
    "line feed at the bottom": (f"{_FIVE}\n", ["bbbbb", "ccccc", "ddddd", "eeeee"]),
    "reverse index at the top": (f"{_FIVE}\x1b[1;1H\x1bM", ["", "aaaaa", "bbbbb", "ccccc", "ddddd"]),
    "su": (f"{_FIVE}\x1b[2S", ["ccccc", "ddddd", "eeeee"]),
    "sd": (f"{_FIVE}\x1b[2T", ["", "", "aaaaa", "bbbbb", "ccccc"]),
    "region scrolls alone": (f"{_FIVE}\x1b[2;4r\x1b[4;1H\n", ["aaaaa", "ccccc", "ddddd", "", "eeeee"]),
    "region, reverse": (f"{_FIVE}\x1b[2;4r\x1b[2;1H\x1bM", ["aaaaa", "", "bbbbb", "ccccc", "eeeee"]),
    "region: set homes": (f"{_FIVE}\x1b[2;4rX", ["Xaaaa", "bbbbb", "ccccc", "ddddd", "eeeee"]),
    "region: below it a feed does not scroll": (f"{_FIVE}\x1b[1;3r\x1b[5;1H\nX", [*_FIVE.split("\r\n")[:4], "Xeeee"]),
    "region: il within": (f"{_FIVE}\x1b[2;4r\x1b[3;1H\x1b[L", ["aaaaa", "bbbbb", "", "ccccc", "eeeee"]),
    "region: su within": (f"{_FIVE}\x1b[2;4r\x1b[S", ["aaaaa", "ccccc", "ddddd", "", "eeeee"]),
    "origin mode": ("\x1b[2;4r\x1b[?6h\x1b[1;1HX\x1b[9;1HY", ["", "X", "", "Y"]),
    "margins": ("\x1b[?69h\x1b[3;6s\x1b[1;3Habcdef", ["  abcd", "  ef"]),
    # tabs
    "tab": ("a\tX", ["a       X"]),
    "tab stops at the edge": ("\t\t\t\tX", ["         X"]),
    "hts": ("\x1b[1;4H\x1bH\r\tX", ["   X"]),
    "tbc all": ("\x1b[3g\tX", ["         X"]),
    "cbt": ("\x1b[1;10H\x1b[ZX", ["        X"]),
    "cht": ("\x1b[1;2H\x1b[IX", ["        X"]),
    # saving
    "decsc": ("ab\x1b7\x1b[4;4HX\x1b8Y", ["abY", "", "", "   X"]),
    "scosc": ("ab\x1b[s\x1b[4;4HX\x1b[uY", ["abY", "", "", "   X"]),
    "ris": (f"{_FIVE}\x1b[2;3r\x1b[?6h\x1bcX", ["X"]),
    # alternate screen
    "1049 and back": ("abc\x1b[?1049hXYZ\x1b[?1049lD", ["abcD"]),
    "1049 is empty": ("abc\x1b[?1049hX", ["   X"]),
    "47 and back": ("abc\x1b[?47h\x1b[2JX\x1b[?47l", ["abc"]),
    # characters
    "combining": ("e\u0301X", ["e\u0301X"]),
    "joined": ("👩\u200d👩\u200d👧X", ["👩\u200d👩\u200d👧X"]),
    "dec graphics": ("\x1b(0lqk\x1b(Bq", ["┌─┐q"]),
    "shift out": ("\x1b)0\x0eq\x0fq", ["─q"]),
    "nul is nothing": ("a\0b", ["ab"]),
    "overlong osc is swallowed": ("\x1b]99999;" + "x" * 5000 + "\x07ab", ["ab"]),
    "unknown csi is nothing": ("a\x1b[>5;6;7zb", ["ab"]),
    "dcs is nothing": ("a\x1bP1;2|data\x1b\\b", ["ab"]),
    "apc is nothing": ("a\x1b_Gi=1,a=q;AAAA\x1b\\b", ["ab"]),
    "can ends a sequence": ("a\x1b[31\x18b", ["ab"]),
    "controls inside a sequence act": ("ab\x1b[\r2CX", ["abX"]),
}


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("case", CASES)
def test_a_control_function_does_what_xterm_does(screens, case):
    fed, expected = CASES[case]

    shown = screens(10, 5).feed(fed)

    assert expected == shown.text


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("case", CASES)
def test_output_means_the_same_however_it_is_cut(screens, case):
    fed, _ = CASES[case]
    whole, cut = screens(10, 5).feed(fed), screens(10, 5)

    for byte in fed.encode():
        cut.screen.feed(bytes([byte]))
    cut.look()

    assert whole.rows == cut.rows
    assert whole.cursor == cut.cursor
