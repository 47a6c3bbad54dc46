"""Words of a command that some program would read as a program are found, and no others where it is known."""

import shlex

import pytest

from oulipoly_engine.core.text.inline_programs import find_inline_programs

# X stands where a title would be put in.
SAFE = [
    "grep -e X",
    "/usr/bin/grep -rnE X .",
    "git grep -e X",
    "rg -e X",
    "wc -c X",
    "head -c 100 X",
    "jq -c . X",
    "echo -e X",
    "sh -c 'echo \"$1\"' sh X",
    "bash -euc 'echo \"$1\"' bash X",
    "sh tool.sh X",
    "python3 -c 'import sys' X",
    "awk -v title=X '{ print title }' X",
    "awk -F X '{ print }' X",
    "sed -ne s/a/b/p X",
    "sed -f program X",
    "env A=1 grep X",
    "vim +10 X",
    "code X",
    "xargs -a X echo",
]
OPEN = [
    "sh -c X",
    "sh -euc X",
    "bash -Cc X",
    "sh -c -x X",
    "sh -c -- X",
    "sh -x -c 'echo X'",
    "bash -O extglob -c X",
    "env sh -c X",
    "env A=1 bash -c 'echo X' sh",
    "env -S X",
    "env '-SX'",
    "sudo -u me sh -c X",
    "timeout 5 dash -c X",
    "docker exec box sh -c X",
    "python3 -c X",
    "python3.11 -Ic X",
    "python3 '-cprint(X)'",
    "perl -ne X",
    "perl -lane X f",
    "ruby -e X",
    "node -p X",
    "node --eval=X",
    "deno eval X",
    "php -r X",
    "lua5.4 -e X",
    "awk X file",
    "awk -Ff X",
    "gawk -v a=b X",
    "awk --source=X",
    "sed X file",
    "sed -if X",
    "sed -e X file",
    "sed -n --expression X",
    "sed --expression=X file",
    "ssh host tail X",
    "sudo ssh host tail X",
    "watch cat X",
    "vim -c X",
    "vim '+X'",
    "emacs --eval X",
    "find . -exec X",
    "unheard-of -c X",
    "unheard-of -e X",
    "git -c X log",
]


def has_open_word(line):
    words = shlex.split(line)
    return any("X" in words[place] for place in find_inline_programs(words) if place < len(words))


@pytest.mark.parametrize("line", SAFE)
def test_a_word_that_stays_an_argument_is_let_be(line):
    assert not has_open_word(line)


@pytest.mark.parametrize("line", OPEN)
def test_a_word_that_is_run_is_found(line):
    assert has_open_word(line)
