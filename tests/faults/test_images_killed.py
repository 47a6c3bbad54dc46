"""Images whose pull, import or removal is killed: what is listed is whole, and the same again ends the work.

A push changes nothing here; what a killed one leaves at the registry goes when that starts (`test_served`).
"""

import threading

import pytest

from oulipoly_engine.registry.served import ServedRegistry
from oulipoly_engine.service.images.build import build
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.web.registry import serve
from oulipoly_engine.web.registry.app import RegistryApp

AGENTFILE = "FROM scratch\nNAME meteo\nCONTEXT K file://k.md\nADD cities.json\n"


@pytest.fixture
def registry(tmp_path):
    """The address of a registry."""
    listener = serve.listen("127.0.0.1", 0)
    running = serve.make_server(RegistryApp(ServedRegistry(tmp_path / "served")))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "Agentfile").write_text(AGENTFILE)
    (folder / "k.md").write_text("know\n" * 1000)
    (folder / "cities.json").write_text("[]")
    return folder


def read_whole(images):
    """Return the digests by tags, each content of which was read and checked."""
    digests = {}
    for tag, entry in images.layout.tags().items():
        manifest = images.load(tag)
        for descriptor in manifest.manifest.blobs:
            images.layout.read(descriptor.digest, descriptor.size)
        digests[tag] = entry.digest
    return digests


DRILLS = {  # what is killed; whether the tag is there before and after it
    "pull": (("pull", "{registry}/meteo:v1", "--yes"), False, True),
    "import": (("import", "{file}", "-t", "meteo:air"), False, True),
    "rm": (("rm", "meteo:v1", "--yes"), True, False),
}


@pytest.mark.parametrize(
    ("words", "is_there_before", "is_there_after"),
    [pytest.param(*DRILLS[name], id=name, marks=[] if name == "pull" else [pytest.mark.kills]) for name in DRILLS],
)
def test_killed_change_of_images(world, registry, source, kills, tmp_path, words, is_there_before, is_there_after):
    own = Images(world.data / "images")
    file = tmp_path / "meteo.json"
    build(own, source, ("meteo:v1",))
    for command in (("push", "meteo:v1", f"{registry}/meteo:v1"), ("export", "meteo:v1", "-o", str(file))):
        assert 0 == world.run("image", *command).returncode
    (digest,) = set(read_whole(own).values())
    arguments = ["image", *(word.format(registry=registry, file=file) for word in words)]

    def begin():
        own.layout.remove(lambda _: True)
        if is_there_before:
            build(own, source, ("meteo:v1",))
        return arguments

    kills.measure(*begin())
    for moment in kills:
        kills.kill(moment, *begin())
        assert {digest} >= {*read_whole(own).values()}
        again = world.run(*arguments)
        assert again.returncode == 0 or (words[0] == "rm" and not read_whole(own)), again.stderr
        assert is_there_after == bool(read_whole(own))
    assert [] == [path.name for path in own.layout.folder.rglob("unfinished-*")]
