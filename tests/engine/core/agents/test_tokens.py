"""Tokens of agents: what is taken, what is refused, and why."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.agents import tokens
from oulipoly_engine.core.agents.tokens import AgentToken, read_token, write_token
from oulipoly_engine.errors import TokenInvalid, TokenRevoked

SECRET = b"s" * 32
NOW = datetime(2026, 11, 30, 7, tzinfo=UTC)
TOKEN = AgentToken("t1", "agent", "a1", NOW, NOW + timedelta(days=1), ("note-save",), ("a2",))
TEXT = write_token(TOKEN, SECRET)
HEADER, CLAIMS, SIGNATURE = TEXT.split(".")


def _pack(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _signed(header, claims):
    return f"{header}.{claims}.{tokens._encode(tokens._sign(f'{header}.{claims}', SECRET))}"


def test_token_says_what_was_written():
    assert read_token(TEXT, SECRET, NOW, lambda _: False) == TOKEN


def test_signature_is_that_of_other_programs():
    """Source: the example of jwt.io, whose secret is `your-256-bit-secret`."""
    claims = "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ"
    signed = f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{claims}"
    expected = "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"

    assert tokens._encode(tokens._sign(signed, b"your-256-bit-secret")) == expected


@pytest.mark.parametrize(
    ("text", "now", "error"),
    [
        (f"{HEADER}.{_pack({'jti': 't1'})}.{SIGNATURE}", NOW, TokenInvalid),
        (TEXT, NOW + timedelta(days=1), TokenInvalid),
        (TEXT, NOW, TokenRevoked),
        (f"{_pack({'alg': 'none'})}.{CLAIMS}.", NOW, TokenInvalid),
        (_signed(_pack({"alg": "none"}), CLAIMS), NOW, TokenInvalid),
        (_signed(_pack({"alg": "HS512"}), CLAIMS), NOW, TokenInvalid),
        (write_token(TOKEN, b"o" * 32), NOW, TokenInvalid),
        (_signed(HEADER, _pack({"iss": "agent"})), NOW, TokenInvalid),
        (_signed(HEADER, _pack([])), NOW, TokenInvalid),
        (_signed(HEADER, CLAIMS) + "x", NOW, TokenInvalid),
        ("", NOW, TokenInvalid),
        ("é.ü.ö", NOW, TokenInvalid),
    ],
    ids=[
        *("tampered", "expired", "revoked", "alg none", "signed none", "another alg", "another secret", "few claims"),
        *("no object", "long signature", "empty", "no ascii"),
    ],
)
def test_token_is_refused_by_its_signature_first(text, now, error):
    """Vector 54: a forged token tells nothing of what is revoked."""
    with pytest.raises(error):
        read_token(text, SECRET, now, lambda _: True)
