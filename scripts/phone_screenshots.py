#!/usr/bin/env python3
"""Draw screenshots/phone-*.png: the pages of `agents serve` at a phone's size, in a demo world of their own.

    scripts/test-browser --pictures [NAME...]    draw all of them, or some

Unlike those of the app they show times and ids of the moment, so nothing compares them. A scene is one small function
in SCENES.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "engine"), str(ROOT / "tui")]

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from oulipoly_demo import world as worlds  # noqa: E402

FOLDER = ROOT / "screenshots"
PHONE: dict[str, Any] = {
    "user_agent": "Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140 Mobile",
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}
TITLE = "Give the notes a table of contents"
# A field that the form does not have: what the made-up CLI is to do would be the title else.
_NAMES_IT = f"(form) => form.insertAdjacentHTML('beforeend', '<input type=hidden name=title value=\"{TITLE}\">')"
PROMPT = f"{TITLE} [[run:ls docs]] [[edit:docs/notes.md]] [[approve:make test]]"
_README = "# Turtles\n\nNotes on turtles.\n"


class Stage:
    """A paired phone before a server of the demo world."""

    def __init__(self, page: Page, url: str, repository: Path) -> None:
        self.page, self.url, self.repository = page, url, repository

    def begin(self, prompt: str = PROMPT) -> None:
        """Begin a session and wait for what it asks first."""
        page = self.page
        page.goto(f"{self.url}/sessions/new")
        page.get_by_label("Repository").fill(str(self.repository))
        page.get_by_label("What is to be done").fill(prompt)
        page.get_by_label("Model").select_option("demo-live")
        page.locator("form[action='/sessions']").evaluate(_NAMES_IT)
        page.get_by_role("button", name="Begin").tap()
        page.get_by_role("button", name="Approve", exact=True).wait_for()

    def approve(self) -> None:
        """Approve what is asked first, once the page takes it."""
        button = self.page.get_by_role("button", name="Approve", exact=True).first
        before = self.page.locator("article.card").first.get_attribute("id")
        self.page.wait_for_timeout(700)
        button.tap()
        self.page.locator(f"#{before}").wait_for(state="detached")


def overview(stage: Stage) -> None:
    """Show what needs a person, and the quota."""
    stage.begin()
    stage.page.goto(stage.url)
    stage.page.wait_for_timeout(300)


def new_session(stage: Stage) -> None:
    """Show the form of a new session."""
    stage.page.goto(f"{stage.url}/sessions/new")
    stage.page.get_by_label("Repository").fill(str(stage.repository))
    stage.page.get_by_label("What is to be done").fill(TITLE)
    stage.page.get_by_label("Model").select_option("demo-live")


def session(stage: Stage) -> None:
    """Show a session that asks."""
    stage.begin()
    stage.approve()
    stage.page.locator("article.card", has_text="make test").wait_for()


def changes(stage: Stage) -> None:
    """Show a diff."""
    session(stage)
    stage.approve()
    stage.page.locator("#standing", has_text="ready").wait_for()
    stage.page.get_by_role("link", name="Changes").tap()
    stage.page.locator("a.row").first.tap()
    stage.page.locator("i.a").first.tap()


def merge(stage: Stage) -> None:
    """Show what a merge will do."""
    changes(stage)
    stage.page.get_by_role("link", name="All changes").tap()
    stage.page.get_by_label("Message").fill(TITLE)
    stage.page.get_by_role("button", name="Commit").tap()
    stage.page.get_by_role("link", name="Merge into main").tap()
    stage.page.get_by_text("main gets 1 commit").wait_for()


SCENES: dict[str, tuple[Callable[[Stage], None], str]] = {
    "phone-overview": (overview, "light"),
    "phone-new": (new_session, "light"),
    "phone-session": (session, "light"),
    "phone-dark": (session, "dark"),
    "phone-changes": (changes, "light"),
    "phone-merge": (merge, "light"),
}


@contextmanager
def serving() -> Iterator[tuple[str, str, Path]]:
    """Yield the address of a server, a code, and a repository, in a world that is thrown away."""
    root = Path(tempfile.mkdtemp(prefix="ph", dir="/tmp"))
    world = worlds.build(root / "w", options=worlds.Options(pace_s=0))
    config = world.config / "config.toml"
    config.write_text(f"serve_commit = true\n{config.read_text()}")
    environment = worlds.environment_for(world) | {"PYTHONPATH": os.pathsep.join(sys.path[:2])}
    repository = world.home / "turtles"
    (repository / "docs").mkdir(parents=True)
    (repository / "README.md").write_text(_README)
    identity = ("-c", "user.name=You", "-c", "user.email=you@example.invalid")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *words], cwd=repository, env=environment, check=True)
    for name, value in (("user.name", "You"), ("user.email", "you@example.invalid")):
        subprocess.run(["git", "config", name, value], cwd=repository, env=environment, check=True)
    words = [sys.executable, "-m", "oulipoly_tui"]
    server = subprocess.Popen([*words, "serve", "--port", "0", "--json"], env=environment, stdout=subprocess.PIPE)
    assert server.stdout is not None  # noqa: S101 - as it was asked for
    try:
        told = json.loads(server.stdout.readline())
        yield told["url"], told["code"], repository
    finally:
        server.terminate()
        server.wait(10)
        subprocess.run([*words, "demo", "--root", str(world.root), "--remove"], stdout=subprocess.DEVNULL, check=False)
        shutil.rmtree(root, ignore_errors=True)


def draw(name: str) -> None:
    """Draw one picture."""
    scene, scheme = SCENES[name]
    with serving() as (url, code, repository), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["BROWSER_PROGRAM"], args=["--no-sandbox"])
        page = browser.new_context(**PHONE, color_scheme=scheme).new_page()
        page.goto(f"{url}/pair#{code}")
        page.get_by_role("heading", name="Overview").wait_for()
        scene(Stage(page, url, repository))
        page.wait_for_timeout(300)
        page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


def main() -> int:
    """Draw what is asked for."""
    names = sys.argv[1:] or [*SCENES]
    unknown = [name for name in names if name not in SCENES]
    if unknown:
        print(f"there is no picture {unknown[0]!r}: {', '.join(SCENES)}", file=sys.stderr)
        return 2
    for name in names:
        draw(name)
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
