"""Every pane and every screen as text, at three sizes: what a user sees is what was last looked at and found good."""

import json
import shutil
import sys

import pytest

from oulipoly_engine.core.artifacts.addresses import Address, returns_of, scratchpad_of
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_tui.widgets.theming import CONTRAST

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="paths of temporary folders are longer elsewhere")

_SIZES = ((60, 20), (80, 24), (200, 50))
_each_size = pytest.mark.parametrize("size", _SIZES, ids=["60x20", "80x24", "200x50"])
_REVIEW = b"# Review\n\nBoth are mended.\ntoken = sk-ant-api03-" + b"Ab1Cd2Ef3G" * 4 + b"\n"


async def walk_through(walk, scenes):
    """Look at what can be reached by keys from the demo world as it opens."""
    for scene in scenes:
        await scene(walk)
        await walk.home()


async def pools(walk):
    await walk.press("1", "home")
    await walk.look("pools")


async def why(walk):
    await walk.press("1", "home", "w")
    await walk.look("why")


async def what_if(walk):
    await walk.press("1", "home", "W")
    await walk.look("what-if")


async def prompt(walk):
    await walk.press("1", "home", "p")
    await walk.type("list 4 ideas")
    await walk.look("prompt")


async def question(walk):
    await walk.press("1", "home", "e")
    await walk.look("question")


async def quota(walk):
    await walk.press("2", "home", "down", "down")
    await walk.look("quota")


async def burners(walk):
    await walk.press("2", "b")
    await walk.look("quota-burners")
    await walk.press("b", "b", "b")


async def sessions(walk):
    await walk.press("3", "home", "down", "down")
    await walk.look("sessions")


async def filtered(walk):
    await walk.press("slash")
    await walk.type("turtle")
    await walk.look("sessions-filter")
    await walk.press("escape", "escape")


async def trace(walk):
    await walk.press("3", "t", "home", "down")
    await walk.look("trace")
    await walk.press("t")


async def search(walk):
    """Search: what is found is whole once the index is, which each search fills a part of."""
    await walk.press("3", "ctrl+f")
    await walk.type("empty")
    await walk.until("newest first")
    await walk.look("search")


async def export(walk):
    await walk.press("3", "home", "down", "x")
    await walk.look("export")


async def transcript(walk):
    await walk.press("3", "home", "down", "enter", "4")
    await walk.look("transcript")


async def provenance(walk):
    await walk.press("4", "i")
    await walk.look("transcript-source")


async def artifacts(walk):
    """Look at what a session's runs have, which is put there as agents put it, and at its transcript."""
    run = next(one for one in walk.engine.sessions.catalogue.list_spawned() if one.session_id is not None)
    kept, returned = Address(scratchpad_of(run.uuid), "thoughts.txt"), Address(returns_of(run.uuid), "review.md")
    with walk.engine.artifacts.open(makes=True) as store:
        for new, content in (
            (NewVersion(kept, run.uuid), b"Where is time lost?\n"),
            (NewVersion(Address("release-7", "numbers.bin"), run.uuid, "binary", "ten runs"), b"\0\1" * 900),
            (NewVersion(returned, run.uuid, "markdown", "needs work"), b"# Review\n\nTwo faults.\n"),
            (NewVersion(returned, run.uuid, "markdown", "two faults, both mended", labels=("final",)), _REVIEW),
        ):
            store.put(new, content)
    walk.app.order("session artifacts", [run.session_id])
    await walk.until("review.md", "Both are mended.")
    await walk.look("artifacts")
    await walk.press("d")
    await walk.until("+Both are mended.")
    await walk.look("artifacts-diff")
    await walk.home()
    walk.app.order("session open", [run.session_id])
    await walk.until("2 artifacts returned")
    await walk.look("transcript-returned")


async def tree(walk):
    """Look at a session with two branches that were left, folded too, and at one of them beside where it goes on."""
    walk.app.order("session tree", ["8499b765"])
    await walk.until("←")
    await walk.look("tree")
    await walk.press("O")
    await walk.look("tree-folded")
    await walk.press("up", "c")
    await walk.until("are in both")
    await walk.look("tree-compared")


async def repl(walk):
    await walk.press("5")
    await walk.look("repl-empty")


async def help_screen(walk):
    await walk.press("1", "question_mark")
    await walk.look("help")


async def palette(walk):
    await walk.press("ctrl+p")
    await walk.look("palette")


async def command_line(walk):
    await walk.press("colon")
    await walk.type("account d")
    await walk.look("command-line")


async def jump(walk):
    await walk.press("1", "ctrl+o")
    await walk.look("jump")


async def settings(walk):
    await walk.press("comma", "down", "down", "down")
    await walk.look("settings")


async def import_diff(walk):
    await walk.press("3", "home", "down")
    chain = walk.app.frame.find("sessions").cursor.listed.session.chain_id
    path = walk.root / "edited.jsonl"
    walk.engine.sessions.files.export(chain, ExportOptions(format="canonical-jsonl", redacting=False), path, force=True)
    text = path.read_text()
    assert "Now measure it." in text
    path.write_text(text.replace("Now measure it.", "Now measure it twice."))
    walk.app.order("session import", [chain, str(path)])
    await walk.until("Yes, ")
    await walk.look("import")


async def one_shot(walk):
    await walk.press("1", "home", "z")
    walk.app.order("prompt", ["demo-haiku", "list 4 ideas for a turtle"])
    await walk.until("✓ done")
    await walk.look("log", only="#pools-log")  # the run reads and learns by the real clock, in a process of its own
    await walk.press("escape", "escape")


