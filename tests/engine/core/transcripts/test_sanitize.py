"""Text of a transcript as it may be shown: redacted as the redactor would, control characters visible."""

import json

import pytest

from oulipoly_engine.core.transcripts.dialogue import Entry, Findings, Kind, Part, arguments_text
from oulipoly_engine.core.transcripts.sanitize import Visible, readable

SECRETS = (
    "rt_0123456789abcdefghijABCDEFGHIJ",
    "0123456789abcdef0123456789abcdef.AbCdEfGhIjKlMnOp",
    "see https://h/p?auth=hunter2&x=1",
    "Invalid API key: hunter2",
    "sk-ant-api03-abcdefgh12345678",
    "Authorization: Bearer abcdefgh12345678",
    'password = "hunter22"',
    "TOKEN=abcdefgh1234",
    "https://user:pass1234@host/",
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    "ghp_abcdefghijklmnop1234",
    "AKIAABCDEFGHIJKLMNOP",
    "eyJhbGciOi.abcdef.ghi",
    "pas\u017fword: hunter22",
    "to\u212aen: hunter2222",
    "DB_PASS=hunter22",
    'MYSQL_PWD="hunter22"',
    '{"auth": "dXNlcjpwYXNz"}',
    "curl -s \\\n  -u me:hunter22 https://h",
    "machine h\n  login me\n  password hunter22",
    "password: |\n  hunter22\n  hunter33",
    "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYz",
    "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
    "NzkyNzE1NDU0MTk2MDg4ODQy.X-hvzA.Ovy4MCQywSkoMRRclStW4xAYK7I",
    "set -x DB_PWD hunter22",
)


@pytest.mark.parametrize("secret", SECRETS[:9])
def test_every_secret_is_counted_once(secret):
    visible = Visible()

    shown = visible.text(f"before\n{secret}\nafter")

    assert "[redacted]" in shown
    assert 1 == visible.secrets


def test_words_that_were_redacted_before_are_not_counted():
    visible = Visible()

    visible.text("the key is [redacted] here")

    assert 0 == visible.secrets


def test_without_redaction_every_character_stays():
    visible = Visible(redacting=False)

    assert SECRETS[0] == visible.text(SECRETS[0])


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("a\x00b\x1b", "a\u2400b\u241b"),
        ("over\u202eturned", "over<U+202E>turned"),
        ("half \ud83d pair", "half <U+D83D> pair"),
        ("tab\tand\r\nline", "tab\tand\nline"),
        ("\x9b31m", "<U+009B>31m"),
    ],
    ids=["colour", "title", "control", "direction", "surrogate", "kept", "c1"],
)
def test_control_characters_cannot_act(raw, shown):
    assert shown == readable(raw)


def test_secret_that_is_coloured_inside_is_found():
    assert "abcdefgh" not in Visible().text("sk-ant-\x1b[1mapi03-abcdefgh12345678")


def test_every_text_of_a_turn_is_cleaned():
    secret = SECRETS[0]
    entry = Entry("user", secret, (Part(Kind.CALL, secret, secret),), secret, secret)

    assert secret not in repr(Visible().entry(entry))
    assert secret not in repr(Visible().findings(Findings(models=[secret], workspaces=[secret], forked_from=secret)))


def test_named_secret_of_several_lines_is_redacted_whole():
    text = arguments_text({"password": "first line\nsecond line", "content": "a\nb"})

    shown = Visible().text(text)
    assert "second line" not in shown
    assert shown.endswith("content:\na\nb")


def test_arguments_that_are_no_object_are_shown_as_they_are():
    assert ["ls", json.dumps([1, "é"], ensure_ascii=False)] == [arguments_text("ls"), arguments_text([1, "é"])]
