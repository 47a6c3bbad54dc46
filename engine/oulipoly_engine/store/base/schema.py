"""What makes a state file ours: its application id and its version; and what asking any of them may raise."""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x6F_75_6C_70  # "oulp"; SQLite keeps it at byte 68 of the file
CURRENT_VERSION = 33
MINIMUM_VERSION = 1  # older files are brought forward from here
WAY_OUT = "run `agents state rebuild --yes` to set it aside as a backup and start a fresh one"

BUSY_TIMEOUT_S = 5.0  # that a lock is waited for

# What SQLite raises, and what asking it raises besides: UnicodeDecodeError comes out of its own message about a schema
# that is damaged; the other two are about what it was given, half a character or a number with more than 64 bits.
DATABASE_ERRORS = (sqlite3.Error, UnicodeError, OverflowError)
