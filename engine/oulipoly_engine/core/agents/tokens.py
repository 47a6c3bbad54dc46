"""Tokens of agents: JSON Web Tokens signed with HS256 (RFC 7515, RFC 7519). Pure.

| issuer     | made by                 | holds    | gives                                                |
|------------|-------------------------|----------|------------------------------------------------------|
| `agent`    | the start of an agent   | 10 years | the agent's capabilities, along its links of now     |
| `operator` | `agents token create`   | 1 year   | those of them that the token names, if they hold now |

The algorithm is pinned: what the header of a token says is compared, never followed. The signature is looked at first,
so that a forged token tells nothing about which ones are revoked. Written by hand: one HMAC, and no dependency.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from oulipoly_engine.errors import TokenInvalid, TokenRevoked
from oulipoly_engine.records import Record

Issuer = Literal["agent", "operator"]
LIFETIMES: Mapping[Issuer, timedelta] = {"agent": timedelta(days=3650), "operator": timedelta(days=365)}
SECRET_BYTES = 32
LONGEST_TOKEN = 16 << 10  # characters
_HEADER = {"alg": "HS256", "typ": "JWT"}


class AgentToken(Record):
    """What a token says."""

    token_id: str  # `jti`
    issuer: Issuer
    agent_id: str  # `agent_ref`
    issued_at: datetime  # whole seconds
    expires_at: datetime
    capabilities: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # ids of agents that could be prompted when it was made
    revoked_at: datetime | None = None  # not part of the token: it is looked up


def write_token(token: AgentToken, secret: bytes) -> str:
    """Return a token as text."""
    claims = {
        "iss": token.issuer,
        "jti": token.token_id,
        "iat": int(token.issued_at.timestamp()),
        "exp": int(token.expires_at.timestamp()),
        "agent_ref": token.agent_id,
        "links": list(token.links),
        "capabilities": list(token.capabilities),
    }
    signed = f"{_encode(_dump(_HEADER))}.{_encode(_dump(claims))}"
    return f"{signed}.{_encode(_sign(signed, secret))}"


def is_agent_token(text: str) -> bool:
    """Tell whether a text has the form of a token of an agent, which those of devices have not."""
    return text.count(".") == len(("header.", "claims."))


def read_token(text: str, secret: bytes, now: datetime, is_revoked: Callable[[str], bool]) -> AgentToken:
    """Return what a token says, once it is known to be ours and to hold.

    is_revoked: asked with its id, after all else. Raises TokenInvalid, TokenRevoked.
    """
    parts = text.split(".")
    if len(parts) != len(("header", "claims", "signature")) or len(text) > LONGEST_TOKEN:
        raise TokenInvalid("the token is not one of an agent")
    header, claims, signature = parts
    if not hmac.compare_digest(_decode(signature), _sign(f"{header}.{claims}", secret)):
        raise TokenInvalid("the token was not signed here")
    if _load(header).get("alg") != _HEADER["alg"]:
        raise TokenInvalid("the token is signed by another algorithm than HS256")
    token = _parse_claims(_load(claims))
    if token.expires_at <= now:
        raise TokenInvalid(f"the token has expired at {token.expires_at:%Y-%m-%d %H:%M} UTC")
    if is_revoked(token.token_id):
        raise TokenRevoked("the token was revoked")
    return token


def _parse_claims(claims: Mapping[str, Any]) -> AgentToken:
    try:
        issuer = claims["iss"]
        if issuer not in LIFETIMES:
            raise TokenInvalid("the token has an unknown issuer")
        return AgentToken(
            str(claims["jti"]),
            issuer,
            str(claims["agent_ref"]),
            datetime.fromtimestamp(int(claims["iat"]), UTC),
            datetime.fromtimestamp(int(claims["exp"]), UTC),
            tuple(map(str, claims["capabilities"])),
            tuple(map(str, claims["links"])),
        )
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise TokenInvalid("the token lacks a claim, or has one of another type") from error


def _sign(text: str, secret: bytes) -> bytes:
    return hmac.digest(secret, text.encode("utf-8", "surrogatepass"), "sha256")


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise TokenInvalid("the token is not one of an agent") from error


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _load(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(_decode(text))
    except (ValueError, RecursionError) as error:
        raise TokenInvalid("the token is not one of an agent") from error
    if not isinstance(value, dict):
        raise TokenInvalid("the token is not one of an agent")
    return value
