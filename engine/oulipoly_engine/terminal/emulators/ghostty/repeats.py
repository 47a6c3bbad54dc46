"""Bounds for REP (`CSI n b`), the one sequence whose cost grows with its number, not with its length. Pure.

libghostty prints the last character n times, n up to 65,535 and more: between margins of two columns, with a link and
a colour, nine bytes cost up to 9 s at 300 columns by 100 rows (0.1.3).
"""

from __future__ import annotations

import re
from collections import deque

_NUMBER = rb"([0-9\x00-\x17\x19\x1c-\x1f\x7f]{2,})b"  # zeros that count for nothing and controls may stand inside
_REPEAT = re.compile(rb"(\x1b\[)" + _NUMBER)  # what begins with a literal is searched for ten times as fast
# 0x9B begins one too, but not inside a UTF-8 character.
_REPEAT_C1 = re.compile(rb"(\x1b\[|(?<![\x80-\xf4])\x9b)" + _NUMBER)
_MOST = b"999"  # what programs repeat lies within a line (terminfo, rep)


def cut_at_repeats(data: bytes) -> deque[bytes]:
    """Return output cut after every repetition of 10 and more, so that the time can be looked at between them.

    Repetitions of 1,000 and more become 999. Output without any is one piece.
    """
    pieces: deque[bytes] = deque()
    begin = 0
    for match in (_REPEAT_C1 if b"\x9b" in data else _REPEAT).finditer(data):
        digits = bytes(byte for byte in match[2] if byte in b"0123456789").lstrip(b"0")
        if len(digits) < 2:
            continue
        if len(digits) <= len(_MOST):
            pieces.append(data[begin : match.end()])
        else:
            controls = bytes(byte for byte in match[2] if byte not in b"0123456789")
            pieces.append(data[begin : match.start()] + match[1] + controls + _MOST + b"b")
        begin = match.end()
    if begin < len(data):
        pieces.append(data[begin:])
    return pieces
