"""Every key of work sessions: the dialog that begins one, its changes, the worktrees, the server."""

import asyncio
from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from oulipoly_engine.facade.worktrees.work import NewWork
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList

keys = pytest.mark.keys


def cursor(one):
    return one.app.screen.query_one(VirtualList).cursor_key


async def at_field(one, field):
    await one.at("NewWorkScreen")
    one.app.screen.query_one(VirtualList).focus()
    assert one.app.screen.query_one(VirtualList).go_to(field)
    await one.pilot.pause()


async def choose_folder(one, folder):
    await at_field(one, "repository")
    await one.press("enter")
    await one.at("FolderQuestion")
    one.app.screen.query_one(Input).value = str(folder)
    await one.press("enter")
    await one.at("NewWorkScreen")
    await one.until(lambda: one.app.screen.found is not None)


@keys("frame.new_work", "f5")
@keys("NewWorkScreen", "f2", "ctrl+s", "escape")
@keys("FolderQuestion", "tab", "down", "up", "escape")
@keys("frame.server", "f7")
@keys("ServerScreen", "s", "x", "p", "d", "c", "escape", "q")
@keys("Pairing", "escape", "q", "y")
async def test_a_session_begins_in_a_worktree_of_its_own_and_a_server_is_served_paired_with_and_ended(
    live_world, hand, repository, git, tmp_path
):
    (repository / ".agent-runner.toml").write_text('[worktree]\nsetup = ["touch made-by-set-up"]\n')
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "Set up")
    (tmp_path / "bare-earth").mkdir()
    (tmp_path / "barn").mkdir()
    async with hand(size=(120, 40), panes=("pools", "live")) as one:
        await complete_a_folder_and_choose_one_without_git(one, tmp_path)
        await begin_after_it_was_said_what_is_made(one, repository)
        await serve_pair_and_revoke(one)


async def complete_a_folder_and_choose_one_without_git(one, tmp_path):
    await one.press("f5")
    await at_field(one, "repository")
    await one.press("enter")
    await one.at("FolderQuestion")
    await one.press("escape")
    await at_field(one, "repository")
    await one.press("enter")
    await one.at("FolderQuestion")
    line, rows = one.app.screen.query_one(Input), one.app.screen.query_one(VirtualList)
    line.value = f"{tmp_path}/"
    await one.until(lambda: len(rows.rows) >= 3 and rows.rows[0].key.endswith("/roof"))
    line.value = f"{tmp_path}/bar"
    await one.until(lambda: [row.key for row in rows.rows] == [f"{tmp_path}/bare-earth", f"{tmp_path}/barn"])
    await one.press("down")
    assert cursor(one).endswith("/barn")
    await one.press("up", "tab")
    assert line.value == f"{tmp_path}/bare-earth/"
    line.value = f"{tmp_path}/nowhere"
    await one.press("enter")
    await one.told("There is no folder")
    line.value = f"{tmp_path}/barn"
    await one.press("enter")
    await one.at("NewWorkScreen")
    await one.sees("not a git repository", "your folder itself")
    await one.rest()
    one.app.screen._set(start=None)
    await one.press("ctrl+s")
    await one.told("choose a model")
    await one.press("escape")
    await one.at("Frame")


async def begin_after_it_was_said_what_is_made(one, repository):
    await one.press("f5")
    await one.sees("works on", "a branch of its own", "supervised")
    await choose_folder(one, repository)
    await one.sees("branch  aw/<session's id> at main", ".agent-runner-worktrees/<id>", "$ touch made-by-set-up")
    await at_field(one, "lifecycle")
    await one.press("enter")
    await one.sees("one turn")
    await one.press("f2")
    await one.told("a session of one turn needs a prompt")
    await one.press("enter")
    await one.sees("goes on")
    await at_field(one, "base")
    await one.press("enter")
    await one.at("Choice")
    await one.press("j", "enter")
    await one.until(lambda: one.app.screen.draft.base == "slates" and one.app.screen.found is not None)
    await one.sees("at slates")
    await at_field(one, "base")
    await one.press("enter")
    await one.at("Choice")
    await one.press("k", "enter")
    await one.until(lambda: one.app.screen.draft.base == "" and one.app.screen.found is not None)
    await at_field(one, "model")
    await one.press("enter")
    await one.at("ModelPicker")
    one.app.screen.query_one(VirtualList).go_to("pool\ndemo-codex")
    await one.press("enter")
    await at_field(one, "profile")
    await one.press("enter")
    await one.at("Choice")
    await one.press("enter")
    await one.at("NewWorkScreen")
    one.app.screen.query_one(TextArea).text = "hello there"
    await one.press("f2")
    await one.at("Review")
    await one.sees("$ touch made-by-set-up")
    await one.press("y")
    await one.at("Frame")
    await one.until(lambda: one.app.frame.find("live") is not None and one.app.frame.find("live").session)
    await one.rest()

    (made,) = one.app.engine.worktrees.list()
    assert one.app.frame.find("live").session.session_id == made.worktree.session_id
    assert (repository / ".agent-runner-worktrees" / made.worktree.session_id / "made-by-set-up").exists()


