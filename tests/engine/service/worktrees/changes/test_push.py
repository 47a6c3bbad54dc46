"""A session's branch is pushed to where the repository says, from whichever of its worktrees."""

import pytest

from oulipoly_engine.service.worktrees.changes.push import promote


@pytest.mark.parametrize("url", ["../remote.git", "./../remote.git", "{remote}"])
def test_a_remote_repository_is_found_from_a_worktree(repo, url):
    remote = repo.main.parent / "remote.git"
    repo.git("init", "-q", "--bare", "--template=", str(remote))
    repo.git("remote", "add", "origin", url.format(remote=remote))
    repo.write("new.txt", "new\n")
    head = repo.commit()

    pushed = promote(repo.checkout)

    assert head == repo.git("rev-parse", f"refs/heads/{pushed.branch}", folder=remote)
