"""`agents status`: one line from what is stored, by templates of the user's own."""

import json
import os
import shutil
import sys
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.core.text.columns import width
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.liveness import here, start_ticks
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.runs.invocations import NewInvocation

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
    assert (None, None, None, "ada") == (found["worst"], found["age"], found["used:ada"], found["next:opus"])


def test_without_any_configuration_there_is_a_line_too(agents):
    done = agents("status")

    assert (1, b"no account yet: `agents account add`\n", b"") == (done.returncode, done.stdout, done.stderr)


def test_json_without_any_configuration_knows_nothing_and_says_why(agents):
    done = agents("status", "--json")

    error = json.loads(done.stderr)["error"]
    assert (1, "not-configured") == (done.returncode, error["code"])
    assert "`agents account add`" in error["message"]
    values = json.loads(done.stdout)
    assert ([None, "0"], []) == ([values["next"], values["running"]], [text for text in values.values() if text == "?"])


def test_a_template_in_a_prompt_breaks_nothing_without_any_configuration(agents):
    done = agents("status", "--format", "{worst}")

    assert (0, b"quota ?\n", b"") == (done.returncode, done.stdout, done.stderr)


@pytest.fixture
def orphan(status):
    """A run whose runner was killed; its CLI, which runs on, is the test itself."""
    dead = 2**22 + 1  # a process number that no system gives
    new = NewInvocation("a" * 8, "opus", "ada", 0, datetime.now(UTC), owner_pid=dead, owner_place=here())
    with closing(open_store(from_environment().state_db)) as store:
        invocations.record_child(store, invocations.begin(store, new), os.getpid(), start_ticks(os.getpid()))


@pytest.mark.parametrize("columns", [60, 200])
def test_what_wants_the_user_is_named_as_far_as_there_is_room(orphan, agents, columns):
    line = agents("status", env={"COLUMNS": columns}).stdout.decode().rstrip("\n")

    assert line.startswith("quota ? opus → ada ! 1 what ran opus on ada was kil")
    assert columns >= width(line)


def test_where_there_is_no_room_the_mark_stands_alone(orphan, agents):
    assert "quota ? opus → ada ! 1\n" == agents("status", env={"COLUMNS": 40}).stdout.decode()


def test_json_and_templates_tell_what_wants_the_user(orphan, status):
    text = json.loads(status("--json").stdout)["attention_text"]

    assert f"what ran opus on ada was killed, but its CLI runs on as process {os.getpid()}" == text
    assert f"{text}\n" == status("--format", "{attention_text}").stdout.decode()


def test_how_to_begin_is_told_to_whoever_starts_us_by_another_file_under_our_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["agents"])
    monkeypatch.setattr(shutil, "which", lambda _name: sys.executable)

    assert "agents" == Context(program="agents").command
