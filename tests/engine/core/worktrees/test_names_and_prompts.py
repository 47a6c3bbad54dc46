"""Paths that strangers name, the page of a pull request, and what an agent is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.worktrees.compare_url import compare_url, without_login
from oulipoly_engine.core.worktrees.prompts import Comment, comments_prompt, conflict_prompt
from oulipoly_engine.core.worktrees.refusals import PathRefused
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.errors import UsageInvalid

PAGE = "https://github.com/owner/repo/compare/"


@pytest.mark.parametrize(
    ("remote", "base", "head", "expected"),
    [
        ("git@github.com:owner/repo.git", "main", "feature/x", f"{PAGE}main...feature%2Fx?expand=1"),
        ("https://github.com/owner/repo.git", "dev", "awrapper/1234", f"{PAGE}dev...awrapper%2F1234?expand=1"),
        ("git@example.com:owner/repo.git", "main", "x", None),
        ("https://github.com/owner/repo", "main", "x", f"{PAGE}main...x?expand=1"),
        ("https://me:secret@github.com/owner/repo/", "main", "x", f"{PAGE}main...x?expand=1"),
        ("ssh://git@github.com:22/owner/repo.git", "main", "x", f"{PAGE}main...x?expand=1"),
        ("https://github.com.evil.example/owner/repo", "main", "x", None),
        ("https://evil.example/github.com/owner/repo", "main", "x", None),
        ("https://evil.example/@github.com/owner/repo", "main", "x", None),
        ("/srv/github.com/owner/repo.git", "main", "x", None),
        ("https://github.com/owner", "main", "x", None),
        ("git@github.com:owner/repo.git", "main", "a#b&c=d", f"{PAGE}main...a%23b%26c%3Dd?expand=1"),
    ],
)
def test_the_page_of_a_pull_request(remote, base, head, expected):
    assert compare_url(remote, base, head) == expected


def test_no_login_is_told_with_a_remote():
    assert without_login("https://me:secret@example.com/x.git") == "https://example.com/x.git"
    assert without_login("git@example.com:x.git") == "git@example.com:x.git"


@pytest.mark.parametrize(
    "path",
    [
        *("", "/etc/passwd", "../etc/passwd", "a/../../b", "a/..", "./a", "a//b", "a/", "a\0b", "x" * 256, "\ud800"),
        *(".git", ".git/hooks/pre-commit", "sub/.git", ".GIT/config", ".g\u200cit/config", ".git ", "git~1/config"),
        "a/" * 2500 + "b",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(path):
    with pytest.raises(PathRefused):
        split_path(path)


@pytest.mark.parametrize(
    "path", ["README.md", "a b/c", ".gitignore", ".github/x", "...", "-n", "a\nb", "\udcff", ":(top)"]
)
def test_every_name_of_a_file_is_taken(path):
    assert "/".join(split_path(path)) == path


@given(st.text(max_size=40))
def test_what_is_taken_goes_straight_down(path):
    try:
        names = split_path(path)
    except PathRefused:
        return
    assert not {"", ".", ".."} & set(names)


def test_all_comments_become_one_prompt():
    told = comments_prompt([Comment("b.py", 2, "why?"), Comment("a.py", 10, " rename it \n", "def f():  ")])

    assert told.index("a.py, line 10:\n> def f():\nrename it\n") < told.index("b.py, line 2:\nwhy?\n")


@pytest.mark.parametrize("comments", [[], [Comment("a", 1, " ")], [Comment("a", 1, "x")] * 201])
def test_comments_that_say_nothing_are_refused(comments):
    with pytest.raises(UsageInvalid):
        comments_prompt(comments)


def test_a_conflict_is_told_with_files_commits_and_what_to_do():
    told = conflict_prompt("aw/1", "main", ["a.txt"], ["1234567 Say hello"])

    assert "- a.txt" in told
    assert "- 1234567 Say hello" in told
    assert "`git merge main`" in told
