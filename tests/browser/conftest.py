"""A phone before `agents serve`, in a demo world of its own for each test. `scripts/test-browser` runs these."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for `test_phone`: importlib mode adds no folder

BROWSER = os.environ.get("BROWSER_PROGRAM", "")
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}


@pytest.fixture(autouse=True)
def _no_child_left():
    """The browser outlives a test; each ends its server itself."""


def pytest_terminal_summary(terminalreporter):
    """Print what the tests have measured."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.getreports(kind)]
    for report in reports:
        for name, text in getattr(report, "user_properties", ()):
            if name == "figure" and report.when == "call":
                terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def chromium():
    """The browser, one for all tests."""
    if not BROWSER:
        pytest.fail("these tests need a browser: run scripts/test-browser, which finds one")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only this suite has it

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-background-networking", "--disable-quic"]
        )
        yield started
        started.close()


class Server:
    """`agents serve`, and what belongs to its world."""

    def __init__(self, live):
        self.live = live
        self.repository = live.root / "repo"
        self._make_repository()
        config = live.demo.config / "config.toml"
        switches = "serve_commit = true\nserve_promote = true\n"
        config.write_text(switches + config.read_text())
        self._start("0")

    def _start(self, port):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "oulipoly_tui", "serve", "--port", port, "--json"], stdout=subprocess.PIPE
        )
        told = json.loads(self.process.stdout.readline())
        self.url, self.code = told["url"], told["code"]

    def restart(self):
        """Kill it and start it again at the same port."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self._start(self.url.rpartition(":")[2])

    def _make_repository(self):
        self.repository.mkdir()
        (self.repository / "README.md").write_text("# A repository\n\nIt has a file.\n")
        for words in (
            ["init", "-q", "-b", "main"],
            ["config", "user.name", "A Person"],
            ["config", "user.email", "person@example.invalid"],
            ["add", "."],
            ["commit", "-q", "-m", "Begin"],
        ):
            self.git(*words)

    def git(self, *words):
        """Run git in the repository; returns what it prints."""
        done = subprocess.run(["git", *words], cwd=self.repository, capture_output=True, text=True, check=True)
        return done.stdout

    def close(self):
        """End it."""
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()

    def until(self, is_it, within_s=15.0):
        """Wait until something is so; returns what it gives."""
        deadline = time.monotonic() + within_s
        while not (found := is_it()):
            assert time.monotonic() < deadline, is_it
            time.sleep(0.02)
        return found


@pytest.fixture
def server(live):
    """The server of a demo world."""
    running = Server(live)
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def pair(chromium, server):
    """Pair a further browser: `pair(color_scheme="dark")`; returns its page, on the overview."""
    contexts = []

    def make(code=None, **more):
        context = chromium.new_context(**{**PHONE, **more})
        context.set_default_timeout(30_000)  # the machine may do other things
        contexts.append(context)
        page = context.new_page()
        page.said = []  # what the console was told: a page that breaks its own rules says so there
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(f"{server.url}/pair#{code or server.live.engine.web.make_code('phone', SCOPES).code}")
        page.get_by_role("heading", name="Overview").wait_for()
        return page

    yield make
    for context in contexts:
        with suppress(Exception):
            context.close()


@pytest.fixture
def phone(pair):
    """A paired phone."""
    return pair()


SCOPES = ("view", "answer", "operate", "terminal")


@pytest.fixture
def offline():
    """Cut a page off from the server for a while: `with offline(page):`."""

    @contextmanager
    def cut(page):
        page.context.set_offline(True)
        try:
            yield
        finally:
            page.context.set_offline(False)

    return cut


@pytest.fixture
def axe():
    """Return what axe-core finds wrong on a page, by its own grades."""
    source = os.environ.get("AXE_CORE", "")
    if not source:
        pytest.fail("these tests need axe-core: run scripts/test-browser, which gets it")
    script = Path(source).read_text()

    def check(page):
        # The page's own policy lets no other script in; the debugger's door does.
        page.evaluate(script)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            (one["impact"], one["id"], [node["html"][:160] for node in one["nodes"]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical", "moderate")
        ]

    return check
