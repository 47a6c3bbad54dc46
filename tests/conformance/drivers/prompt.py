"""Areas prompt.*: how a prompt reaches the CLI."""

from pathlib import Path

from oulipoly_engine.core.accounts.accounts import PromptMode
from oulipoly_engine.core.runs import prompt
from oulipoly_engine.core.runs.prompt import Transport


def transport(vector, tmp_path):
    chosen = prompt.transport(PromptMode(vector["input"]["mode"]), vector["input"]["prompt_bytes"])
    expected = vector["expected"]

    assert bool(expected.get("inline")) == (chosen is Transport.INLINE)
    assert bool(expected.get("stdin")) == (chosen is Transport.STDIN)
    assert ("file_pattern" in expected) == (chosen is Transport.FILE)
    if "file_pattern" in expected:
        name = expected["file_pattern"].replace("<uuid>", "u-1")
        assert name == prompt.file_name("u-1")
        assert name in prompt.file_instruction(Path("/w") / name)


DRIVERS = {"prompt.transport": transport}
