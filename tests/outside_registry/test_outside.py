"""skopeo as a client of our registry and reader of our layout; Debian's docker-registry as a server of our client."""

import json
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytestmark = [pytest.mark.outside_registry, pytest.mark.timeout(300)]
COMMAND = (sys.executable, "-m", "oulipoly_tui")
AGENTFILE = "FROM scratch\nNAME meteo\nCONTEXT SOUL <<E\nYou report weather.\nE\nADD cities.json\n"
SERVER = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}, delete: {{enabled: true}}}}
http: {{addr: {address}}}
log: {{level: error}}
"""


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, timeout=120)
    assert done.returncode == 0, (words, done.stderr.decode())
    return done.stdout


def agents(*words):
    return json.loads(run(*COMMAND, *words, "--json"))


@pytest.fixture
def skopeo():
    if shutil.which("skopeo") is None:
        pytest.fail("these tests need skopeo: run scripts/test-registry, which says what is missing")
    return lambda *words: run("skopeo", "--insecure-policy", *words)


@pytest.fixture
def image(tmp_path):
    """The digest of a signed image, meteo:v1."""
    (tmp_path / "Agentfile").write_text(AGENTFILE)
    (tmp_path / "cities.json").write_text("[]")
    agents("image", "build", tmp_path, "-t", "meteo:v1")
    return agents("image", "sign", "meteo:v1")["digest"]


@pytest.fixture
def ours():
    """The address of our registry."""
    with subprocess.Popen([*COMMAND, "registry", "serve", "--port", "0", "--json"], stdout=subprocess.PIPE) as server:
        yield json.loads(server.stdout.readline())["url"].removeprefix("http://")
        server.terminate()
        server.wait(30)


@pytest.fixture
def theirs(tmp_path):
    """The address of Debian's registry, which keeps no referrers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    file = tmp_path / "registry.yml"
    file.write_text(SERVER.format(folder=tmp_path / "theirs", address=address))
    server = subprocess.Popen(["docker-registry", "serve", file], stderr=subprocess.DEVNULL)
    try:
        while server.poll() is None and not answers(address):
            pass
        yield address
    finally:
        server.kill()
        server.wait()


def answers(address):
    try:
        with urllib.request.urlopen(f"http://{address}/v2/"):
            return True
    except urllib.error.URLError:
        return False


def test_skopeo_copies_from_our_registry_and_back_with_the_same_digest(skopeo, image, ours, tmp_path):
    assert image == agents("image", "push", "meteo:v1", f"{ours}/me/meteo:v1")["digest"]
    skopeo(
        "copy", "--preserve-digests", "--src-tls-verify=false", f"docker://{ours}/me/meteo:v1", f"oci:{tmp_path}/x:v1"
    )
    skopeo(
        "copy", "--preserve-digests", "--dest-tls-verify=false", f"oci:{tmp_path}/x:v1", f"docker://{ours}/b/meteo:v2"
    )

    assert ["v2"] == json.loads(skopeo("list-tags", "--tls-verify=false", f"docker://{ours}/b/meteo"))["Tags"]
    assert image == agents("image", "pull", f"{ours}/b/meteo:v2")["digest"]


def test_skopeo_copies_between_the_registries_lists_and_deletes(skopeo, image, ours, theirs):
    agents("image", "push", "meteo:v1", f"{ours}/me/meteo:v1")
    agents("image", "push", "meteo:v1", f"{ours}/me/meteo:v2")
    insecure = ("--src-tls-verify=false", "--dest-tls-verify=false")
    skopeo("copy", "--preserve-digests", *insecure, f"docker://{ours}/me/meteo:v1", f"docker://{theirs}/b/meteo:v1")
    skopeo("copy", "--preserve-digests", *insecure, f"docker://{theirs}/b/meteo:v1", f"docker://{ours}/c/meteo:v1")

    def tags(name):
        return json.loads(skopeo("list-tags", "--tls-verify=false", f"docker://{name}"))["Tags"]

    assert [image] * 2 == [
        agents("image", "pull", f"{name}/meteo:v1")["digest"] for name in (f"{theirs}/b", f"{ours}/c")
    ]
    assert (["v1", "v2"], ["v1"]) == (tags(f"{ours}/me/meteo"), tags(f"{theirs}/b/meteo"))
    for name in (f"{ours}/me/meteo", f"{theirs}/b/meteo"):
        skopeo("delete", "--tls-verify=false", f"docker://{name}:v1")
        done = subprocess.run([*COMMAND, "image", "pull", f"{name}:v1"], capture_output=True)
        assert (2, True) == (done.returncode, b"has nothing at" in done.stderr), done.stderr
    assert image == agents("image", "pull", f"{ours}/c/meteo:v1")["digest"]  # another repository's


def test_skopeo_reads_our_folder_of_images(skopeo, image, home):
    folder = home / ".local/share/oulipoly-agent-runner/images"

    assert (
        "application/vnd.openotters.agent.v1"
        == json.loads(skopeo("inspect", "--raw", f"oci:{folder}:meteo:v1"))["artifactType"]
    )


def test_an_image_goes_through_debian_s_registry_with_its_signature(image, theirs):
    agents("image", "push", "meteo:v1", f"{theirs}/me/meteo:v1")
    pulled = agents("image", "pull", f"{theirs}/me/meteo:v1")

    assert (image, "new") == (pulled["digest"], pulled["verdict"])
    assert "pinned" == agents("image", "verify", f"{theirs}/me/meteo:v1")["verdict"]
