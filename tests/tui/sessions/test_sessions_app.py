"""The Sessions and Transcript panes over real transcripts and a real state file."""

import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.config.base.app_settings import CustomCommand
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service import search as searching
from oulipoly_engine.service.sessions.lease import Leases
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.search import index as indexing
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.places.transcript_view import TranscriptView

FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
HOSTILE = "a \x1b]0;owned\x07 [bold]tag[/] \x1b[31mred\x1b[0m \x9b5n end"


class Talk:
    """A Claude transcript that grows entry by turn."""

    def __init__(self, root, session_id, cwd):
        self.id = session_id
        self.cwd = cwd
        self.path = root / cwd.replace("/", "-") / f"{session_id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self.parent = None

    def say(self, role, content, *, minutes_ago=10, **more):
        """Append an entry. content: a text, or blocks."""
        self.count += 1
        uuid = f"{self.id[:8]}-0000-4000-8000-{self.count:012x}"
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message = {"role": role, "content": blocks}
        if role == "assistant":
            message |= {"id": f"msg_{uuid}", "model": "made-up-1", "type": "message"}
        at = SystemClock().now() - timedelta(minutes=minutes_ago) + timedelta(seconds=self.count)
        record = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "cwd": self.cwd,
            "sessionId": self.id,
            "type": role,
            "message": message,
            "uuid": uuid,
            "timestamp": to_text(at)[:23] + "Z",
            **more,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self.parent = uuid
        return uuid


@pytest.fixture
def talks(app_world):
    """Two sessions of one account: one that has everything in it, one of two entries."""
    root = app_world.home / ".eve" / "projects"
    storage = (
        "[eve.resume]\nkind = 'flag'\nflag = '--resume'\n[eve.session_storage]\nkind = 'script'\n"
        f"storage_type = 'claude_code'\ncwd_script = 'claude-code-cwd {root}'\n"
        f"transcript_script = 'claude-code-locate-transcript {root}'\n"
    )
    app_world.account("eve", extra=storage)
    app_world.model("talk", "eve")
    app_world.write("sessions.toml", f"[eve]\nturn_script = 'claude-code-turns {root}'\n")
    first = Talk(root, FIRST, "/w/alpha")
    first.say("user", "Mend the roof please", minutes_ago=60)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -la roof"}}
    thought = {"type": "thinking", "thinking": "Which tiles?\nThe red ones."}
    first.say("assistant", [thought, call], minutes_ago=60)
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "tile-one\ntile-two\ntile-three"}
    first.say("user", [result], minutes_ago=60)
    first.say("assistant", "# Done\n\n- **two** tiles\n- `one` nail\n\n```python\nprint('roof')\n```\n", minutes_ago=60)
    second = Talk(root, SECOND, "/w/beta")
    second.say("user", "Paint the door", minutes_ago=5)
    second.say("assistant", "Green it is.", minutes_ago=5)
    return first, second


def rows(app):
    return [plain(row.line) for row in app.query_one("#sessions-list", VirtualList).rows]


def lines(app):
    view = app.query_one("#transcript-view", TranscriptView)
    return [plain(drawn.line) for _, _, drawn in view._lines_of_view()]


def holds(app, text):
    return app.frame.find("transcript") is not None and any(text in line for line in lines(app))


@pytest.fixture
def listed(running, settled):
    """Open the app with the list on the screen; the first scan has been done."""

    @asynccontextmanager
    async def run(size=(140, 30), **options):
        options.setdefault("panes", ["pools", "sessions", "transcript"])
        async with running(size, **options) as (app, pilot):
            await pilot.press("3")
            await settled(pilot, lambda: app.frame.find("sessions") is not None)
            if not options.get("read_only"):
                await settled(pilot, lambda: any("Paint the door" in row for row in rows(app)))
            yield app, pilot

    return run


async def choose(app, pilot, settled, text):
    """Put the cursor on a session."""
    found = app.query_one("#sessions-list", VirtualList)
    key = next(row.key for row in found.rows if text in plain(row.line))
    assert found.go_to(key)
    await settled(pilot, lambda: found.cursor_key == key)


