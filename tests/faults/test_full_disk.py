"""A disk that is full while images and agents change: an error says so, nothing is half there, and room mends it.

The disk is a small file system of its own, which takes root to mount: `scripts/test-kills` runs this where it can.
"""

import os
import subprocess
import sys

import pytest

from oulipoly_engine.service.images.images import Images

pytestmark = [pytest.mark.kills, pytest.mark.timeout(300)]
SIZE = 24 << 20
AGENTFILE = "FROM scratch\nNAME meteo\nMODEL demo/x\nADD data.bin\nBIN say example.com/say\n"
RUNTIME = f"""#!{sys.executable} -IS
import socket, sys
host, port = sys.argv[-1].split(":")
server = socket.create_server((host, int(port)))
while True:
    server.accept()
"""
CHANGES = {
    "image build": ("{source}", "-t", "meteo:v2"),
    "image import": ("{file}", "-t", "meteo:air"),
    "image tag": ("meteo:v1", "meteo:again"),
    "agent run": ("{source}", "--name", "other", "--isolation", "none", "--runtime", "{runtime}"),
    "agent exec": ("calm", "say", "hello"),
    "job run": ("calm", "say", "hello"),
    "agent stop": ("calm",),
    "agent start": ("calm",),
    "agent rm": ("other", "--yes"),
}


@pytest.fixture
def disk(world):
    """A way to leave so many bytes of the disk on which the state, the images and the agents of a world lie."""
    world.data.mkdir(parents=True)
    mount = ("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", world.data)
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here: it takes root")
    ballast = world.data / "ballast"

    def leave(size=SIZE):
        ballast.unlink(missing_ok=True)
        disk = os.statvfs(world.data)
        ballast.write_bytes(bytes(max(0, disk.f_bavail * disk.f_frsize - size)))

    yield leave
    ballast.unlink(missing_ok=True)
    world.run("agent", "stop", "calm")
    world.run("agent", "stop", "other")
    subprocess.run(("umount", "-l", world.data), check=True)


@pytest.mark.parametrize("room", [0, 60 << 10, 700 << 10, 2100 << 10])
def test_change_on_a_full_disk_says_so_and_goes_on_once_there_is_room(world, disk, tmp_path, room):
    source = tmp_path / "meteo"
    source.mkdir()
    (source / "Agentfile").write_text(AGENTFILE)
    (source / "data.bin").write_bytes(os.urandom(2 << 20))
    tool, runtime, file = tmp_path / "say.sh", tmp_path / "runtime.py", tmp_path / "meteo.json"
    tool.write_text('#!/bin/sh\necho "$1"\n')
    runtime.write_text(RUNTIME)
    run = ("agent", "run", str(source), "--name", "calm", "--isolation", "none", "--runtime", str(runtime))
    for words in (
        ("image", "build", str(source), "-t", "meteo:v1"),
        ("image", "export", "meteo:v1", "-o", str(file)),
        (*run, "--tool", f"say={tool}"),
    ):
        assert world.run(*words).returncode == 0

    for command, words in CHANGES.items():
        disk(room)
        done = world.run(*command.split(), *(word.format(source=source, file=file, runtime=runtime) for word in words))
        said = done.stderr.decode()
        assert done.returncode in (0, 1), (command, said)
        assert "Traceback" not in said
        is_about_others = "there is no agent 'other'" in said or "already running" in said
        assert done.returncode == 0 or is_about_others or "free some space" in said or "make room" in said, said
        assert command != "agent stop" or done.returncode == 0 or "runs nothing any more" in said
        listed = world.run("agent", "ps")
        assert listed.returncode == 0, listed.stderr

    disk()
    images = Images(world.data / "images")
    for tag in images.layout.tags():
        for blob in images.load(tag).manifest.blobs:
            images.layout.read(blob.digest, blob.size)
    world.run("agent", "stop", "calm")
    assert [0, 0, 0] == [
        world.run(*words).returncode
        for words in (
            ("agent", "start", "calm"),
            ("agent", "exec", "calm", "say", "x"),
            ("image", "build", str(source)),
        )
    ]
    assert [] == list(world.data.rglob("unfinished-*"))
