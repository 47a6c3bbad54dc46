"""Areas agent.*: agent files, and the prompt behind their instructions."""

import pytest

from oulipoly_engine.config.load import load_agent_file
from oulipoly_engine.core.runs import prompt
from oulipoly_engine.errors import AgentFileInvalid


def full_prompt(vector, tmp_path):
    given = vector["input"]
    words = prompt.choose(given.get("file"), given.get("prompt_words", ()), given.get("stdin"))

    assert vector["expected"] == prompt.with_instructions(given["agent_body"], words)


def frontmatter(vector, tmp_path):
    path = tmp_path / "agent.md"
    path.write_bytes(vector["input"]["text"].encode())
    expected = vector["expected"]
    if "error_mentions" in expected:
        with pytest.raises(AgentFileInvalid) as caught:
            load_agent_file(path)
        for mention in expected["error_mentions"]:
            assert mention.lower() in caught.value.message.lower()
        return
    agent = load_agent_file(path).value
    names = {"instructions": "body"}
    for key, value in expected.items():
        assert value == getattr(agent, names.get(key, key))


DRIVERS = {"agent.prompt": full_prompt, "agent.frontmatter": frontmatter}