async def opened(app, pilot, settled, text, awaited):
    await choose(app, pilot, settled, text)
    await pilot.press("enter")
    await settled(pilot, lambda: holds(app, awaited))


async def test_the_list_shows_what_clis_have_written_filters_marks_traces_and_undoes_a_bulk_pin(
    talks, listed, settled, screen_text
):
    async with listed() as (app, pilot):
        shown = [row.strip() for row in rows(app)]  # by workspace, the latest first
        assert "▾ /w/beta 1" == shown[0]
        assert shown[1].startswith("▸ Paint the door")
        assert "▾ /w/alpha 1" == shown[2]
        assert shown[3].startswith("▸ Mend the roof please")

        await pilot.press("slash", *"roof")  # the filter narrows as it is typed
        await settled(pilot, lambda: len(rows(app)) == 2)
        await pilot.press("space", *"acount:x")
        await settled(pilot, lambda: any("there is no field acount" in line for line in screen_text(app)))
        await pilot.press("ctrl+u", *"nobodysaidthis")
        await settled(pilot, lambda: any("nothing fits: / changes" in line for line in screen_text(app)))
        await pilot.press("escape", "escape")
        await settled(pilot, lambda: not any("nothing fits" in line for line in screen_text(app)))
        await settled(pilot, lambda: len(rows(app)) == 4)

        pane = app.frame.find("sessions")  # a range marks what the cursor passes
        await choose(app, pilot, settled, "Paint")
        await pilot.press("v", "j", "j", "v")
        await settled(pilot, lambda: len(pane.reading.marked) == 2)
        await pilot.press("escape")
        assert not pane.reading.marked

        await trace_runs(app, pilot, settled)

        for title, more, pins in (("Mend", ["p"], 1), ("Mend", ["space"], 1), ("Paint", ["space", "p"], 2)):
            await choose(app, pilot, settled, title)
            await pilot.press(*more)
            await settled(pilot, lambda pins=pins: sum("pinned" in row for row in rows(app)) == pins)
        await settled(pilot, lambda: len(pane.undos.steps) == 2)
        await pilot.press("u")  # what was pinned before stays so
        await settled(pilot, lambda: not any("pinned" in row for row in rows(app) if "Paint" in row))
        assert [True] == ["pinned" in row for row in rows(app) if "Mend" in row]


async def trace_runs(app, pilot, settled):
    """Look at who started whom, and go back."""
    store = open_store(app.engine.paths.state_db)
    with store.write():
        store.insert(
            "invocations",
            invocation_uuid="u1",
            model_name="talk",
            provider_name="eve",
            status="succeeded",
            session_capture_method="none",
            attempt=1,
            created_at="2026-01-01T00:00:00.000000Z",
        )
        store.insert(
            "invocations",
            invocation_uuid="u2",
            model_name="opus",
            provider_name="ada",
            status="failed",
            parent_invocation_id=1,
            session_capture_method="none",
            attempt=1,
            error_category="rate_limit",
            created_at="2026-01-01T00:01:00.000000Z",
        )
    await pilot.press("t")
    await settled(pilot, lambda: any("talk → eve" in row for row in rows(app)))
    assert rows(app)[1].startswith("    opus → ada")
    assert "failed rate_limit" in rows(app)[1]
    await pilot.press("t")
    await settled(pilot, lambda: any("Paint" in row for row in rows(app)))