async def name_proxy(one):
    """Name the proxy by which a phone comes here, and let the device do everything."""
    await one.at("Question")
    assert "Address for the phone" == one.title
    one.app.screen.query_one("Input").value = "https://proxy.example"
    await one.press("enter")
    await one.sees("What may the device do?")
    await one.press("enter")
    await one.at("Pairing")


async def serve_pair_and_revoke(one):
    web = one.app.engine.web
    await one.press("f7")
    await one.at("ServerScreen")
    await one.sees("No server runs.", "No device may use it yet.")
    await one.press("q")
    await one.at("Frame")
    await one.press("f7")
    await one.at("ServerScreen")
    await one.press("x")
    await one.told("No server runs: s starts one")
    await one.press("p")
    await one.at("Choice")
    await one.sees("How does the phone come here?", "starts a server with TLS")
    await one.press("escape")
    await one.at("ServerScreen")
    await one.press("s")
    await one.at("Choice")
    await one.sees("nobody else reaches it", "TLS")
    await one.press("enter")
    try:
        await one.told("Serving on http://127.0.0.1:")
        await one.sees("● http://127.0.0.1:", "this computer alone")
        for key in ("escape", "q"):
            await one.at("ServerScreen")
            await one.press("p")
            await one.sees("is for this computer alone", "a proxy of mine")
            await one.press("enter")
            await name_proxy(one)
            await one.sees("Good once, for", "It may view", "█▀")
            await one.press("y")
            await one.press(key)
        await one.at("ServerScreen")
        assert one.app.clipboard.startswith("https://proxy.example/pair#")
        await one.press("p", "enter")
        await name_proxy(one)
        await one.press("y")
        await one.until(lambda: one.app.screen._known is not None)
        code = one.app.clipboard.rpartition("#")[2]
        await asyncio.to_thread(web.redeem, code, "phone \x1b[31m[b]x[/b]", "127.0.0.1")
        await one.told("may view, answer, operate")
        await one.at("ServerScreen")
        await one.sees("phone", "view, answer, operate")
        one.app.screen.query_one(VirtualList).focus()
        await one.press("c")
        await one.sees("confirmed")
        await one.press("d")
        await one.at("Confirm")
        await one.sees("cannot be undone")
        await one.press("y")
        await one.sees("No device may use it yet.")
        assert () == web.devices()
        await one.press("x")
        await one.at("Confirm")
        await one.press("y")
        await one.sees("No server runs.")
    finally:
        for server in web.servers():
            web.end_server(server)
    await one.press("escape")
    await one.at("Frame")


@pytest.fixture
def begun(live_world, repository, git):
    """Begin a session with a worktree in an app: `await begun(one)` returns its id and folder."""

    async def begin(one):
        wish = NewWork(repository, model="demo-codex", branch="main")
        made = await asyncio.to_thread(one.app.engine.work.begin, wish)
        folder = Path(made.worktree.path)
        lines = (folder / "gutter.py").read_text().splitlines()
        lines[1], lines[19] = "    return 'first'", "    return 'last'"
        (folder / "gutter.py").write_text("\n".join(lines) + "\n")
        (folder / "new.txt").write_text("new\n")
        return made.session.session_id, folder

    return begin


async def changes_of(one, session_id):
    one.app.order("work changes", [session_id])
    await one.at("ChangesScreen")
    await one.until(lambda: one.app.screen.found is not None)
    await one.rest()
    return one.app.screen


def files(screen):
    return [row.key for row in screen._files.rows if row.is_selectable]


