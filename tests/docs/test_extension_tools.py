"""The table of docs/extension-tools.md says of each CLI whether it gets what extensions offer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.clis.table import CLIS

PAGE = Path(__file__).parents[2] / "docs" / "extension-tools.md"


@pytest.mark.parametrize("cli", CLIS.values(), ids=lambda cli: cli.name)
def test_table_says_what_each_cli_gets(cli):
    row = re.search(rf"^\| {re.escape(cli.title)} \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)

    assert row is not None
    assert (cli.hand_over is None, cli.live is None) == tuple(cell.startswith("not") for cell in row.groups())
