"""Secrets in commands, SQL, variables and headers, a kind a line of data; and what looks like one and is none."""

import json
from pathlib import Path

import pytest

from oulipoly_engine.core.text.redact import redact

KINDS = dict(json.loads(Path(__file__).with_name("secret_kinds.json").read_text(encoding="utf-8")))


def test_each_kind_is_removed():
    shown = {kind: redact(text) for kind, text in KINDS.items()}

    assert {} == {kind: text for kind, text in shown.items() if "word9" in text or "[redacted]" not in text}


@pytest.mark.parametrize(
    "text",
    [
        "GOOGLE_APPLICATION_CREDENTIALS=/home/ann/key.json",
        "DB_PW=$PASSWORD",
        "vault login -method=oidc",
        "echo $TOKEN | docker login --password-stdin",
        "users are identified by their names",
        "https://example.org/callback?code=200",
        "git log -p engine && az login",
        "zip -r out.zip folder",
    ],
)
def test_what_only_looks_like_one_stays(text):
    assert text == redact(text)