async def test_a_transcript_is_drawn_with_everything_but_words_folded_and_follows_its_file(
    talks, listed, settled, screen_text, monkeypatch
):
    first, _ = talks
    async with listed() as (app, pilot):
        await opened(app, pilot, settled, "Mend", "Done")
        shown = "\n".join(lines(app))
        assert "▸ Bash  command: ls -la roof" in shown
        assert "▸ thinking  Which tiles? The red ones. (2 lines)" in shown
        assert "▸ result  tile-one tile-two tile-three (3 lines)" in shown
        assert "• two tiles" in shown
        assert "│ print('roof')" in shown
        assert "**" not in shown

        first.path.write_text(first.path.read_text().replace("Done", "Undone"))  # it is read anew
        await settled(pilot, lambda: holds(app, "Undone"))

        for number in range(40):
            first.say("assistant", f"step {number}")
        await settled(pilot, lambda: holds(app, "step 39"))
        with monkeypatch.context() as patch:  # what is appended comes along with the news of it
            asked = []
            patch.setattr(app, "work", lambda name, *_, **__: asked.append(name))
            first.say("assistant", "a new step")
            await settled(pilot, lambda: holds(app, "a new step"))
            assert "page" not in asked

        await pilot.press("g")  # and does not move a reader
        await settled(pilot, lambda: holds(app, "Mend the roof"))
        before = lines(app)
        first.say("assistant", "one more")
        pane = app.frame.find("transcript")
        await settled(pilot, lambda: "1 new" in str(pane.border_subtitle))
        assert before == lines(app)
        await pilot.press("G")
        await settled(pilot, lambda: holds(app, "one more"))

        first.say("assistant", HOSTILE)  # is shown sign by sign
        await settled(pilot, lambda: any("[bold]tag[/]" in line for line in screen_text(app)))
        drawn = "".join(screen_text(app))
        assert not any(ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 for sign in drawn)


async def test_a_vanished_transcript_is_read_from_the_stored_turns(talks, app_world, listed, settled):
    app_world.write("config.toml", "archive = false\n")
    first, _ = talks
    async with listed() as (app, pilot):
        first.path.unlink()
        await opened(app, pilot, settled, "Mend", "Done")
        pane = app.frame.find("transcript")

        assert "stored turns" in str(pane.border_subtitle)


async def test_a_command_about_a_session_without_an_id_means_the_row_under_the_cursor(talks, listed, settled):
    async with listed() as (app, pilot):
        await choose(app, pilot, settled, "Mend")
        app.order("session pin", [])
        await settled(pilot, lambda: app.engine.sessions.catalogue.find(FIRST).pinned_at is not None)
        app.order("session delete", [])
        await settled(pilot, lambda: type(app.screen).__name__ == "Confirm")
        assert "Mend" in str(app.screen.query(".dialog").first().border_title)
        await pilot.press("escape")


async def test_what_could_not_be_taken_back_now_can_be_later(talks, listed, settled, tmp_path):
    first, _ = talks
    before, target = first.path.read_bytes(), tmp_path / "edited.jsonl"
    leases = Leases(from_environment().data / "locks", SystemClock())
    async with listed() as (app, pilot):
        app.engine.sessions.files.export(FIRST, ExportOptions("canonical-jsonl"), target)
        target.write_text(target.read_text().replace("Mend the roof please", "Mend the wall please"))
        await choose(app, pilot, settled, "Mend")
        app.order("session import", [FIRST, str(target)])
        await settled(pilot, lambda: app.screen.query("Button"))
        await pilot.press("y")
        await settled(pilot, lambda: app.frame.find("sessions").undos.steps)
        with leases.hold(FIRST, "eve"):
            await pilot.press("u")
            await settled(pilot, lambda: any("is held until" in one.message for one in app._notifications))
            await settled(pilot, lambda: app.frame.find("sessions").undos.steps)
        await pilot.press("u")
        await settled(pilot, lambda: before == first.path.read_bytes())


async def test_a_search_opens_the_transcript_at_the_turn_and_keys_of_the_list_act_on_its_session(
    talks, listed, running, settled, screen_text
):
    first, _ = talks
    for number in range(60):
        first.say("assistant", f"filler {number}")
    async with listed() as (app, pilot):  # its scan fills the index, too
        await choose(app, pilot, settled, "Paint the door")
        await search(pilot, app, settled, "nail")
        assert 3 == app.query_one("#transcript-view", TranscriptView).here[0]
        await export_what_is_listed(app, pilot, settled, screen_text)

    saved = {"panes": {"sessions": {"row": "session:" + "0" * 8}}}
    panes = ["pools", "sessions", "transcript"]
    async with running((140, 30), panes=panes, saved=saved) as (app, pilot):  # the list was not seen yet
        await search(pilot, app, settled, "nail")
        await export_what_is_listed(app, pilot, settled, screen_text)


