"""Permission profiles: what a session may do without asking. Pure (contract, B.7)."""

from __future__ import annotations

from typing import Literal, get_args

Profile = Literal["supervised", "auto_accept_edits", "full_access"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