@keys("frame.changes", "f12")
@keys("ChangesScreen", "space", "s", "S", "d", "u", "tab", "shift+tab", "right", "l", "left", "h", "R", "question_mark")
@keys("ChangesScreen", "escape", "q", "c", "m", "M", "b", "a", "H", "p", "C")
@keys("frame.worktrees", "f6")
@keys("WorktreesScreen", "d", "r", "u", "P", "R", "escape", "q")
async def test_changes_are_staged_and_discarded_commented_and_merged_and_a_worktree_is_removed_and_restored(
    begun, hand, repository, git
):
    async with hand(size=(120, 30), panes=("pools", "sessions")) as one:
        await see_no_worktree(one)
        session_id, folder = await begun(one)
        await stage_by_file_hunk_and_line_and_discard_with_an_undo(one, folder, git)
        await send_comments_on_lines_as_one_message(one, session_id)
        await commit_merge_and_hand_a_conflict_over(one, session_id, repository, git)
        await remove_restore_and_prune_worktrees(one, session_id, folder)


async def see_no_worktree(one):
    await one.press("f6")
    await one.at("WorktreesScreen")
    await one.sees("No worktree.")
    await one.press("q")
    await one.at("Frame")


async def stage_by_file_hunk_and_line_and_discard_with_an_undo(one, folder, git):
    await one.turn_to("sessions")
    await one.until(lambda: one.app.frame.find("sessions").reading.works)
    await one.press("home", "j", "f12")
    await one.at("ChangesScreen")
    screen = one.app.screen
    await one.until(lambda: screen.found is not None and screen._diff is not None)
    await one.sees("aw/", "→ main", "Not staged 2", "M gutter.py", "? new.txt", "@@ -1,", "'first'")

    await one.press("space")
    await one.sees("Staged 1")
    await one.until(lambda: "index:gutter.py" in files(screen))
    assert screen._files.go_to("index:gutter.py")
    await one.press("space")
    await one.until(lambda: ["worktree:gutter.py", "worktree:new.txt"] == files(screen))
    screen._files.go_to("worktree:gutter.py")
    await one.until(lambda: screen._diff is not None and len(screen._diff.hunks) == 2)
    for there, back in (("tab", "shift+tab"), ("right", "left"), ("l", "h"), ("l", "escape")):
        await one.press(there)
        assert screen._is_in_diff
        await one.press(back)
        assert not screen._is_in_diff

    await one.press("tab", "space")
    await one.until(lambda: "index:gutter.py" in files(screen) and len(screen._diff.hunks) == 1)
    assert "first" in git(folder, "diff", "--cached")
    assert "last" in git(folder, "diff")
    screen._diff_list.go_to(next(row.key for row in screen._diff_list.rows if "'last'" in plain(row.line)))
    await one.press("s")
    await one.until(lambda: "+    return 'last'" in git(folder, "diff", "--cached"))
    assert "return 6" in git(folder, "diff")
    await one.press("tab", "S")
    await one.until(lambda: ["index:gutter.py", "index:new.txt"] == files(screen))
    await one.press("S")
    await one.until(lambda: ["worktree:gutter.py", "worktree:new.txt"] == files(screen))

    screen._files.go_to("worktree:new.txt")
    await one.press("d")
    await one.at("Confirm")
    await one.sees("u brings it back")
    await one.press("y")
    await one.told("Discarded. u: undo")
    await one.until(lambda: not (folder / "new.txt").exists())
    await one.rest()
    await one.press("u")
    await one.until((folder / "new.txt").exists)
    await one.press("u")
    await one.at("Choice")
    await one.press("escape")
    await one.at("ChangesScreen")
    (folder / "later.txt").write_text("x")
    await one.press("R")
    await one.sees("later.txt")
    (folder / "later.txt").unlink()
    await one.press("question_mark")
    await one.at("Reading")
    await one.sees("hand a conflict")
    await one.press("escape")
    await one.at("ChangesScreen")
    await one.press("escape")
    await one.at("Frame")
    await one.press("f12")
    await one.at("ChangesScreen")
    await one.press("q")
    await one.at("Frame")


