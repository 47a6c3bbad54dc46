"""The pane of live sessions as a user sees it, from events made by hand: kept texts at three sizes."""

from datetime import UTC, datetime

from oulipoly_engine.core.live.events import (
    DiffUpdated,
    FileChange,
    Item,
    ItemDelta,
    ItemEnded,
    ItemStarted,
    Notice,
    Prompt,
    Question,
    QuotaSeen,
    RequestOpened,
    RequestResolved,
    SessionClosed,
    SessionOpened,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageUpdated,
)
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession, QueuedMessage
from oulipoly_engine.facade.live.sessions import LiveStatus
from oulipoly_tui.panes.live import following
from oulipoly_tui.panes.live.jobs import Opened
from oulipoly_tui.view.live.lists import session_rows
from oulipoly_tui.view.transcript.spans import plain

SIZES = ((60, 20), (80, 24), (200, 50))
NOW = datetime(2026, 11, 22, 6, 30, tzinfo=UTC)
SESSION = LiveSession(
    "11111111-1111-4111-8111-111111111111", "/work/roof", "claude2", "claude", "opus", NOW, NOW, "claude2", "n",
    title="Mend the roof",
)  # fmt: skip
PAST = (
    SessionOpened("n", "claude-opus-4", policy="supervised"),
    TurnStarted("n1", "t1", "user"),
    ItemEnded(Item("u1", "user_message", "completed", "Mend the **roof**, please: six nails"), "t1"),
    ItemEnded(Item("r1", "reasoning", "completed", "The roof leaks.\nNails are in the shed."), "t1"),
    ItemEnded(
        Item("p1", "plan", steps=(("look at the roof", "completed"), ("nail it", "in_progress"), ("rest", "pending"))),
        "t1",
    ),
    ItemEnded(
        Item("c1", "command", "failed", "".join(f"nail {one}\n" for one in range(1, 9)), "count nails", exit_code=2),
        "t1",
    ),
    ItemEnded(
        Item(
            "f1",
            "file_change",
            "completed",
            changes=(FileChange("roof.md", "update", "@@ -1 +1,2 @@\n-leak\n+tile\n+nail"),),
        ),
        "t1",
    ),
    ItemEnded(
        Item("a1", "agent_message", "completed", "Done:\n\n* six nails\n* `one` tile\n\n```sh\nls roof\n```"), "t1"
    ),
    DiffUpdated("-leak\n+tile", "t1"),
    TurnEnded("completed", usage=Usage(12_000, None, 340, 43_000, 100_000, 0.12), turn_id="t1"),
    Notice("the plan's window is nearly used up", "warning"),
)
RUNNING = (
    TurnStarted("n2", "t2", "user"),
    ItemEnded(Item("u2", "user_message", "completed", "And the door?"), "t2"),
    ItemStarted(Item("a2", "agent_message"), "t2"),
    ItemDelta("a2", "The door is next: first its hin"),
    UsageUpdated(Usage(context=48_000, window=100_000)),
    QuotaSeen((("5h", 35.0, None), ("weekly", 12.0, None))),
)
COMMAND = RequestOpened(
    "q1",
    "command_approval",
    Prompt("Run a command", "rm -rf build && make door\u202e", "/work/roof", "it is old", reach="Bash(make *)"),
    "cli_req_1",
    "t2",
)  # fmt: skip
EDIT = RequestOpened(
    "q2",
    "file_change_approval",
    Prompt("Change files", changes=(FileChange("door.md", "add", "@@ -0,0 +1 @@\n+hinge"),)),
    "cli_req_2",
    "t2",
)
ASKS = RequestOpened(
    "q3",
    "user_input",
    Prompt("", questions=(Question("c", "Which colour?", options=(("red", "as the barn"), ("blue", ""))),)),
    "cli_req_3",
    "t2",
)
QUEUE = (QueuedMessage("m1", SESSION.session_id, "then paint it", "queued", NOW),)
SCENES = {
    "past": (PAST, (), True),
    "running": ((*PAST, *RUNNING), QUEUE, True),
    "command": ((*PAST, *RUNNING, COMMAND, EDIT), (), True),
    "edit": ((*PAST, *RUNNING, EDIT), (), True),
    "question": ((*PAST, *RUNNING, ASKS), (), True),
    "ended": ((*PAST, RequestResolved("q1", "x", "expired"), SessionClosed("exited", "exit code 3", 3)), (), False),
}


class Host:
    """Where a connection would be: it tells nothing."""

    def order(self, order, answered):
        pass

    def close(self):
        pass


def draw(pane, numbered, events, queue, lives):
    """Show a session in which these events have come."""
    busy = any(isinstance(one, TurnStarted) and one.turn_id == "t2" for one in events)
    status = LiveStatus(
        SESSION, "running" if busy else "waiting_input" if lives else "closed", busy, "t2" if busy else None,
        queue=queue, capabilities={"steer": True, "interrupt": True},
    )  # fmt: skip
    opened = Opened(status, tuple(numbered(*events)), (), Host() if lives else None)
    asked = [one for one in events if isinstance(one, RequestOpened)]
    opened.requests = tuple(
        LiveRequest(one.request_id, SESSION.session_id, "t2", one.native_id, one.kind, "pending", one.prompt, NOW)
        for one in asked
    )
    pane.following._take_opened(opened)
    pane.draw()


async def test_the_pane_of_a_live_session(app_world, running, numbered, monkeypatch, settled, check_golden):
    monkeypatch.setattr(following, "LiveConnection", lambda client, _take, _gone: client)
    async with running(SIZES[0], panes=["pools", "live"]) as (app, pilot):
        app.now = lambda: NOW
        await app.frame.turn_to("live", zoomed=True)
        pane = app.frame.find("live")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await settled(pilot, lambda size=size: app.frame.size == size and not app.busy)
            for name, scene in SCENES.items():
                draw(pane, numbered, *scene)
                app.clear_notifications()
                pane.view.focus()
                await pilot.pause(0.2)
                region = pane.region
                strips = app.screen._compositor.render_strips()
                lines = ["".join(segment.text for segment in strip) for strip in strips]

                text = "\n".join(line.rstrip() for line in lines[region.y : region.bottom + 1])
                check_golden(f"live-{name}-{size[0]}x{size[1]}", text)


def test_those_that_wait_for_somebody_are_listed_first():
    session = SESSION
    idle, asks = LiveStatus(session, "waiting_input"), LiveStatus(session, "running", pending_approval=True)
    lines = [plain(row.line) for row in session_rows((idle, asks), 60, NOW)]

    assert ["waits for you", "ready"] == [line[:15].strip() for line in lines]
