"""Packages of repositories and of addresses: one commit, one archive, nothing that runs; and what hinders is said."""

import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from oulipoly_engine.core.packages.names import GitAddress, is_archive_address, parse_git
from oulipoly_engine.core.packages.refusals import PackageRefused

COMMIT = "a" * 40


@pytest.mark.parametrize(
    ("source", "url", "ref"),
    [
        ("github:me/kit", "https://github.com/me/kit.git", ""),
        ("github:me/kit@v1.2", "https://github.com/me/kit.git", "v1.2"),
        ("https://host/me/kit.git", "https://host/me/kit.git", ""),
        (f"https://host/me/kit.git#{COMMIT}", "https://host/me/kit.git", COMMIT),
        ("git+https://host/kit#feature/x", "https://host/kit", "feature/x"),
        ("git+ssh://git@host/kit.git", "ssh://git@host/kit.git", ""),
        ("git@host:me/kit.git#main", "git@host:me/kit.git", "main"),
        ("file:///srv/kit.git", "file:///srv/kit.git", ""),
    ],
)
def test_addresses_of_git_are_read(source, url, ref):
    assert GitAddress(url, ref) == parse_git(source)


@pytest.mark.parametrize(
    "source", ["./kit", "/srv/kit.git", "npm:kit", "https://host/kit.tgz", "--upload-pack=touch x.git", "-git@h:x.git"]
)
def test_what_is_none_is_left_to_others(source):
    assert parse_git(source) is None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("github:me", "is not github:OWNER/REPO"),
        ("github:me/kit@--exec", "is not github:OWNER/REPO"),
        ("git+ext::sh -c 'touch x'", "is not an address of git"),
        ("git+https://host/kit#--upload-pack=x", "is not an address of git"),
        ("http://host/kit.git", "lets others answer"),
        ("https://me:secret@host/kit.git", "has a password in it"),
        ("http://host/kit.tgz", "lets others answer"),
        ("https://me:secret@host/kit.tgz", "has a password in it"),
        ("ssh://-oProxyCommand=x/kit.git", "names no host"),
        ("https://host/page.html", "is not the address of an archive"),
    ],
)
def test_what_others_could_answer_for_is_refused(machine, source, reason):
    with pytest.raises(PackageRefused, match=reason) as refusal:
        machine.install(source)
    assert "secret" not in str(refusal.value)
    assert not machine.root.exists() or [] == machine.leftovers()


@pytest.fixture
def repository(machine, tmp_path):
    """A repository of a package, with hooks and filters that would leave a mark."""
    folder = machine.kit()
    mark = tmp_path / "ran"
    for words in (["init", "-qb", "main"], ["config", "filter.mark.smudge", f"touch {mark}; cat"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / ".gitattributes").write_text("*.md filter=mark\n")
    (folder / ".git" / "hooks").mkdir(exist_ok=True)
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    commit(folder, "v1")
    yield folder
    assert not mark.exists()


def commit(folder, tag):
    """Commit all there is and return the commit's id."""
    who = ["-c", "user.name=A", "-c", "user.email=a@x", "-c", "filter.mark.clean=cat"]
    for words in (["add", "-A"], [*who, "commit", "-qm", tag], ["tag", tag]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_repository_is_taken_at_a_commit_that_is_locked_and_updated_where_its_branch_moves(machine, repository):
    first = machine.install(f"git+file://{repository}#main").commit
    installed = machine.packages.lock().packages["foo-oxi-tools"]
    assert ("git", first) == (installed.source_type, installed.commit)
    machine.kit(version="2.0.0")
    second = commit(repository, "v2")
    machine.update("foo-oxi-tools")

    installed = machine.packages.lock().packages["foo-oxi-tools"]
    assert ("2.0.0", second) == (installed.version, installed.commit)
    assert first == machine.install(f"git+file://{repository}#v1").commit
    assert second == machine.install(f"git+file://{repository}#{second}").commit
    assert not (machine.root / "foo-oxi-tools" / ".git").exists()
    assert [] == machine.leftovers()


def test_what_hinders_git_is_said(machine, repository, monkeypatch, tmp_path):
    with pytest.raises(PackageRefused, match=r"git could not get file:.*check the address, the ref and the network"):
        machine.install(f"git+file://{repository}#nowhere")
    with pytest.raises(PackageRefused, match="check the address, the ref and the network"):
        machine.install("git+http://127.0.0.1:9/kit.git")
    (repository / "link").symlink_to("/etc/passwd")
    commit(repository, "linked")
    with pytest.raises(PackageRefused, match="'link' is a link"):
        machine.install(f"git+file://{repository}")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageRefused, match="git is not installed"):
        machine.install(f"git+file://{repository}")
    assert [] == machine.leftovers()


@pytest.fixture
def server(pack):
    """A server of one archive, which also leads elsewhere and refuses."""
    archive = pack(("kit/package.toml", b'name = "kit"\n'), ("kit/prompts/p.md", b"x"), name="made.tgz").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            leads = {"/away.tgz": "file:///etc/passwd", "/plain.tgz": "http://example.com/kit.tgz"}
            if self.path in leads:
                self.send_response(302)
                self.send_header("Location", leads[self.path])
                self.end_headers()
            elif self.path == "/kit.tgz":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(archive)
            else:
                self.send_error(404, "Not Found")

        def log_message(self, *_words):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def test_archive_is_downloaded_and_its_redirects_are_checked(machine, server):
    machine.install(f"{server}/kit.tgz")
    installed = machine.packages.lock().packages["kit"]
    assert ("url", f"{server}/kit.tgz") == (installed.source_type, installed.source)
    for path, reason in (
        ("away.tgz", "Redirection to url 'file:"),
        ("plain.tgz", "http:// lets others answer"),
        ("gone.tgz", "the server answers 404 Not Found"),
    ):
        with pytest.raises(PackageRefused, match=reason):
            machine.install(f"{server}/{path}")
    with pytest.raises(PackageRefused, match=r"could not be downloaded: .*refused.*check it and the network"):
        machine.install("http://127.0.0.1:9/kit.tgz")
    assert is_archive_address("https://host/kit.tgz?token=x")
    assert [] == machine.leftovers()