@pytest.mark.parametrize("can_index", [True, False], ids=["indexing slowly", "never"])
async def test_a_search_goes_on_while_it_indexes(talks, listed, settled, screen_text, monkeypatch, can_index):
    """It said how many turns were not indexed yet, and stayed so until something else was typed."""
    first, _ = talks
    for number in range(3):
        first.say("assistant", f"a ladder on top {number}")
    searches = []

    def fill(store, _budget_s):
        searches.append(store)
        return indexing.index_batch(store, 1) if can_index else 0

    monkeypatch.setattr(searching, "catch_up", fill)
    async with listed() as (app, pilot):
        await pilot.press("ctrl+f", *"ladder")
        if can_index:
            await settled(pilot, lambda: "3 turns, the newest first " in "\n".join(screen_text(app)))

            newest = app.screen._hits[0]
            assert newest.snippet.text == "a ladder on top 2"
            assert app.screen.rows.cursor_key == str(newest.row_id)
        else:
            await settled(pilot, lambda: "not indexed yet" in "\n".join(screen_text(app)) and not app.busy)
            await pilot.pause(0.5)  # what was typed is searched for by letters, on a busy machine one by one
            count = len(searches)
            await pilot.pause(0.5)

            assert len(searches) <= count + 1


async def search(pilot, app, settled, word):
    """Search everything and open the first hit."""
    await pilot.press("ctrl+f", *word)
    await settled(pilot, lambda: getattr(app.screen, "_hits", ()))
    await pilot.press("enter")
    await settled(pilot, lambda: holds(app, word))


async def export_what_is_listed(app, pilot, settled, screen_text):
    def is_on_it():
        listed = app.frame.find("sessions").cursor.listed
        return listed is not None and listed.session.active.session_id == FIRST

    await settled(pilot, is_on_it)
    await pilot.press("3", "x")
    await settled(pilot, lambda: type(app.screen).__name__ == "Export")

    await settled(pilot, lambda: "Export “Mend the roof please”" in "\n".join(screen_text(app)))


async def test_a_command_of_the_users_own_gets_a_hostile_title_as_one_word(
    talks, listed, settled, app_world, screen_text
):
    title, noted = "Paint the gate'; touch pwned; $(touch pwned) `touch pwned` \" {cwd}", app_world.home / "noted"
    folder = app_world.home / "a folder; touch pwned"
    folder.mkdir()
    third = Talk(app_world.home / ".eve" / "projects", "33333333-3333-4333-8333-333333333333", str(folder))
    third.say("user", "Paint the gate", minutes_ago=2)
    script = f'printf "%s\\n" "$#" "$@" "$PWD" > {noted}'
    words = ("sh", "-c", script, "sh", "{title}", "{native_id} in {cwd} of {cli}", "{transcript}")
    note = CustomCommand("note", words, "f9", ("sessions",), "background")
    async with listed(commands=(note,)) as (app, pilot):
        app.engine.sessions.notes.rename(third.id, title)
        await settled(pilot, lambda: any("gate';" in row for row in rows(app)))  # a group is named as the folder is
        await choose(app, pilot, settled, "Paint the door")
        await pilot.press("f9")
        await settled(pilot, lambda: any("/w/beta: nothing was run" in one.message for one in app._notifications))
        await choose(app, pilot, settled, "Paint the gate")
        await pilot.press("f9")
        await settled(pilot, lambda: noted.exists() and noted.read_text().count("\n") == 5)

    told = ["3", title, f"{third.id} in {folder} of claude", str(third.path), str(folder)]
    assert told == noted.read_text().splitlines()
    assert not [path for path in app_world.home.rglob("pwned") if path.name == "pwned"]
