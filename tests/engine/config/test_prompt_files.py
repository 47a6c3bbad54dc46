"""Prompt files: what their folder holds, read one by one."""

from oulipoly_engine.config.prompt_files import read_prompts
from oulipoly_engine.core.commands.slash.lines import Prompt
from oulipoly_engine.paths import from_environment


def test_each_readable_file_whose_name_can_be_written_is_a_prompt(home):
    paths = from_environment()
    assert () == read_prompts(paths)

    files = {
        "plain.md": b"\nJust do it.\n\n",
        "keys.md": b"---\ndescription: >\n  two\n  lines\nmodel: x\n---\nDo $1.\n",
        "open.md": b"---\nno end",
        "number.md": b"---\ndescription: 7\n---\nx",
        "two words.md": b"x",
        "1.md": b"x",
        ".hidden.md": b"x",
        "latin.md": b"\xff",
        "other.txt": b"x",
    }
    paths.prompts.mkdir(parents=True)
    for name, content in files.items():
        (paths.prompts / name).write_bytes(content)
    (paths.prompts / "folder.md").mkdir()

    assert (
        Prompt("keys", "Do $1.", "two lines"),
        Prompt("number", "x", "7"),
        Prompt("open", "---\nno end"),
        Prompt("plain", "Just do it."),
    ) == read_prompts(paths)
