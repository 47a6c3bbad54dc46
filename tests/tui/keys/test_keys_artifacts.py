"""Every key of the screen that lists artifacts, and how it is opened; what agents wrote does nothing to a terminal."""

import pytest
from textual.widgets import Input

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address, returns_of, scratchpad_of
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.records import replace
from oulipoly_engine.service.artifacts.artifact_store import make_store, opened
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_tui.screens.sessions.artifacts import ArtifactsScreen
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList

keys = pytest.mark.keys
ROOF = "11111111-1111-4111-8111-111111111111"
RUN, CHILD, OTHER = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "abc")
SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4
HOSTILE = "\x1b[31m[red]ok[/red] [@click=app.quit]x[/] \u202egnp.exe " + "v" * 10_000


class Artifacts:
    """Runs of the roof's session, and a store in which they put things."""

    def __init__(self, world):
        self.path = world.data / "artifacts.db"
        clock = SystemClock()
        store = open_store(world.data / "state.db")
        for uuid, parent, session in ((RUN, None, ROOF), (CHILD, ("eve", RUN), None), (OTHER, None, None)):
            new = invocations.NewInvocation(uuid, "talk", "eve", 0, clock.now(), parent=parent)
            outcome = Outcome(True, 0, clock.now(), session_id=session, capture_method="json" if session else "none")
            invocations.end(store, invocations.begin(store, new), outcome)
        store.close()
        make_store(self.path, clock)[0].file.close()

    def put(self, run, name, content, says=None, **more):
        """Store a version."""
        with opened(self.path, SystemClock()) as store:
            producer = more.pop("producer", RUN)
            return store.put(NewVersion(Address(run, name), producer, verdict_line=says, **more), content)

    def names(self):
        """Return what is there, removed versions aside."""
        with opened(self.path, SystemClock()) as store:
            return [(one.address.name, one.number) for one in store.file.versions()]


@pytest.fixture
def artifacts(talks):
    """One session with something of each kind."""
    found = Artifacts(talks.world)
    found.put(scratchpad_of(RUN), "thoughts.txt", b"which tiles\n")
    found.put("release-1", "notes.txt", b"sent\n", "for all", format_hint="text")
    found.put(returns_of(CHILD), "table.csv", b"a,b\n", "from a helper", producer=CHILD)
    found.put(returns_of(RUN), "photo.png", b"\x89PNG\0" * 9, HOSTILE)
    found.put(returns_of(RUN), "report.md", b"# Roof\nfive nails\n", "needs work", labels=("draft",))
    found.put(returns_of(RUN), "report.md", f"# Roof\nsix nails\nkey {SECRET}\n".encode(), "good", labels=("final",))
    return found


def listing(one):
    return one.app.screen.query_one(VirtualList)


def rows(one):
    return [plain(row.line) for row in listing(one).rows]


async def open_list(one):
    """Open the list of the roof's session."""
    await one.press("c")
    await one.at("ArtifactsScreen")
    await one.sees("report.md")


async def leave(one):
    """Leave a screen over the list."""
    await one.press("escape")
    await one.at("ArtifactsScreen")


async def go_to(one, words):
    """Put the cursor on the first row that holds some words."""
    key = next(row.key for row in listing(one).rows if row.is_selectable and words in plain(row.line))
    listing(one).go_to(key)
    await one.until(lambda: listing(one).cursor_key == key)


@keys("sessions.artifacts", "c")
@keys("ArtifactsScreen", "escape", "q", "d", "s", "y", "x", "R")
async def test_c_lists_what_runs_have_and_it_is_read_compared_saved_copied_and_removed(artifacts, sessions, tmp_path):
    async with sessions(panes=("pools", "sessions"), size=(130, 30)) as one:
        await list_read_and_compare(one)
        await save_as_it_is_and_copy_without_secrets(one, tmp_path)
        await do_neither_in_read_only_mode(one)
        await remove_after_a_yes_and_look_again(one, artifacts)
        await list_those_of_a_run(one)


async def list_read_and_compare(one):
    """Nothing of what they hold drives the terminal."""
    await open_list(one)
    assert "Artifacts of Mend the roof please · 6" == one.title
    assert ["Returned", "Received", "Sent", "Kept"] == [row.split()[0] for row in rows(one) if "(" in row]
    names = ["report.md", "report.md", "photo.png", "table.csv", "notes.txt", "thoughts.txt"]
    assert names == [row.split()[0] for row in rows(one) if "(" not in row]
    await one.sees("final  good", "key [redacted]")
    await one.press("enter")
    await one.at("Reading")
    assert "report.md v2" == one.title
    await one.sees("six nails", "key [redacted]", f"store://return/{RUN}/report.md/2")
    await leave(one)
    await one.press("d")
    await one.at("Reading")
    await one.sees("-five nails", "+six nails", "+key [redacted]")
    await leave(one)
    await go_to(one, "needs work")
    await one.press("d")
    await one.told("There is no version before v1")
    await go_to(one, "photo.png")
    await one.sees("Not a text: 45 bytes", "␛[31m[red]ok[/red] [@click=app.quit]x[/] <U+202E>gnp.exe")
    assert not any(sign in one.text for sign in "\x1b\u202e")
    await one.press("escape")
    await one.at("Frame")
    await open_list(one)
    await one.press("q")
    await one.at("Frame")


