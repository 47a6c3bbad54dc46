"""After a move the entries lie under both accounts: nothing counts them twice, or for the one they were copied to."""

import json
from contextlib import closing
from datetime import timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.ledger.report import Grouping
from oulipoly_engine.core.search.query import Query
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.facade.sessions.catalogue import count_nothing
from oulipoly_engine.service.ledger.report import Question
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.testing import FakeClock

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
ANSWERS = 40


class Accounts:
    """Accounts of Claude Code, what was said in a session on them, and quota that rises by 2 % at each reading."""

    def __init__(self, world):
        self.world, self.clock, self.said = world, FakeClock(), 0
        for name in ("a", "b", "c"):
            root = world.home / f".{name}" / "projects"
            root.mkdir(parents=True)
            meter = world.home / f"{name}.meter"
            meter.write_text("10")
            resets_at = to_text(self.clock.now() + timedelta(days=6))
            script = (
                f"used=$(cat {meter}); echo $((used + 2)) > {meter}; "
                f'echo "{{\\"windows\\": [{{\\"used_percent\\": $used, \\"resets_at\\": \\"{resets_at}\\"}}]}}"'
            )
            world.account(
                name,
                "cat",
                f"quota_script = '''{script}'''\n[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n"
                f"[{name}.session_storage]\nkind = 'script'\ncwd_script = 'claude-code-cwd {root}'\n"
                f"transcript_script = 'claude-code-locate-transcript {root}'\nstorage_type = 'claude_code'",
            )
            with (world.config / "sessions.toml").open("a") as file:
                file.write(f"[{name}]\nturn_script = 'claude-code-turns {root}'\n")
        self.engine = Engine(Surroundings(clock=self.clock))
        self.engine.quota.refresh(["a", "b"])

    def say(self, account, answers=ANSWERS):
        """Have a session's transcript gain questions with answers, and everything read."""
        folder = str(self.world.home).replace("/", "-").replace("_", "-").replace(".", "-")
        path = self.world.home / f".{account}" / "projects" / folder / f"{SESSION}.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            for _ in range(answers):
                for role in ("user", "assistant"):
                    self.said += 1
                    self.clock.advance(1)
                    file.write(json.dumps(self._record(role)) + "\n")
        self.engine.sessions.scans.read_accounts()

    def _record(self, role):
        message = {"role": role, "content": [{"type": "text", "text": f"zebra {self.said}"}]}
        if role == "assistant":
            usage = {"input_tokens": 5, "output_tokens": 7}
            message |= {"id": f"msg_{self.said}", "model": "claude-opus-4-5", "usage": usage}
        at = self.clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        shared = {"sessionId": SESSION, "uuid": f"u{self.said}", "cwd": str(self.world.home), "type": role}
        return shared | {"timestamp": at, "message": message}

    def move(self, account):
        self.clock.advance(60)
        self.engine.sessions.moves.move(SESSION, account)
        self.engine.sessions.scans.read_accounts()
        self.clock.advance(60)

    def refresh(self):
        self.clock.advance(600)
        self.engine.quota.refresh(["a", "b"])

    def calls(self):
        """Return how many API calls each account made, by the report."""
        lines = self.engine.ledger.report(Question(Grouping.ACCOUNT), count_progress).lines
        return {line.keys[0]: line.calls for line in lines}

    def lessons(self):
        """Return what each account has learned a turn to cost of its window: (fraction, turns)."""
        with closing(open_store(self.world.data / "state.db")) as store:
            states = quotas.states(store, ("a", "b"))
        return {
            name: None if one.last_delta is None else (round(one.last_delta, 2), one.last_delta_turns)
            for name, state in states.items()
            for one in state.windows
        }


def count_progress():
    return closing(type("Quiet", (), {"close": lambda self: None, "__call__": lambda self, *_: None})())


@pytest.fixture
def both(world):
    made = Accounts(world)
    yield made
    made.engine.close()


def test_copied_turns_teach_the_target_nothing(both):
    both.say("a")
    both.move("b")

    both.refresh()

    assert {"a": (0.02, ANSWERS), "b": None} == both.lessons()


def test_unpacked_turns_teach_the_account_nothing(both):
    both.say("a")
    bundle = both.world.home / "session.bundle"
    both.engine.sessions.bundles.pack(SESSION, bundle)
    both.clock.advance(60)
    both.engine.sessions.bundles.unpack(bundle, "b")
    both.engine.sessions.scans.read_accounts()

    both.refresh()

    assert {"a": (0.02, ANSWERS), "b": None} == both.lessons()


def test_turns_of_the_stay_are_the_accounts_own_also_when_the_session_comes_back(both):
    both.say("a", 10)
    both.move("b")
    both.say("b", 20)
    both.move("a")
    both.say("a", 15)
    both.move("b")
    both.say("b", 5)

    both.refresh()

    assert {"a": (0.02, 25), "b": (0.02, 25)} == both.lessons()


def test_forecast_of_the_target_is_as_without_the_copies(both):
    before = both.engine.quota.forecasts(["b"])
    both.say("a")
    both.move("b")
    (after,) = both.engine.quota.forecasts(["b"])

    assert before[0].window == after.window
    assert [0] == [one.answers_since for one in both.engine.sessions.scans.read_accounts(["b"])]


@pytest.mark.parametrize(
    ("first", "then", "more", "expected"),
    [("a", "b", 3, {"a": 10, "b": 3}), ("b", "a", 3, {"b": 10, "a": 3}), ("b", "a", 0, {"b": 10})],
    ids=["there", "back", "its copy is read first"],
)
def test_report_counts_a_call_once_and_for_who_made_it(both, first, then, more, expected):
    both.say(first, 10)
    both.move(then)
    both.say(then, more)

    assert expected == both.calls()


def test_burners_are_the_accounts_own(both):
    begun = both.clock.now()
    both.say("b", 10)
    both.move("a")
    both.say("a", 3)
    both.calls()
    now = both.clock.now() + timedelta(seconds=1)

    found = {name: both.engine.ledger.burners(name, begun, now).whole.calls for name in ("a", "b")}

    assert {"a": 3, "b": 10} == found


def test_list_shows_one_session_with_each_entry_once(both):
    both.say("a", 10)
    both.move("b")
    both.say("b", 3)

    (row,) = both.engine.sessions.catalogue.table(Query(), counting=count_nothing).rows

    assert ("b", 26, 13) == (row.session.active.account, row.session.entries, row.session.active.assistant_entries)


def test_search_finds_each_entry_once_however_often_it_was_copied(both):
    both.say("a", 5)
    both.move("b")
    both.move("c")
    both.say("c", 1)

    hits = both.engine.sessions.catalogue.search("zebra", limit=8).hits

    assert [f"u{number}" for number in range(12, 4, -1)] == [hit.entry_id for hit in hits]
