"""What a line is that begins with a slash, and which of them a device may run."""

import pytest

from oulipoly_engine.core.commands.slash.lines import (
    CliCommand,
    Known,
    Message,
    Order,
    Prompt,
    Refusal,
    judge,
    list_offers,
)
from oulipoly_engine.core.commands.slash.table import SLASHES
from oulipoly_engine.core.commands.table import find

KNOWN = Known(
    (
        *(Prompt("deploy", "Deploy $1, then say $ARGUMENTS and $$1."), Prompt("fork", "Fork the road.", "a prompt")),
        *(Prompt("deploy", "A package's: $1", prefix="kit"), Prompt("ship", "Ship $1.", prefix="kit")),
    ),
    (
        *(CliCommand("context", "how full it is"), CliCommand("review", "the CLI's"), CliCommand("compact")),
        *(CliCommand("deploy", "the CLI's"), CliCommand("srv:do:it")),
    ),
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hello /fork", Message("hello /fork")),
        ("/kit:deploy x", Message("A package's: x")),
        ("/ship it", Message("Ship it.")),
        ("", Message("")),
        ("/", Message("/")),
        ("/ 2", Message("/ 2")),
        ("/2 of it", Message("/2 of it")),
        ("// a comment", Message("// a comment")),
        ("//etc", Message("/etc")),
        ("///etc", Message("//etc")),
        ("//fork\n/fork", Message("/fork\n/fork")),
        ("/fork", ("session fork", ())),
        ("/model x", ("session model", ("x",))),
        ("/model", ("session model", ())),
        ("/rename red roofs\nand doors", ("session name", ("red roofs\nand doors",))),
        ("/status ", ("session status", ())),
        ("/export html 'a b.html'", ("session export", ("html", "'a b.html'"))),
        ("/compact", ("session compact", ())),
        ("/compact keep the plan", Message("/compact keep the plan")),
        ("/review main", Message("/review main")),
        ("/context\nall", Message("/context\nall")),
        ("/srv:do:it  now", Message("/srv:do:it  now")),
        ("/deploy web now", Message("Deploy web, then say web now and $1.")),
        ("/deploy", Message("Deploy , then say  and $1.")),
        ("/cli:deploy x", Message("/deploy x")),
        ("/prompt:fork now", Message("Fork the road.\n\nnow")),
        ("/cli:compact", Message("/compact")),
    ],
)
def test_a_line_is_a_message_or_a_command(text, line):
    found = judge(text, KNOWN)

    assert line == ((found.slash.command, found.words) if isinstance(found, Order) else found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/nosuch", ("no command /nosuch", "//nosuch")),
        ("/modle x", ("did you mean /model", "//modle")),
        ("/contxt", ("did you mean /context",)),
        ("/etc/hosts is broken", ("no command /etc/hosts", "//etc/hosts sends it")),
        ("/Fork", ("did you mean /fork",)),
        ("/fork\nand go on", ("write /fork",)),
        ("/model two words", ("write /model NAME",)),
    ],
)
def test_what_is_no_command_is_refused_and_says_the_way_out(text, words):
    line = judge(text, KNOWN)

    assert isinstance(line, Refusal)
    assert [] == [word for word in words if word not in line.reason]


def test_our_commands_are_offered_first_each_name_once_and_a_name_that_is_taken_by_its_prefix():
    every, begun = dict(list_offers(KNOWN)), [name for name, _ in list_offers(KNOWN, "re")]

    assert ["rename", "resume", "review", "rewind"] == begun
    assert [slash.name for slash in sorted(SLASHES)] == list(every)[: len(SLASHES)]
    others = ["cli:compact", "cli:deploy", "context", "deploy", "kit:deploy", "prompt:fork", "ship", "srv:do:it"]
    assert others == list(every)[len(SLASHES) :]
    assert ("the CLI's", "a prompt") == (every["review"], every["prompt:fork"])
    assert every["name"].endswith(": /name TEXT")


OF_THIS_COMPUTER = {"extensions", "resume", "import", "copy", "export", "close", "settings", "quit"}
LOOKS = {"help", "load", "session", "tools", "tree", "compare"}


def test_each_name_is_one_line_bound_to_a_command_and_its_scope():
    names = [name for slash in SLASHES for name in (slash.name, *slash.aliases)]
    scopes = {slash.name: find(slash.command).scope for slash in SLASHES}

    assert len(names) == len({*names})
    assert dict.fromkeys(scopes, "operate") | dict.fromkeys(OF_THIS_COMPUTER) | dict.fromkeys(LOOKS, "view") == scopes
    assert [] == [slash.name for slash in SLASHES if slash.does.is_confirmed]
