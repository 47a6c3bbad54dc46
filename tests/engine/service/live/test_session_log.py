"""The log of a session keeps no secret, in whatever form a CLI writes it, and goes on behind one."""

import json

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.service.live.session_log import SessionLog


def write_log(path, lines, env=None):
    log = SessionLog(path, SystemClock(), env)
    for line in lines:
        log.write("out", line.encode())
    return path.read_text()


def test_values_of_secret_variables_are_taken_out_as_they_are_and_in_json(tmp_path):
    secret, key = 'pa"ss\\word/é', "first part of it\nsecond part of it"
    inner = json.dumps({"text": secret})
    lines = [
        secret,
        json.dumps({"text": secret}),
        json.dumps({"text": inner}),
        inner.replace("\\u00e9", "é"),
        *key.split("\n"),
    ]

    text = write_log(tmp_path / "log", lines, {"MY_SECRET": secret, "ENCRYPTION_KEY": key})

    assert [] == [part for part in ("ss", "word", "part of it") if part in text.replace("[REDACTED]", "")]
    assert len(lines) == text.count("[REDACTED]")


def test_a_text_that_only_names_the_first_line_of_a_key_does_not_end_the_log(tmp_path):
    text = write_log(tmp_path / "log", ["-----BEGIN RSA PRIVATE KEY-----, it says", *["more"] * 600, "the last line"])

    assert "the last line" in text


def test_what_comes_line_by_line_is_left_out_up_to_its_last_line(tmp_path):
    key = [
        "\x1b[32m-----BEGIN \x1b[0mRSA PRIVATE KEY-----",
        "word9",
        "\x1b[32m-----END RSA PRIVATE KEY-----",
        "after it",
    ]
    typed = ["$ docker login -u ann --password-stdin <<EOF", "word9", "EOF", "the last line"]

    text = write_log(tmp_path / "log", [*key, "after it", *typed])

    assert "word9" not in text
    assert ["after it", "the last line"] == [line for line in ("after it", "the last line") if line in text]
