"""CLIs are asked for their models in words that none of them takes for a prompt."""

import os

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.service.setup import models


def program(tmp_path, script):
    path = tmp_path / "cli"
    path.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n{script}\n')
    path.chmod(0o755)
    return str(path)


def asked(tmp_path):
    return (tmp_path / "asked").read_text().splitlines()


def test_unknown_program_is_asked_in_turn(tmp_path):
    path = program(tmp_path, 'case "$*" in models) echo "m-1";; *) exit 2;; esac')

    assert (("m-1",), ["models list", "models"]) == (models.discover_models(path, os.environ), asked(tmp_path))


def test_known_program_is_asked_in_its_own_words_alone(tmp_path):
    path = program(tmp_path, "echo gpt-9; exit 1")

    found = [models.discover_models(path, os.environ, CLIS[name]) for name in ("claude", "gemini", "codex", "opencode")]

    assert [()] * 4 == found
    assert ["--help", "--help", "debug models", "--help", "models", "--help"] == asked(tmp_path)


def test_program_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_TIMEOUT_S", 0.2)

    assert () == models.discover_models(program(tmp_path, "exec sleep 60"), os.environ, CLIS["claude"])
