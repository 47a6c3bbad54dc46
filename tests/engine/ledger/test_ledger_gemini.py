"""Gemini's logs in the ledger: each answer once, however often its line comes."""

import json
import shutil
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.core.ledger.calls import Tokens
from oulipoly_engine.service.ledger.files import Source
from oulipoly_engine.service.ledger.ledger import Ledger
from oulipoly_engine.service.ledger.sources import sources
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.ledger import calls as rows

REAL = Path(__file__).parents[2] / "fixtures" / "transcripts" / "gemini"


@pytest.fixture
def bench(tmp_path):
    shutil.copytree(REAL, tmp_path / "gemini")
    store = open_store(tmp_path / "state.db")
    yield store, tmp_path / "gemini" / "tmp"
    store.close()


def updated(store, root):
    done = Ledger(store, (Source("g", "gemini", root),), SystemClock()).update()
    return done, rows.sums(store, "g", 0)


def test_real_logs_are_counted_once_an_answer(bench):
    done, sums = updated(*bench)

    assert (3, 0) == (done.files, done.damaged)
    assert (6, Tokens(input=6 * 12, output=6 * 7)) == sums


def test_any_cut_and_any_number_of_passes_give_the_same_sums(bench):
    store, root = bench
    path = next(root.rglob("*fcf14bf8*"))
    content = path.read_bytes()
    for end in (*range(0, len(content), 211), len(content), len(content)):
        path.write_bytes(content[:end])
        done, sums = updated(store, root)

    assert (6, Tokens(input=72, output=42)) == sums
    assert 0 == done.damaged


def test_cached_input_and_thoughts_are_told_apart(bench):
    store, root = bench
    before = updated(store, root)[1][1]
    tokens = {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 3, "total": 118}
    value = {"id": "n", "timestamp": "2026-11-21T05:00:00.000Z", "type": "gemini", "content": "", "tokens": tokens}
    with next(root.rglob("*8dd3ea41*")).open("a") as file:
        file.write(json.dumps(value | {"model": "gemini-2.5-pro"}, separators=(",", ":")) + "\n")
    after = updated(store, root)[1][1]

    assert (43, 15, 60, 5) == (
        after.input - before.input,
        after.output - before.output,
        after.cache_read - before.cache_read,
        after.reasoning - before.reasoning,
    )
    assert {"gemini-2.5-flash", "gemini-2.5-pro"} == set(rows.models(store))


def test_damaged_answers_are_counted_as_damage(bench):
    store, root = bench
    with next(root.rglob("*8dd3ea41*")).open("a") as file:
        file.write('{"id":"x","type":"gemini","tokens":{"inp\n')

    assert 1 == updated(store, root)[0].damaged


def test_an_accounts_turn_script_names_its_logs(tmp_path):
    found, absent = sources({}, {"g": SessionScripts("gemini-turns ~/.gemini/tmp")}, tmp_path, {})

    assert (Source("g", "gemini", tmp_path / ".gemini" / "tmp"),) == found
    assert {} == absent
