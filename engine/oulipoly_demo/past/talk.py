"""What is said in the demo's past conversations, made from a workspace's own words. Pure: the dice come in."""

from __future__ import annotations

import random
from typing import NamedTuple

from oulipoly_demo.past.stories import Story, Workspace


class Step(NamedTuple):
    """Something that an agent did before it answered."""

    kind: str  # "think" or "call"
    text: str  # the thought, or what the tool gave
    tool: str = ""  # Read, Edit, Bash, Grep
    target: str = ""  # its file or command
    is_error: bool = False


class Exchange(NamedTuple):
    """One prompt and what came of it."""

    prompt: str
    steps: tuple[Step, ...]
    answer: str


_FOLLOW_UPS = (
    "Good. And what happens with an empty input?",
    "Do the same for {name} in `{file}`.",
    "Why not simply drop {name}?",
    "Show me the test before the change.",
    "That is more than I asked for. Take out everything that {name} does not need.",
    "Run the tests again, please.",
    "Write the commit message.",
    "What did you leave out?",
    "Compare that with what `{file}` does now.",
    "Say it in two sentences, for the change log.",
    "Is {name} still called anywhere else?",
    "Now measure it.",
)
_THOUGHTS = (
    "{name} is called from two places, and only one of them checks its argument. I should look at "
    "`{file}` before I say "
    "anything about the other.",
    "The symptom points at {name}, but the numbers do not: the time goes before it. Measure first.",
    "A smaller change would do. If {name} returned early, nothing in `{file}` would have to know.",
    "I have been asked for a failing test first. What is the least input that shows it?",
)
_ANSWERS = (
    "It was `{name}`: it kept its first result and never looked again. I changed `{file}` so that the key holds "
    "everything the result depends on.",
    "Nothing else calls **{name}**. I left its signature alone and moved the check to the border, in `{file}`.",
    "Two causes, and they hide each other:\n\n1. `{name}` swallows the error.\n2. `{file}` takes the "
    "default for an answer.\n\n"
    "I fixed the first and wrote a test for the second.",
    "Measured over ten runs, the middle one counts:\n\n| | before | after |\n|---|---|---|\n| {name} | "
    "41.8 ms | 6.2 ms |\n"
    "| everything | 212 ms | 171 ms |",
    "No. It would read better, but `{file}` is also what the importer uses, and that runs at night without us.\n\n"
    "> leave it, and name it for what it does",
    "Done. The smallest version that can fail is in the test; the rest of {name} is as it was.",
)
_THANKS = "Anything that I should not have touched is one `git checkout {file}` away."


def exchanges(story: Story, space: Workspace, dice: random.Random) -> tuple[Exchange, ...]:
    """Return the whole conversation."""
    return tuple(_exchange(story, space, number, dice) for number in range(story.exchanges))


def summary(story: Story, space: Workspace) -> str:
    """Return what a compaction left of the beginning."""
    return (
        "This session is being continued from a previous conversation that ran out of context. The "
        "conversation so far:\n\n"
        f"1. Asked: {story.asks}\n2. `{space.files[0]}` and `{space.files[1]}` were read; `{space.names[0]}` "
        f"was changed.\n"
        f"3. Tests are green with `{space.test}`.\n4. Open: `{space.names[-1]}`, and whether the default may change."
    )


def errand(space: Workspace, dice: random.Random) -> Exchange:
    """Return what a sub-agent was sent for."""
    name, file = dice.choice(space.names), dice.choice(space.files)
    prompt = (
        f"Find every use of {name} below {file.rpartition('/')[0] or '.'} and report file, line and purpose. "
        f"Change nothing."
    )
    answer = (
        f"Three uses of `{name}`:\n\n- `{file}:41` builds it\n- `{file}:88` reads it\n- `{space.files[-1]}:12` logs it"
    )
    return Exchange(prompt, (_call("Grep", space, name, file, dice),), answer)


def _exchange(story: Story, space: Workspace, number: int, dice: random.Random) -> Exchange:
    words = {"name": dice.choice(space.names), "file": dice.choice(space.files)}
    prompt = story.asks if number == 0 else dice.choice(_FOLLOW_UPS).format(**words)
    steps: list[Step] = []
    if dice.random() < 0.5 and "tools" in story.traits:
        steps.append(Step("think", dice.choice(_THOUGHTS).format(**words)))
    if "tools" in story.traits:
        tools = dice.sample(("Read", "Grep", "Edit", "Bash"), dice.choice((1, 1, 2)))
        steps += (_call(tool, space, words["name"], words["file"], dice) for tool in tools)
    return Exchange(prompt, tuple(steps), _answer(story, space, words, dice))


def _answer(story: Story, space: Workspace, words: dict[str, str], dice: random.Random) -> str:
    parts = [dice.choice(_ANSWERS).format(**words)]
    if "code" in story.traits and dice.random() < 0.6:
        named = words["name"] if words["name"].isidentifier() else space.names[0].replace(" ", "_")
        parts.append(f"```{space.language}\n{space.code.format(named)}\n```")
    if dice.random() < 0.2:
        parts.append(_THANKS.format(**words))
    return "\n\n".join(parts)


def _call(tool: str, space: Workspace, name: str, file: str, dice: random.Random) -> Step:
    line = dice.randrange(12, 180)
    if tool == "Bash":
        failed = dice.random() < 0.25
        text = f"1 failed, {line} passed in {line / 40:.2f}s" if failed else f"{line} passed in {line / 40:.2f}s"
        return Step("call", text, tool, space.test, is_error=failed)
    if tool == "Grep":
        return Step("call", "\n".join(f"{file}:{line + 7 * place}: {name}" for place in range(3)), tool, name)
    if tool == "Edit":
        return Step("call", f"The file {file} has been updated.", tool, file)
    code = space.code.format(space.names[0].replace(" ", "_")).split("\n")
    return Step("call", "\n".join(f"{line + place:>6}\t{text}" for place, text in enumerate(code)), tool, file)
