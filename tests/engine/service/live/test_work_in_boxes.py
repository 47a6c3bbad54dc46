"""Sessions in worktrees stand in the box that is asked for: said everywhere, kept by all that goes on, or refused."""

import subprocess
from pathlib import Path

import pytest

from oulipoly_engine import variables
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.live.orders import Close
from oulipoly_engine.core.search.query import Query
from oulipoly_engine.core.sessions.facets import facets_text
from oulipoly_engine.errors import AccountUnusable, IsolationUnavailable, RequestRefused, UsageInvalid
from oulipoly_engine.facade.live.standing import to_json
from oulipoly_engine.facade.worktrees.work import NewWork
from oulipoly_engine.process.boxes.machine import find_level


@pytest.fixture
def repository(live):
    """A git repository with a commit."""
    folder = live.root / "repo"
    folder.mkdir()
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    for words in (["init", "-q", "-b", "main"], [*identity, "commit", "-q", "--allow-empty", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def set_usual(live):
    """Change the setting that says which box is the usual one."""

    def change(level):
        config = live.demo.config / "config.toml"
        config.write_text(f'work_isolation = "{level}"\n{config.read_text()}')

    return change


def is_held(live, key):
    """Tell whether the CLI of a session has given up privileges, as only a box has it do."""
    return "NoNewPrivs:\t1" in Path(f"/proc/{live.host_of(key).pid}/status").read_text()


def test_session_goes_on_in_its_box_and_nowhere_else(live, repository, set_usual):
    if obstacle := find_level(Level.GUARDED).obstacle:
        pytest.skip(obstacle)
    engine = live.engine
    set_usual("guarded")
    begun = engine.work.begin(NewWork(repository, runtime="demo-codex1", prompt="hello"))
    key = begun.session.session_id
    live.until(key, lambda event: type(event).__name__ == "TurnEnded")
    was_held = is_held(live, key)
    engine.live.order(key, Close(), starts=False)
    live.until_closed(key)
    fork = engine.live.fork(key).session.session_id
    engine.live.start(key)

    assert (True, True, True) == (was_held, is_held(live, key), is_held(live, fork))
    assert "its program demo-codex1 is not codex itself" in begun.login_in_reach
    (listed,) = [row.facets for row in engine.sessions.catalogue.table(Query()).rows if row.facets.live_id == key]
    assert "work: ready, guarded" == facets_text(listed)
    assert "guarded" == to_json(engine.live.status(fork))["isolation"]
    with pytest.raises(RequestRefused, match="held at the isolation guarded"):
        engine.new_terminals.resume(key, None, (80, 24))


def test_what_cannot_be_had_is_refused_before_a_worktree_is_made(live, repository, set_usual, monkeypatch):
    begin = live.engine.work.begin
    wish = NewWork(repository, runtime="demo-codex1", isolation="sealed")

    with pytest.raises(UsageInvalid, match="containers are for agents"):
        begin(NewWork(repository, runtime="demo-codex1", isolation="container"))
    with pytest.raises(UsageInvalid, match="--repo"):
        begin(NewWork(repository, runtime="demo-codex1", isolation="sealed", uses_worktree=False))
    with pytest.raises(UsageInvalid, match="--address needs --isolation sealed"):
        begin(NewWork(repository, runtime="demo-codex1", isolation="guarded", addresses=("example.org",)))
    monkeypatch.setenv("PATH", "/usr/nowhere")  # no bubblewrap
    with pytest.raises(IsolationUnavailable, match=r"needs bubblewrap.*install"):
        begin(wish)
    assert () == live.engine.worktrees.list(has_removed=True)


def test_account_whose_login_cannot_stay_outside_is_refused_sealed(live, repository):
    if obstacle := find_level(Level.SEALED).obstacle:
        pytest.skip(obstacle)

    with pytest.raises(AccountUnusable, match="cannot be kept out of a sealed box: its program"):
        live.engine.work.begin(NewWork(repository, model="demo-codex", isolation="sealed"))
    with pytest.raises(IsolationUnavailable, match="--isolation guarded"):
        live.engine.work.begin(NewWork(repository, runtime="demo-codex1", isolation="sealed"))
    assert [] == list((repository / ".agent-runner-worktrees").glob("*"))


def test_agent_may_not_ask_for_less_than_the_usual_box(live, repository, set_usual, monkeypatch):
    set_usual("guarded")
    monkeypatch.setenv(
        variables.PARENT_INVOCATION, '{"source": "claude1", "id": "3b241101-e2bb-4255-8caf-4136c566a962"}'
    )
    wish = NewWork(repository, runtime="demo-codex1", isolation="none")

    assert live.engine.work.is_weaker(wish)
    with pytest.raises(RequestRefused, match="an agent may not"):
        live.engine.work.begin(wish)
