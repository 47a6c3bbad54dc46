"""What the redactor removes, what it leaves alone, and that hostile text costs it nothing."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.redact import REDACTED, redact, redact_argv

JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"

SECRETS = {
    "anthropic oauth": "sk-ant-oat01-abcDEF_123-xyz",
    "anthropic key": "sk-ant-api03-0123456789",
    "openai key": "sk-proj-abcdefgh12345678",
    "plain sk key": "sk-0123456789abcdefghij",
    "sk key of letters": "sk-abcdefghijklmnopqrst",
    "jwt": JWT,
    "unsigned jwt": "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
    "github": "ghp_0123456789abcdefghij0123456789abcdef",
    "github fine-grained": "github_pat_11ABCDEFG0123456789_abcdefghij",
    "gitlab": "glpat-0123456789abcdefghij",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "slack": "xoxb-1234567890-abcdefghij",
    "google": "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "google oauth": "ya29.a0AfH6SMBx0123456789abcdef",
    "refresh token": "rt_0123456789abcdefghijABCDEFGHIJ",
    "z.ai": "0123456789abcdef0123456789abcdef.AbCdEfGhIjKlMnOp",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_secret_of_known_shape_is_removed_from_a_sentence(secret):
    assert f"the key {REDACTED}, it said" == redact(f"the key {secret}, it said")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.def", "Authorization: [redacted]"),
        ('{"Authorization": "Basic dXNlcjpwYXNz"}', '{"Authorization": "[redacted]"}'),
        ("-H 'authorization: Bearer 0123' https://x", "-H 'authorization: [redacted]' https://x"),
        ("Cookie: a=1; session=2\nnext", "Cookie: [redacted]\nnext"),
        ("sent bearer 0123456789abcdef", "sent bearer [redacted]"),
        ("OPENAI_API_KEY=hunter2 claude -p", "OPENAI_API_KEY=[redacted] claude -p"),
        ("AWS_SECRET_ACCESS_KEY=wJalr/XUtn+EMI", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ('api_key = "a b c"  # mine', 'api_key = "[redacted]"  # mine'),
        ("password: 'p\"w'", "password: '[redacted]'"),
        ('{"accessToken":"x1","expiresAt":9}', '{"accessToken":"[redacted]","expiresAt":9}'),
        ('{"refresh_token": "r", "a": 1}', '{"refresh_token": "[redacted]", "a": 1}'),
        (r'"{\"token\": \"abc\", \"n\": 1}"', r'"{\"token\": \"[redacted]\", \"n\": 1}"'),
        ("https://h/p?access_token=abc&x=1", "https://h/p?access_token=[redacted]&x=1"),
        ("https://h/p?key=abc&x=1", "https://h/p?key=[redacted]&x=1"),
        ("https://h/p?x=1&auth=abc", "https://h/p?x=1&auth=[redacted]"),
        ("Invalid API key: hunter2", "Invalid API key: [redacted]"),
        ("secret key: hunter2-abc", "secret key: [redacted]"),
        ("tool --api-key abc --verbose", "tool --api-key [redacted] --verbose"),
        ("git clone https://me:pw@host/r.git", "git clone https://[redacted]@host/r.git"),
        ("token=ghp_0123456789abcdef.rest", "token=[redacted]"),
        ('"token": "cut off here', '"token": "[redacted]'),
    ],
)
def test_named_secret_is_removed_and_its_surroundings_stay(text, expected):
    assert expected == redact(text)


def test_private_key_block_is_removed_even_when_cut():
    block = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\nAAAA\n-----END OPENSSH PRIVATE KEY-----"

    assert f"a\n{REDACTED}\nb" == redact(f"a\n{block}\nb")
    assert f"a\n{REDACTED}" == redact(f"a\n{block[:60]}")


@pytest.mark.parametrize(
    "text",
    [
        "9e69e8cc-616d-4640-bf1d-96f5391b1a2e",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "/home/user/.claude/projects/-home-user-proj/token/keys.txt",
        '{"usage": {"input_tokens": 12, "output_tokens": 7}, "max_tokens": 4096}',
        "token_hash=0123456789, expires 2026-11-21T04:39:41Z",
        "OAuth token has expired. Please obtain a new token or refresh your existing token.",
        'api_key = "$ANTHROPIC_API_KEY"',
        "the token: expired, the secret: none",
        "sk-learn and task-sk-x are no keys; Bearer authentication is a scheme",
        "http://127.0.0.1:18080/v1/responses?x=user@host",
        "The author's password manager is not authorised here",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    assert text == redact(text)


PIECES = [
    *SECRETS.values(),
    "--token ",
    "token=",
    '"token": "',
    "password: ",
    "Bearer ",
    "://a:b@",
    "[redacted]",
    "Cookie: ",
    "'",
]


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6), st.sampled_from(' ,;"\\\n')), max_size=12))
def test_redacting_twice_changes_nothing_more(pieces):
    once = redact("".join(pieces))

    assert once == redact(once)


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "-", "sk-", "eyJ", "eyJ_", "://", "://a:b", "token", 'token="', "token=", "token=\\", "--token ", '\\"'),
        *(
            " ",
            "-----BEGIN PRIVATE KEY-----",
            "-----END ",
            "Authorization: ",
            "bearer ",
            "a_",
            "xox-",
            "--a-",
            "cookie",
        ),
    ],
)
def test_a_hostile_megabyte_takes_no_longer_than_its_length_warrants(unit):
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()

    redact(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("claude", "--api-key", "abc", "-p"), ("claude", "--api-key", "[redacted]", "-p")),
        (("x", "--token=abc", "--name", "n"), ("x", "--token=[redacted]", "--name", "n")),
        (("curl", "-u", "me", "--user", "me:pw"), ("curl", "-u", "me", "--user", "[redacted]")),
        (("curl", "-H", "Authorization: Bearer q"), ("curl", "-H", "Authorization: [redacted]")),
        (("x", "--max-tokens", "500", "--token", "--verbose"), ("x", "--max-tokens", "500", "--token", "--verbose")),
        (("x", "--token", "$TOKEN"), ("x", "--token", "$TOKEN")),
        ((), ()),
    ],
)
def test_arguments_are_shown_without_the_values_of_secret_flags(argv, expected):
    assert expected == redact_argv(argv)
