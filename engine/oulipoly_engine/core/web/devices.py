"""Devices that may use the server, and their tokens. Pure.

A token is `ID.SECRET`: the id finds the device, the secret is kept as its hash alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.records import Record

Scope = Literal["view", "answer", "operate", "terminal"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
OFFERED: tuple[Scope, ...] = ("view", "answer", "operate")  # `terminal` guards nothing: only old devices hold it
CODE_LIFE = timedelta(minutes=2)
CONFIRMED_FOR = timedelta(minutes=15)
LINK_LIFE = timedelta(hours=24)
TRIES, LOCKED_FOR = 5, timedelta(minutes=15)
REPLY_LIFE = timedelta(hours=24)
NAME_LIMIT = 60  # characters

Kind = Literal["device", "link", "request"]


class PairingRefused(RequestRefused, slug="code-refused"):
    """A code is wrong, was used, or is too old."""


class TooManyTries(RequestRefused, slug="too-many-tries"):
    """An address has shown wrong tokens or codes too often."""


class Device(Record):
    """Something that may use the server."""

    device_id: str
    kind: Kind  # link: for somebody else, to look only; request: may answer one request and nothing else
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    request_id: str | None = None
    last_seen_at: datetime | None = None
    expires_at: datetime | None = None
    confirmed_until: datetime | None = None
    revoked_at: datetime | None = None
    owner_id: str | None = None  # the device that a request's token was sent to, and without which it is not good

    def is_open(self, now: datetime) -> bool:
        """Return whether its token is good."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def is_confirmed(self, now: datetime) -> bool:
        """Return whether a person at the computer has vouched for it lately."""
        return self.confirmed_until is not None and now < self.confirmed_until


def confirmation_prompt(device: Device) -> Prompt:
    """Return what who is at the computer is asked before a device is confirmed."""
    title = f"Confirm the device {device.name} ({device.device_id})?"
    scopes = ", ".join(device.scopes)
    reason = f"For a quarter of an hour it may do what can put code on this computer. It may: {scopes}."
    return Prompt(title, reason=f"{reason} Approve only what you have just asked for on it yourself.")


def device_document(device: Device) -> dict[str, Any]:
    """Return a device as scripts get it (docs/json.md)."""
    return {
        "device_id": device.device_id,
        "kind": device.kind,
        "name": device.name,
        "scopes": [*device.scopes],
        "created_at": to_text(device.created_at),
        "last_seen_at": None if device.last_seen_at is None else to_text(device.last_seen_at),
        "expires_at": None if device.expires_at is None else to_text(device.expires_at),
    }


class ServerEntry(Record):
    """A server that was started."""

    pid: int
    url: str
    fingerprint: str  # of its certificate; empty: it speaks no TLS
    started_at: datetime


def read_scopes(words: Iterable[str]) -> tuple[Scope, ...]:
    """Return scopes in their order; to look belongs to each. Raises UsageInvalid.

    `terminal` is still understood, for scripts that name it, and left out.
    """
    asked = {word.strip() for word in words} - {""} | {"view"}
    if strange := sorted(asked - {*SCOPES}):
        raise UsageInvalid(f"there is no scope {strange[0][:40]!r}: {', '.join(OFFERED)}")
    return tuple(scope for scope in OFFERED if scope in asked)


def clean_name(name: str) -> str:
    """Return a device's name as it is kept: one line of visible characters, without secrets."""
    shown = " ".join("".join(letter if letter.isprintable() else " " for letter in redact(name)).split())
    return shown[:NAME_LIMIT]


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that no other device has: people and sessions tell devices apart by it."""
    if name not in taken:
        return name
    number = 2
    while (numbered := f"{name[: NAME_LIMIT - len(str(number)) - 1]} {number}") in taken:
        number += 1
    return numbered


def split_token(token: str) -> tuple[str, str]:
    """Return the id and the secret of a token; empty ones where it is not a token."""
    identity, dot, secret = token.partition(".")
    return (identity, secret) if dot and identity and secret else ("", "")
