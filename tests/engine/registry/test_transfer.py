"""Push to a registry and pull from it, over a socket, also where the registry fails or lies."""

import threading

import pytest

from oulipoly_engine.core.images import manifest as parts
from oulipoly_engine.core.images.credentials import Credentials
from oulipoly_engine.core.images.provenance import PROVENANCE_KIND
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused, RegistryFailed
from oulipoly_engine.core.images.signature import SIGNATURE_KIND
from oulipoly_engine.records import replace
from oulipoly_engine.registry import transfer
from oulipoly_engine.registry.remote import Remote
from oulipoly_engine.registry.served import ServedRegistry
from oulipoly_engine.service.images.build import build
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.images.tool_build import ToolSource, build_tool
from oulipoly_engine.web.registry import serve
from oulipoly_engine.web.registry.app import RegistryApp

AGENTFILE = "FROM scratch\nNAME meteo\nENV A=b\nCONTEXT K file://k.md\nADD cities.json\n"


class Faulty:
    """A registry that answers as a test wants: by `METHOD /path part`, answers that come before its own."""

    def __init__(self, folder):
        self.app = RegistryApp(ServedRegistry(folder))
        self.faults = []  # (method, part of the path, status, headers, body, bytes that it claims)
        self.asked = []

    async def __call__(self, scope, receive, send):
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        self.asked.append((scope["method"], scope["path"], headers.get("authorization", "")))
        for fault in self.faults:
            method, part, status, answer, body = fault
            if scope["method"] == method and part in scope["path"]:
                self.faults.remove(fault)
                while (await receive()).get("more_body"):  # what is sent and not read would take the answer away
                    pass
                raw = [(key.encode(), value.encode()) for key, value in answer.items()]
                await send({"type": "http.response.start", "status": status, "headers": raw})
                await send({"type": "http.response.body", "body": body})
                return
        await self.app(scope, receive, send)

    def fail(self, method, part, status, *, body=b"", times=1, **headers):
        answer = {key.replace("_", "-"): value for key, value in headers.items()}
        self.faults += [(method, part, status, answer, body)] * times


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A served registry; its app is exchanged by `registry`."""
    listener = serve.listen("127.0.0.1", 0)
    faulty = Faulty(tmp_path_factory.mktemp("registry"))
    running = serve.make_server(faulty)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    yield faulty, f"127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def registry(server, tmp_path):
    faulty, address = server
    faulty.__init__(tmp_path / "registry")
    return faulty, address


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "Agentfile").write_text(AGENTFILE)
    (folder / "k.md").write_text("know")
    (folder / "cities.json").write_text("[]")
    images = Images(tmp_path / "images")
    build(images, folder, ())
    return images


@pytest.fixture
def remote(registry):
    return Remote(registry[1], "me/meteo", lambda _: Credentials("me", "secret"), wait=lambda _: None)


def push(images, remote):
    entry = images.resolve("meteo")[1]
    transfer.push(remote, entry, "v1", images.layout)
    return entry


def pull(remote, images, text="meteo:v1"):
    reference = parse_reference(text)
    transfer.settle_pulled(transfer.pull(remote, reference, images.layout, SIGNATURE_KIND), reference, images.layout)
    return images.load(text)


def test_what_was_pushed_is_pulled_with_the_same_digest_and_contents(images, remote, registry, tmp_path):
    entry = push(images, remote)
    image = pull(remote, other := Images(tmp_path / "other"))

    assert (entry.digest, images.load("meteo").agentfile) == (image.entry.digest, image.agentfile)
    assert (b"know", b"[]") == tuple(other.read_layer(image.layers[key]) for key in ("context K", "add cities.json"))
    assert [PROVENANCE_KIND] == [about.kind for _, about in other.layout.referrers(entry.digest)]
    registry[0].asked.clear()
    push(images, remote)
    assert {"HEAD", "PUT"} == {method for method, *_ in registry[0].asked}  # what is there is not sent again


def test_of_an_index_the_part_for_one_platform_is_taken_and_it_is_handed_on_whole(images, remote, tmp_path):
    (tmp_path / "jq").write_text("#!/bin/sh\n")
    children = []
    for platform in ("linux/amd64", "linux/arm64"):
        entry = build_tool(images, ToolSource("jq", tmp_path / "jq", platform), (parse_reference("jq"),))
        children += images.manifest(entry).manifests
    data = parts.encode(parts.Manifest(2, parts.INDEX, parts.BIN_KIND, manifests=tuple(children)))
    images.put(parts.Image(entry := parts.describe(data, parts.INDEX), data, {}), parse_reference("jq"))
    transfer.push(remote, entry, "jq", images.layout)
    other = Images(tmp_path / "other")

    def take(platform):
        reference = parse_reference("me/meteo:jq")
        transfer.settle_pulled(
            transfer.pull(remote, reference, other.layout, SIGNATURE_KIND, platform), reference, other.layout
        )
        return [other.layout.has(child.digest) for child in children]

    with pytest.raises(ImageRefused, match="nothing for plan9/mips, but for linux/amd64, linux/arm64"):
        take("plan9/mips")
    assert [False, True] == take("linux/arm64")
    with pytest.raises(ImageRefused, match="its parts for linux/amd64 are not here: pull it with `--platform all`"):
        other.export("me/meteo:jq")
    assert [True, True] == take("all")
    assert entry.digest.encode() in other.export("me/meteo:jq")


def test_an_attempt_is_made_again_for_5xx_and_never_for_4xx(images, remote, registry):
    registry[0].fail("POST", "/blobs/uploads", 503, times=2)
    push(images, remote)
    posts = [each for each in registry[0].asked if each[0] == "POST"]
    registry[0].asked.clear()
    registry[0].fail("PUT", "/manifests/", 400, body=b'{"errors":[{"code":"X","message":"no"}]}')

    with pytest.raises(RegistryFailed, match=r"refuses PUT \(400\): X no"):
        push(images, remote)
    assert 1 == len([each for each in registry[0].asked if each[0] == "PUT"])
    assert 7 + 2 - 1 == len(posts)  # 4 contents that differ, and the config; of the statement both


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "docker login"), (403, "docker login"), (429, "try again after 7"), (404, "nothing at")],
)
def test_an_answer_of_4xx_is_told_as_it_is(remote, registry, status, message):
    registry[0].fail("GET", "/manifests/", status, times=9, retry_after="7")

    with pytest.raises((RegistryFailed, ImageNotFound), match=message):
        remote.manifest("v1")
    assert 1 == len(registry[0].asked)


def test_a_registry_that_asks_for_a_token_gets_the_login_where_it_says_and_the_token(images, remote, registry):
    realm = f"http://{registry[1]}/token"
    challenge = f'Bearer realm="{realm}",service="s",scope="repository:me/meteo:pull,push"'
    registry[0].fail("HEAD", "/blobs/", 401, www_authenticate=challenge)
    registry[0].fail("GET", "/token", 200, body=b'{"token":"abc"}')
    push(images, remote)
    token = next(each for each in registry[0].asked if each[1] == "/token")

    assert Credentials("me", "secret").basic == token[2]
    assert {"", "Bearer abc"} == {shown for _, path, shown in registry[0].asked if path != "/token"}
    other = Remote(registry[1], "x", lambda _: Credentials("me", "secret"), wait=lambda _: None)
    registry[0].fail("GET", "/manifests/", 401, www_authenticate='Bearer realm="http://evil.example/"')
    with pytest.raises(RegistryFailed, match="not safe"):
        other.manifest("v1")


@pytest.mark.parametrize(
    ("status", "body"),
    [(404, b""), (200, b"<html>"), (200, b'{"token":"a\\r\\nX-Evil: 1"}')],
    ids=["no", "page", "lines"],
)
def test_an_answer_without_a_token_is_told_and_is_not_taken_for_an_image_that_is_missing(
    remote, registry, status, body
):
    registry[0].fail("GET", "/manifests/", 401, www_authenticate=f'Bearer realm="http://{registry[1]}/token"')
    registry[0].fail("GET", "/token", status, body=body)

    with pytest.raises(RegistryFailed, match="gives no token"):
        remote.manifest("v1")


def test_a_login_does_not_go_along_to_where_a_registry_leads(images, remote, registry, tmp_path):
    push(images, remote)
    elsewhere = f"http://{registry[1].replace('127.0.0.1', 'localhost')}"
    digest = images.load("meteo").layers["context K"].digest
    registry[0].fail("GET", "/manifests/", 401, www_authenticate="Basic realm=x")
    registry[0].fail("GET", digest, 307, location=f"{elsewhere}/v2/me/meteo/blobs/{digest}")
    registry[0].asked.clear()
    pull(remote, Images(tmp_path / "other"))

    basic = Credentials("me", "secret").basic
    assert [basic, ""] == [shown for _, path, shown in registry[0].asked if digest in path]
    registry[0].fail("HEAD", digest, 307, location=f"{elsewhere}/v2/me/meteo/blobs/{digest}")
    assert remote.has_blob(digest)
    assert ["HEAD", "HEAD"] == [method for method, *_ in registry[0].asked[-2:]]
    registry[0].fail("GET", "/manifests/", 302, location="ftp://127.0.0.1/x")
    with pytest.raises(RegistryFailed, match="which is not http"):
        remote.manifest("v1")


def test_a_signature_that_is_listed_and_not_there_is_none(images, remote, registry, tmp_path):
    push(images, remote)
    listed = replace(parts.describe(b"gone", parts.MANIFEST), artifact_type=SIGNATURE_KIND)
    index = parts.encode(parts.Manifest(2, parts.INDEX, manifests=(listed,)))
    registry[0].fail("GET", "/referrers/", 200, body=index)

    assert (
        ()
        == transfer.pull(remote, parse_reference("meteo:v1"), Images(tmp_path / "x").layout, SIGNATURE_KIND).signatures
    )


def test_a_body_that_breaks_off_is_asked_for_again(images, remote, registry, tmp_path):
    push(images, remote)
    layer = images.load("meteo").layers["context K"]
    registry[0].fail("GET", layer.digest, 200, body=b"kn", content_length="4")
    registry[0].fail("GET", "/manifests/v1", 200, body=b"{", content_length="400")

    assert "meteo" == pull(remote, Images(tmp_path / "other")).agentfile.agent.name


@pytest.mark.parametrize(
    ("part", "body", "message"),
    [
        ("/blobs/", b"KNOW", "in place of sha256"),
        ("/blobs/", b"know and more", "more than the 4 bytes"),
        ("/blobs/", b"kn", "has 2 bytes, not the 4"),
        ("/manifests/v1", b" " * (parts.LONGEST_MANIFEST + 1), "more than 4 MB"),
        ("/manifests/v1", b"{}", "cannot be read"),
    ],
)
def test_a_registry_that_lies_is_refused_and_nothing_counts(images, remote, registry, tmp_path, part, body, message):
    push(images, remote)
    layer = images.load("meteo").layers["context K"]
    fault = f"{part}{layer.digest}" if part == "/blobs/" else part
    registry[0].fail("GET", fault, 200, body=body, content_length=str(len(body)))
    other = Images(tmp_path / "other")

    with pytest.raises(ImageRefused, match=message):
        pull(remote, other)
    assert () == other.list()
    assert [] == [path.name for path in other.layout.folder.rglob("unfinished*")]


def test_a_digest_that_was_asked_for_counts_more_than_what_the_registry_says(images, remote, registry, tmp_path):
    entry = push(images, remote)
    wanted = parts.digest_of(b"another")
    data = images.layout.read(entry.digest, entry.size)
    registry[0].fail("GET", "/manifests/sha256", 200, body=data, content_type=parts.MANIFEST)

    with pytest.raises(ImageRefused, match="which was asked for"):
        pull(remote, Images(tmp_path / "other"), f"meteo:v1@{wanted}")


def test_a_registry_that_does_not_answer_is_told_once_the_time_is_over(registry):
    registry[0].fail("GET", "/manifests/", 503)
    remote = Remote(registry[1], "x", lambda _: Credentials(), patience_s=0)

    with pytest.raises(RegistryFailed, match="does not answer as it should"):
        remote.manifest("v1")


def test_a_registry_of_this_computer_that_nobody_serves_is_told_at_once():
    waits = []
    remote = Remote("127.0.0.1:1", "x", lambda _: Credentials(), wait=waits.append)

    with pytest.raises(RegistryFailed, match="`agents registry serve`"):
        remote.manifest("v1")
    assert [] == waits
