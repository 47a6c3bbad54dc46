"""`agents status`: one line from what is stored, by templates of the user's own."""

import json

import pytest

PROVIDERS = "[ada]\ncommand = 'true'\n"


@pytest.fixture
def status(home, agents):
    """Run it in a small configuration."""
    config = home / ".config" / "oulipoly-agent-runner"
    (config / "models").mkdir(parents=True)
    (config / "providers.toml").write_text(PROVIDERS)
    (config / "models" / "opus.toml").write_text("[[providers]]\nname = 'ada'\n")
    (config / "app.toml").write_text('[status]\ntmux = "{next:opus} {worst_used} {nothing}"\n')
    return lambda *words: agents("status", *words)


def test_what_is_not_known_is_a_question_mark_and_never_0(status):
    done = status()

    assert (0, b"quota ? opus \xe2\x86\x92 ada\n", b"") == (done.returncode, done.stdout, done.stderr)


def test_a_template_of_app_toml_is_used_by_name(status):
    assert b"ada ? {nothing}\n" == status("--template", "tmux").stdout


def test_a_format_is_filled_in(status):
    assert b"0 running, opus\n" == status("--format", "{running} running, {model}").stdout


def test_an_unknown_template_names_the_nearest(status):
    done = status("--template", "tmx")

    assert 2 == done.returncode
    assert b"did you mean 'tmux'?" in done.stderr


def test_json_has_every_placeholder(status):
    found = json.loads(status("--json").stdout)

    assert {"worst", "next", "next:opus", "attention", "at_risk", "age", "used:ada"} <= set(found)


def test_without_any_configuration_there_is_a_line_too(agents):
    done = agents("status")

    assert (0, b"quota ? ? \xe2\x86\x92 ?\n") == (done.returncode, done.stdout)
