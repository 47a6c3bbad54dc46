"""Work sessions in the Sessions pane of a real app."""

from oulipoly_engine.core.worktrees.changes import ChangeSet
from oulipoly_engine.facade.worktrees.work import NewWork


class Changes:
    """What git would say, and how often it was asked."""

    def __init__(self):
        self.asked = []

    def status(self, identity, max_age_s):
        self.asked.append(identity)
        return ChangeSet(True, branch="main", ahead=3, behind=1)


async def test_a_work_session_is_listed_with_its_branch_and_opened_and_git_is_asked_only_while_it_is_seen(
    live, repository
):
    async with live((140, 40), panes=("pools", "sessions", "live")) as one:
        changes = one.app.engine.changes = Changes()
        begun = one.app.engine.work.begin(NewWork(repository, model="demo-codex", uses_worktree=False, title="slates"))
        await one.sees("Work sessions 1", "ready", "slates")
        await one.app.frame.turn_to("sessions")
        await one.sees("↑3 ↓1")

        asked, looks = len(changes.asked), one.app.frame.find("sessions").git_looks
        looks.look()  # as the clock does
        assert not looks._is_looking
        looks._looked_at.clear()
        await one.until(lambda: len(changes.asked) == asked + 1 and not looks._is_looking)
        await one.press("comma")
        looks._looked_at.clear()
        looks.look()
        assert not looks._is_looking
        assert asked + 1 == len(changes.asked)
        await one.press("escape")

        await one.press("home", "j", "enter")
        await one.until(lambda: one.pane is not None and one.pane.session is not None)
        assert begun.session.session_id == one.pane.session.session_id


async def test_what_waited_for_a_place_begins_while_the_app_runs(live, repository, live_world):
    path = live_world.config / "config.toml"
    path.write_text("work_max_running = 1\n" + path.read_text())
    async with live((140, 40)) as one:
        work = one.app.engine.work
        begun = [
            work.begin(NewWork(repository, model="demo-codex", uses_worktree=False, prompt="hello")) for _ in range(2)
        ]
        first, second = (each.session.session_id for each in begun)
        await one.until(lambda: work.find(second).rest_status == "queued")
        one.app.engine.live.end_all()
        await one.until(lambda: work.find(first).pid is None)
        while work.find(second).rest_status == "queued":  # a look at the first one's files may still hold its lock
            one.app.bridge.start_waiting()  # as the clock does
            await one.until(lambda: not one.app.busy)
        assert "" == work.find(second).session.status_reason  # why it could not begin
        await one.until(lambda: work.find(second).pid is not None)
        await one.until(lambda: any(second[:8] in told for told in one.said))
