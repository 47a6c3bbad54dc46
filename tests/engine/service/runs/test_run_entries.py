"""Files of one-shots become entries: once, where no transcript has them, and not before their session is known."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.service.runs.run_entries import enter_runs
from oulipoly_engine.service.runs.run_text import RunText, SavedPrompt, list_files, read_prompt
from oulipoly_engine.service.transcripts.ingest import give_texts_back
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.sessions import chains, imported, leaves
from oulipoly_engine.store.transcripts import entries, takeovers
from oulipoly_engine.store.transcripts.entry_pages import EntryPages

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
KINDS = Path(__file__).parents[2] / "core" / "text" / "secret_kinds.json"
RUN = "6f1c0b1e-5d0c-4c53-9a55-0c9f3a1b2c3d"
TOLD, FOUND = {"may_be_told": True, "may_be_found": False}, {"may_be_told": False, "may_be_found": True}
NEITHER = {"may_be_told": False, "may_be_found": False}


class Runs:
    """One run and what is stored of it."""

    def __init__(self, folder):
        self.store, self.folder = open_store(folder / "state.db"), folder / "results"
        self.row = invocations.begin(self.store, invocations.NewInvocation(RUN, "m", "a", None, AT))

    def write(self, flags=NEITHER, answer=b"answer"):
        text = RunText(self.folder, RUN, SavedPrompt("question", **flags))
        text.begin()
        text.add(answer)
        text.end()

    def end(self, session_id=None, **more):
        outcome = Outcome(not more, 0, AT + timedelta(seconds=1), session_id=session_id, **more)
        with self.store.write():
            invocations.end(self.store, self.row, outcome)

    def enter(self, after=timedelta(seconds=2)):
        return enter_runs(self.store, list_files(self.folder), AT + after)

    def read_transcript(self, session_id, question="theirs", answer="theirs"):
        lines = [
            EntryLine(session_id, f"theirs-{role}", to_text(AT), role, body=f'[{{"type":"text","text":"{text}"}}]')
            for role, text in (("user", question), ("assistant", answer))
        ]
        with self.store.write():
            entries.insert_new(self.store, "a", lines, AT)
            takeovers.take_over_all(self.store, "a", [session_id], give_texts_back)
            imported.adopt(self.store, "a", [session_id])

    def tree(self, session_id):
        rows = EntryPages(self.store, "a", session_id).page(0, 9)
        return [(row.entry_id.rpartition("/")[2], row.parent_entry_id, row.turn_id) for row in rows]

    def texts(self, session_id=RUN):
        return [text_of(each.body) for each in entries.of_session(self.store, "a", session_id)]


@pytest.fixture
def runs(tmp_path):
    runs = Runs(tmp_path)
    yield runs
    runs.store.close()


def test_who_is_killed_before_the_file_is_removed_has_entered_it_once(runs):
    runs.write()
    runs.end()
    assert 2 == runs.enter()

    runs.write()

    assert (0, ["question", "answer"], ()) == (runs.enter(), runs.texts(), list_files(runs.folder))


def test_a_run_is_entered_as_it_is_asked_and_again_as_it_is_answered(runs):
    runs.write()
    assert (1, ["question"], 1) == (runs.enter(), runs.texts(), len(list_files(runs.folder)))

    runs.end()

    assert (1, ["question", "answer"], ()) == (runs.enter(), runs.texts(), list_files(runs.folder))


def test_a_transcript_takes_the_place_of_what_was_heard_and_nothing_is_entered_beside_it(runs):
    runs.write()
    runs.end("n1")
    assert 2 == runs.enter()

    runs.read_transcript("n1")
    runs.write()

    assert (0, ["theirs", "theirs"], ()) == (runs.enter(), runs.texts("n1"), list_files(runs.folder))


@pytest.mark.parametrize("flags", [TOLD, FOUND])
def test_nothing_is_entered_while_its_session_may_be_told_or_found(runs, flags):
    runs.write(flags)

    assert (0, 1) == (runs.enter(), len(list_files(runs.folder)))


def test_a_run_whose_session_no_scan_finds_within_an_hour_is_one_of_its_own(runs):
    runs.write(FOUND)
    runs.end()

    assert (0, 1) == (runs.enter(), len(list_files(runs.folder)))
    assert 2 == runs.enter(timedelta(hours=2))
    assert chains.chain_of(runs.store, "a", RUN) is not None


def test_what_an_account_without_quota_was_asked_is_no_session(runs):
    runs.write(answer=b"")
    runs.end(error_category="quota_exhausted")

    assert (0, (), None) == (runs.enter(), list_files(runs.folder), chains.chain_of(runs.store, "a", RUN))


def test_an_answer_that_is_too_long_ends_with_a_note(runs):
    runs.write(answer=b"x" * (1 << 20) + b"y")
    runs.end()
    runs.enter()

    _, answer = runs.texts()
    assert answer.endswith("x\n[the rest was not kept]")


def test_an_answer_that_is_no_text_is_left_out(runs):
    runs.write(answer=b"\x89PNG\0")
    runs.end()
    runs.enter()

    assert ["question"] == runs.texts()


def test_no_file_holds_a_secret(tmp_path):
    kept = []
    texts = [text for _, text in json.loads(KINDS.read_text())]
    for number, text in enumerate(texts):
        run = RunText(tmp_path, f"{number:04}", SavedPrompt(text, **NEITHER))
        run.begin()
    for path in list_files(tmp_path):
        kept.append(read_prompt(path).prompt)

    assert [redact(text) for text in texts] == kept


def test_what_was_heard_does_not_make_a_session_that_a_run_of_the_same_time_could_have_made(runs):
    runs.write()
    runs.end()
    runs.enter()

    assert () == entries.activity(runs.store, "a", AT - timedelta(seconds=1), AT + timedelta(hours=1))


def test_an_answer_follows_on_its_question_and_both_are_of_the_run(runs):
    runs.write()
    runs.end()
    runs.enter()

    first = f"live/{RUN}/0000000000"
    assert [("0000000000", None, RUN), ("0000000001", first, RUN)] == runs.tree(RUN)
    assert f"live/{RUN}/0000000001" == leaves.find_leaf(runs.store, "a", RUN)


@pytest.mark.parametrize("is_read_first", [True, False])
def test_the_lines_of_a_transcript_are_of_the_run_whichever_comes_first(runs, is_read_first):
    runs.write()
    runs.end("n1")
    steps = [lambda: runs.read_transcript("n1", "question", "my answer: answer"), runs.enter]
    for step in steps if is_read_first else reversed(steps):
        step()

    assert [("theirs-user", None, RUN), ("theirs-assistant", None, RUN)] == runs.tree("n1")
