"""What a command needs is said once, in the table: faces say `Need`, and `ReadOnly`, and no sentence of their own."""

import ast
import re
from pathlib import Path

import pytest

from oulipoly_engine.core.commands.needs import Need

_ROOT = Path(__file__).parents[2]
_FACES = ("engine/oulipoly_engine/cli", "engine/oulipoly_engine/web", "tui/oulipoly_tui")
_SAID = {need.value.partition(":")[0] for need in Need}
_OF_THE_TABLE = re.compile(r"choose an? .* first\b|.*\bread-only and\b")


# A part of each such text, and what joins two parts of a text in a source: to parse all modules takes seconds.
_HINT = re.compile("|".join([*map(re.escape, _SAID), r"choose an? .* first\b", r"\bread-only and\b"]), re.IGNORECASE)
_SEAM = re.compile(r"""["']\s*(?:#[^\n]*\n\s*)*[rf]*["']|\\\n""")


def _texts(path: Path) -> list[ast.Constant]:
    source = path.read_text(encoding="utf-8")
    if not _HINT.search(_SEAM.sub("", source)):
        return []
    nodes = ast.walk(ast.parse(source))
    return [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _is_of_the_table(text: str) -> bool:
    said = text.strip(" .\n").lower().partition(":")[0]
    return said in _SAID or bool(_OF_THE_TABLE.match(said))


@pytest.mark.parametrize("face", _FACES)
def test_no_face_says_what_a_command_needs_in_words_of_its_own(face):
    found = [
        (path.relative_to(_ROOT).as_posix(), node.lineno, node.value)
        for path in (_ROOT / face).rglob("*.py")
        for node in _texts(path)
        if _is_of_the_table(node.value)
    ]

    assert [] == found, "say it by its `Need`, see core/commands/needs.py"


def test_no_template_does_either():
    templates = (_ROOT / "engine/oulipoly_engine/web/templates").glob("*.html")
    texts = [(path.name, text) for path in templates for text in re.findall(r"[^<>{}%]+", path.read_text())]

    assert [] == [(name, text) for name, text in texts if _is_of_the_table(text)]
