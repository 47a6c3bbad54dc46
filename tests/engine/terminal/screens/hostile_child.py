"""Feed the emulator what no program would write, for a while, and look at every frame: SEED SECONDS KIND."""

import gzip
import random
import sys
import time
from pathlib import Path

from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen
from oulipoly_engine.terminal.protocol.screen import Key, Mouse, ScreenLimits

FINALS = b"@ABCDEFGHIJKLMPSTXZ`abcdefghlmnpqrstu"
NUMBERS = (b"0", b"1", b"2", b"5", b"40", b"999", b"2147483648", b"1099511627776")
TEXTS = ("abc", "日本語", "👩\u200d👧", "e\u0301" * 9, "\r\n", "\u200d\ufe0f", "x" * 90)
STRINGS = (b"0", b"4", b"7", b"8", b"9", b"10", b"52", b"133", b"777", b"99999")
# What begins, separates and ends sequences, to be cut and joined anywhere: a dump is asked for after each piece.
PIECES = (
    *(
        b"\x1b",
        b"\x1b[",
        b"\x1b]",
        b"\x1bP",
        b"\x1b^",
        b"\x1b_",
        b"\x1bX",
        b"\x1b\\",
        b"\x07",
        b"\x18",
        b"\x1a",
        b"\r\n",
    ),
    *(b"\x90", b"\x98", b"\x9b", b"\x9c", b"\x9d", b"\x9e", b"\x9f", b"\xe6", b"\xf0\x9f", b"\x00", b"\xff"),
    *(
        b"0;",
        b"1",
        b";",
        b"?",
        b":",
        b"$",
        b" ",
        b"m",
        b"H",
        b"h",
        b"l",
        b"q",
        b"c",
        b"8;;http://x",
        b"52;c;YWJj",
        b"abc",
    ),
)
STARTS = (b"\x1bP", b"\x1b_G", b"\x1b#8", b"\x1bc", b"\x1b(0", b"\x9b5A", b"\x1b[?1049h", b"\x1b\\")

STREAMS = Path(__file__).resolve().parents[3] / "fixtures" / "streams"
RECORDED = b"".join(gzip.decompress(path.read_bytes()) for path in sorted(STREAMS.glob("*.gz")))
LIMITS = ScreenLimits(columns=40, rows=12, scrollback_rows=500)


def piece(dice, kind):
    """Return some bytes."""
    roll = dice.random()
    if kind == "mutated":
        start = dice.randrange(len(RECORDED))
        part = bytearray(RECORDED[start : start + 500])
        for _ in range(len(part) // 50 + 1):
            part[dice.randrange(len(part))] = dice.randrange(256)
        return bytes(part).replace(b"\x1bc", b"")  # without a reset, which would give the emulator a fresh start
    if kind == "pieces":
        part = dice.choice(PIECES) if roll < 0.9 else dice.randbytes(3)
        return part[: dice.randrange(1, len(part) + 1)]
    if kind == "bytes":
        return dice.randbytes(dice.randrange(1, 64))
    if roll < 0.5:
        numbers = b";".join(dice.choice(NUMBERS) for _ in range(dice.randrange(4)))
        return b"\x1b[" + dice.choice((b"", b"?", b">", b"!", b"=")) + numbers + bytes([dice.choice(FINALS)])
    if roll < 0.7:
        return dice.choice(TEXTS).encode()
    if roll < 0.85:
        return b"\x1b]" + dice.choice(STRINGS) + b";" + dice.randbytes(8) + b"\x07"
    return dice.choice(STARTS)


def dump_soundly(screen, dice):
    """Make every kind of dump; what can be restored shows the same."""
    dump = screen.dump()
    lines = screen.lines(0, 1000)
    screen.styled_rows(dice.randrange(-5, 30), dice.randrange(50))
    screen.goes_on(0, 50)
    screen.trimmed()
    screen.search("abc")
    if dump and dice.random() < 0.1:
        again = GhosttyScreen.restore(dump, LIMITS)
        assert lines == again.lines(0, 1000)
        again.close()


def once(screen, dice, kind):
    """Do one round."""
    if kind == "pieces":
        for _ in range(10):
            screen.feed(b"".join(piece(dice, kind) for _ in range(dice.randrange(1, 5))))
            dump_soundly(screen, dice)
    else:
        screen.feed(b"".join(piece(dice, kind) for _ in range(40)))
    title = screen.take_side_effects().title
    assert title is None or title.isprintable()
    roll = dice.random()
    if roll < 0.05:
        screen.resize(dice.randrange(60), dice.randrange(20))
    elif roll < 0.15:
        screen.scroll(dice.randrange(-50, 50))
    elif roll < 0.17:
        dump_soundly(screen, dice)
    screen.encode_key(Key("up"))
    screen.encode_mouse(Mouse("press", 1, 1, 1))
    frame = screen.frame(full=True)
    assert len(frame.changed) == frame.rows
    for _, row in frame.changed:
        assert sum(run.width for run in row) <= frame.columns, row
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for run in row for c in run.text), row


def main(seed, seconds, kind):
    """Go on until the time is over, and print how many rounds that were."""
    dice = random.Random(int(seed))
    screen = GhosttyScreen(LIMITS)
    end = time.monotonic() + float(seconds)
    rounds = 0
    while time.monotonic() < end:
        once(screen, dice, kind)
        rounds += 1
    sys.stdout.write(f"{rounds}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