async def save(one, place):
    await one.press("s")
    await one.at("Question")
    assert one.app.screen.query_one(Input).value.endswith("/report.md")
    one.app.screen.query_one(Input).value = str(place)
    await one.press("enter")


async def copy(one, *keys_of_choice):
    await one.press("y")
    await one.at("Choice")
    await one.press(*keys_of_choice)


async def save_as_it_is_and_copy_without_secrets(one, folder):
    """It is asked before a file is replaced."""
    target = folder / "kept.md"
    target.write_text("mine")
    await open_list(one)
    for answer, text in (("n", "mine"), ("y", SECRET)):
        await save(one, target)
        await one.at("Confirm")
        await one.sees(f"{target.name} is there already")
        await one.press(answer)
        await one.at("ArtifactsScreen")
        await one.until(lambda text=text: text in target.read_text())
    await save(one, folder)
    await one.until((folder / "report.md").exists)
    await save(one, folder / "nowhere" / "x")
    await one.told("cannot write ")

    await copy(one, "enter")
    await one.until(lambda: one.app.clipboard == f"store://return/{RUN}/report.md/2")
    await copy(one, "j", "enter")
    await one.until(lambda: one.app.clipboard == "# Roof\nsix nails\nkey [redacted]\n")
    await go_to(one, "photo.png")
    await copy(one, "j", "enter")
    await one.told("It is not a short text: s saves it")


async def do_neither_in_read_only_mode(one):
    before = one.app.options
    one.app.options = replace(before, read_only=True)
    await one.press("x", "s")
    await one.rest()
    assert isinstance(one.app.screen, ArtifactsScreen)
    one.app.options = before
    await one.back()


async def remove_after_a_yes_and_look_again(one, artifacts):
    """What is damaged or gone is told."""
    await open_list(one)
    for answer, is_left in (("n", True), ("y", False)):
        await one.press("x")
        await one.at("Confirm")
        await one.sees("report.md v2", "cannot be undone")
        await one.press(answer)
        await one.at("ArtifactsScreen")
        await one.rest()
        assert is_left == (("report.md", 2) in artifacts.names())
    await one.told("Removed report.md v2")
    await one.until(lambda: any("v1" in row for row in rows(one)[1:2]))
    with opened(artifacts.path, SystemClock()) as store:
        large = store.put(NewVersion(Address(returns_of(RUN), "large.log"), RUN), b"line\n" * 50_000)
        store._blobs.path(large.sha256).unlink()
    await one.press("R")
    await one.until(lambda: any(row.startswith("large.log") for row in rows(one)[1:2]))
    await go_to(one, "large.log")
    await one.sees("is not what was stored")
    await go_to(one, "needs work")
    with opened(artifacts.path, SystemClock()) as store:
        store.remove(Address(returns_of(RUN), "report.md", 1), "somebody", "old")
    await one.press("enter")
    await one.told("was removed by somebody")
    await one.back()


async def list_those_of_a_run(one):
    await one.press("t")
    await one.until(lambda: one.app.frame.find("sessions").reading.trace is not None)
    one.app.frame.query_one("#sessions-list", VirtualList).go_to(f"i:{CHILD}")
    await one.press("c")
    await one.at("ArtifactsScreen")
    await one.sees("Returned to the caller (1)", "table.csv", f"Artifacts of run {CHILD[:8]}")
    await one.back()
    one.app.order("run artifacts", [OTHER])
    await one.at("ArtifactsScreen")
    await one.sees("No artifacts.", "agent-messenger return")
    await one.press("s")
    await one.told("Choose an artifact first")
    await one.back()


@keys("transcript.artifacts", "c")
async def test_a_transcript_tells_what_was_returned_c_opens_the_newest_an_address_any_and_a_damaged_store_is_told(
    artifacts, transcript, tmp_path
):
    async with transcript(panes=("pools", "sessions", "transcript"), size=(120, 30)) as one:
        await one.sees("3 artifacts returned: c lists", "report.md v2 75 B  good", "photo.png v1")
        await open_save_and_remove_an_address(one, tmp_path / "out")
        await one.press("c")
        await one.at("ArtifactsScreen")
        await one.sees("> report.md", "five nails")
        await one.press("x")
        await one.at("Confirm")
        await one.press("y")
        await one.told("Removed report.md v1")
        await one.back()
        await one.sees("1 artifact returned")
        artifacts.path.write_bytes(b"no database, and long enough to be one " * 100)
        await one.press("c")
        await one.sees("The artifacts cannot be read")
        await one.back()
        one.app.frame.find("transcript").look_for_returned()
        await one.sees("Returned artifacts cannot be read")


async def open_save_and_remove_an_address(one, target):
    address = f"store://return/{RUN}/report.md/2"
    one.app.order("artifact open", [address])
    await one.at("Reading")
    await one.sees("six nails")
    await one.back()
    one.app.order("artifact save", [address, str(target)])
    await one.until(target.exists)
    one.app.order("artifact remove", [address])
    await one.at("Confirm")
    await one.press("y")
    await one.told("Removed report.md v2")
    one.app.order("artifact open", [address])
    await one.told("was removed by")
    one.app.order("artifact open", ["rubbish"])
    await one.told("'rubbish' is not an address")
    await one.rest()