async def terminal(walk):
    walk.app.order("terminal run", ["sh -c 'echo 1 fish 2 fish; exec cat'"])
    await walk.stage.until(lambda: "1 fish 2 fish" in walk.text().replace("echo 1 fish 2 fish", ""))
    await walk.look("repl")
    walk.app.order("terminal leave")
    await walk.stage.until(lambda: walk.app.frame.focused.id == "repl-tabs")
    await walk.press("D")
    await walk.look("confirm")


SCENES = (
    pools,
    why,
    what_if,
    prompt,
    question,
    quota,
    burners,
    sessions,
    filtered,
    trace,
    search,
    export,
    transcript,
    provenance,
    artifacts,
    tree,
    repl,
    help_screen,
    palette,
    command_line,
    jump,
    settings,
    import_diff,
    terminal,
    one_shot,  # the last one: it leaves an invocation more
)


@_each_size
async def test_every_screen_of_the_demo_world(demo, walking, size):
    """Texts are the same in each theme and without colours: one walk shows what high contrast and NO_COLOR promise."""
    is_plain = size == (80, 24)
    more = {"theme": "high-contrast", "environ": {"NO_COLOR": "1"}} if is_plain else {}
    async with walking(demo, "demo", sizes=(size,), **more) as walk:
        assert is_plain == (walk.app.theme == CONTRAST) == walk.app.no_color
        await walk.until("alerts, f8 goes through them")
        await walk.look("notices", toasts=True)
        await walk_through(walk, SCENES)


async def look_at_panes(walk):
    for number, pane in enumerate(("pools", "quota", "sessions", "transcript", "repl"), 1):
        await walk.press(str(number))
        await walk.look(pane)
    await walk.press("1")


async def look_at_problems(walk):
    await walk.press("exclamation_mark")
    await walk.look("problems")
    await walk.home()


@pytest.fixture
def nobody(scratch):
    """Return the home of somebody who has nothing."""
    home = scratch / "home"
    home.mkdir()
    return home


@pytest.fixture
def small(nobody):
    """Return a home with two accounts, one of which can be read, and the folder of its configuration."""
    config = nobody / ".config" / "oulipoly-agent-runner"
    (config / "models").mkdir(parents=True)
    windows = {"windows": [{"used_percent": 35, "resets_at": "2026-11-20T18:30:00Z", "label": "5h"}]}
    (nobody / "quota.json").write_text(json.dumps(windows))
    account = "[{0}]\ncommand = 'cat'\nargs = []\nquota_script = '{1}'\n"
    failing = "echo the login has expired >&2; exit 3"
    accounts = account.format("ada", f"cat {nobody}/quota.json"), account.format("bob", failing)
    (config / "providers.toml").write_text("".join(accounts) + "[cyd]\ncommand = 'cat'\nargs = []\n")
    members = "".join(f"[[providers]]\nname = '{name}'\n" for name in ("ada", "bob", "cyd"))
    (config / "models" / "opus.toml").write_text(members)
    return nobody, config


async def test_the_first_start_offers_the_ways_on(nobody, walking):
    async with walking(nobody, "first") as walk:
        await look_at_panes(walk)
        await walk.press("a")
        await walk.look("set-up")


@_each_size
async def test_what_set_up_would_write_is_shown_whole(nobody, walking, size):
    (nobody / "bin").mkdir()
    (nobody / "bin" / "codex").write_text("#!/bin/sh\ncat\n")
    (nobody / "bin" / "codex").chmod(0o755)
    (nobody / ".codex").mkdir()
    (nobody / ".codex" / "auth.json").write_text("{}")
    async with walking(nobody, "first", sizes=(size,), environ={"PATH": f"{nobody}/bin:/usr/bin:/bin"}) as walk:
        await walk.press("a")
        await walk.until("would create")
        await walk.look("set-up-found")


async def test_a_broken_configuration_says_where_and_what_to_do(small, walking):
    home, config = small
    (config / "models" / "bad.toml").write_text("providers = 3\n")
    (config / "config.toml").write_text("tie_rule = 'alphabetical'\n")
    async with walking(home, "broken") as walk:
        await walk.until("ada")
        await walk.look("pools")
        await look_at_problems(walk)
        await walk.press("comma")
        await walk.look("settings")


async def test_a_configuration_that_nobody_can_read_keeps_the_app(small, walking):
    home, config = small
    (config / "providers.toml").write_text("[ada\ncommand = 'cat'\n")
    async with walking(home, "unreadable") as walk:
        await look_at_panes(walk)
        await look_at_problems(walk)


async def test_a_quota_script_that_fails_is_told_with_its_own_words(small, walking):
    home, _ = small
    async with walking(home, "failing-script") as walk:
        await walk.press("R")
        await walk.until("could not be read")
        await walk.look("pools")
        await walk.press("1", "home", "down", "w")
        await walk.look("why")
        await walk.home()
        await walk.press("2", "end")
        await walk.look("quota")
        await look_at_problems(walk)


async def test_a_state_file_that_is_no_database_is_told_and_the_app_stays(small, walking):
    home, _ = small
    data = home / ".local" / "share" / "oulipoly-agent-runner"
    data.mkdir(parents=True)
    (data / "state.db").write_text("this is not a database, and long enough to be one" * 100)
    async with walking(home, "no-store") as walk:
        await look_at_panes(walk)
        await look_at_problems(walk)


async def test_a_transcript_that_has_gone_is_told(demo, walking):
    for account in demo.accounts:
        for folder in ("projects", "sessions"):
            shutil.rmtree(demo.account_home(account) / folder, ignore_errors=True)
    async with walking(demo, "vanished") as walk:
        await walk.press("3", "home", "down")
        await walk.look("sessions")
        await walk.press("enter", "4")
        await walk.look("transcript", toasts=True)
        await walk.look_anew("export", "3", "x")