async def send_comments_on_lines_as_one_message(one, session_id):
    """They are not lost by accident."""
    screen = await changes_of(one, session_id)
    for words, text in (("'first'", "call it zero"), ("'last'", "why?")):
        await one.until(lambda: screen._diff is not None and len(screen._diff.hunks) == 2)
        screen.action_to_diff()
        screen._diff_list.go_to(next(row.key for row in screen._diff_list.rows if words in plain(row.line)))
        await one.press("enter")
        await one.at("Question")
        one.app.screen.query_one(Input).value = text
        await one.press("enter")
        await one.at("ChangesScreen")
    await one.sees("2 comments to send", "●")
    await one.press("escape", "escape")
    await one.at("Confirm")
    await one.press("n", "C")
    await one.told("Sent 2 comments to the agent")

    await one.rest()
    sent = one.app.engine.work.messages(session_id)[0].content
    assert ["gutter.py, line 2:", "call it zero", "why?"] == [
        words for words in ("gutter.py, line 2:", "call it zero", "why?") if words in sent
    ]


async def commit_merge_and_hand_a_conflict_over(one, session_id, repository, git):
    """It is said first what moves."""
    before = git(repository, "rev-parse", "main")
    await one.press("c")
    await one.at("Question")
    await one.sees("commit all 2 changed files")
    await one.press("enter")
    await one.sees("A commit needs a message")
    one.app.screen.query_one(Input).value = "Paint the gutter"
    await one.press("enter")
    await one.told("Committed ")
    await one.sees("Committed 2", "A new.txt", "↑1")
    await one.press("space")
    await one.told("This is committed")

    await one.press("m")
    await one.at("Review")
    await one.sees("1 commit, 2 files change, as a fast-forward", "Paint the gutter", "gutter.py", "backup reference")
    await one.press("n")
    await one.at("ChangesScreen")
    assert before == git(repository, "rev-parse", "main")
    await one.press("a")
    await one.at("Review")
    await one.sees("staged in the main checkout, without a commit")
    await one.press("y")
    await one.told("Staged in")
    assert "gutter.py" in git(repository, "diff", "--cached", "--name-only")
    await one.rest()
    one.said.clear()
    await one.press("u")
    await one.told("Undone")
    assert "" == git(repository, "diff", "--cached", "--name-only")
    await one.press("m")
    await one.at("Review")
    await one.press("enter")
    await one.told("Merged into main")
    assert before != git(repository, "rev-parse", "main")
    await one.rest()
    await one.press("u")
    await one.until(lambda: before == (repository / ".git/refs/heads/main").read_text())
    await one.rest()

    await one.press("M")
    await one.at("Choice")
    await one.press("escape")
    await one.at("ChangesScreen")
    await one.press("p")
    await one.at("Review")
    await one.sees("push", "no remote")
    await one.press("escape")
    await one.at("ChangesScreen")
    await one.press("C")
    await one.told("There are no comments yet")
    (repository / "gutter.py").write_text("other\n")
    git(repository, "commit", "-q", "-a", "-m", "Another gutter")
    await one.press("b")
    await one.at("Review")
    await one.sees("on top of main", "in conflict (1)", "gutter.py", "Hand to the agent")
    await one.press("n")
    await one.at("ChangesScreen")
    await one.press("H")
    await one.told("The agent was asked to resolve the conflict")
    assert any("git merge main" in message.content for message in one.app.engine.work.messages(session_id))
    await one.press("escape")
    await one.at("Frame")


async def remove_restore_and_prune_worktrees(one, session_id, folder):
    (folder / "new.txt").write_text("newer\n")
    (folder / "notes.txt").write_text("second\n")
    await one.press("f6")
    await one.sees("in use", "2 changed", "kB")
    await one.press("d")
    await one.told("Its session runs")
    await asyncio.to_thread(one.app.engine.work.cancel, session_id)
    await one.until(lambda: one.app.engine.work.find(session_id).pid is None)
    await one.press("R")
    await one.sees("idle")
    await one.press("P")
    await one.at("Review")
    await one.sees("1 stay", "2 changed files")
    await one.press("escape")
    for key in ("r", "u"):
        await one.at("WorktreesScreen")
        await one.press("d")
        await one.at("Confirm")
        await one.sees("salvage reference", "r restores it")
        await one.press("y")
        await one.until(lambda: not folder.exists())
        await one.sees("Removed. r restores it")
        await one.press(key)
        await one.until((folder / "new.txt").exists)
        await one.sees("idle")
        await one.rest()
    await one.press("escape")
    await one.at("Frame")
