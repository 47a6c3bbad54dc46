"""The extension of docs/extensions.md does what the page says."""

import re
from pathlib import Path

import pytest

from oulipoly_engine.core.extensions.hooks import HOOKS
from oulipoly_engine.core.extensions.manifest import Permission
from oulipoly_engine.errors import ExtensionRefused
from oulipoly_engine.extension_api import Session
from oulipoly_engine.facade.engine import Engine

PAGE = (Path(__file__).parents[2] / "docs" / "extensions.md").read_text()
HERE = Session("s1")


@pytest.fixture
def engine(home):
    opened = Engine()
    place = opened.paths.extensions / "house-rules"
    place.mkdir(parents=True)
    (place / "extension.toml").write_text(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])
    (place / "extension.py").write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    (home / "notes.txt").write_text("milk\nbread\n")
    opened.extensions.allow(opened.extensions.find("house-rules"))
    yield opened
    opened.extensions.close()
    opened.close()


def test_the_sample_does_what_the_page_says(engine):
    running = engine._home.extensions.running

    assert "buy milk\nbread\n" == running.take_input("buy #notes", HERE).text
    assert "bread" == running.run_command("house-rules", "notes", "br", HERE).text
    with pytest.raises(ExtensionRefused, match="the house has no rm -rf"):
        running.guard("before_tool", HERE, title="run", detail="rm -rf /")
    running.guard("before_tool", HERE, title="run", detail="ls")
    running.observe("message_received", HERE, {"text": "four"})
    assert "s1: 4 characters" in (engine.paths.extension_logs / "house-rules.log").read_text()


def test_every_hook_and_permission_is_on_the_page():
    assert [] == [name for name in (*HOOKS, *Permission) if f"`{name}`" not in PAGE]
