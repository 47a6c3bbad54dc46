"""The OCI distribution API, as clients of it see it."""

import hashlib
import json

import pytest
from starlette.testclient import TestClient

from oulipoly_engine.core.images import manifest as parts
from oulipoly_engine.registry.served import ServedRegistry
from oulipoly_engine.web.registry.app import RegistryApp

DATA = b"a content of a layer"


def digest(data, algorithm="sha256"):
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


@pytest.fixture
def client(tmp_path):
    return TestClient(RegistryApp(ServedRegistry(tmp_path / "registry")), base_url="http://127.0.0.1:5527")


def upload(client, data=DATA, repository="a/b"):
    assert 201 == client.post(f"/v2/{repository}/blobs/uploads/?digest={digest(data)}", content=data).status_code
    return parts.describe(data, "application/octet-stream")


def put(client, target="v1", *, repository="a/b", media_type=parts.MANIFEST, **fields):
    config = upload(client, b"{}", repository)
    # Byte for byte: with blanks, and with fields that nobody knows.
    data = b" \n" + parts.encode(parts.Manifest(2, media_type, config=config, **fields))[:-1] + b',"x.y":[1, 2]}'
    answer = client.put(f"/v2/{repository}/manifests/{target}", content=data, headers={"content-type": media_type})
    return data, answer


def codes(answer):
    return answer.status_code, answer.json()["errors"][0]["code"]


def test_the_base_says_that_the_api_is_there(client):
    assert (200, "registry/2.0") == (
        *((answer := client.get("/v2/")).status_code, answer.headers["docker-distribution-api-version"]),
    )


def test_a_content_comes_back_as_it_came_whole_and_in_ranges(client):
    at = f"/v2/a/b/blobs/{upload(client).digest}"

    assert (DATA, digest(DATA)) == ((answer := client.get(at)).content, answer.headers["docker-content-digest"])
    assert (b"", str(len(DATA))) == ((answer := client.head(at)).content, answer.headers["content-length"])
    for text, expected in (("bytes=2-8", DATA[2:9]), ("bytes=15-", DATA[15:]), ("bytes=-3", DATA[-3:])):
        answer = client.get(at, headers={"range": text})
        assert (206, expected) == (answer.status_code, answer.content)
    assert 416 == client.get(at, headers={"range": "bytes=999-"}).status_code


def test_an_upload_in_pieces_goes_on_where_it_ends_and_nowhere_else(client):
    place = client.post("/v2/a/b/blobs/uploads/").headers["location"]
    first = client.patch(place, content=DATA[:5], headers={"content-range": "0-4"})
    wrong = client.patch(place, content=DATA[:5], headers={"content-range": "9-13"})
    state = client.get(place)
    last = client.put(
        f"{place}?digest={digest(DATA)}", content=DATA[5:], headers={"content-range": f"5-{len(DATA) - 1}"}
    )

    assert (202, "0-4", 416) == (first.status_code, first.headers["range"], wrong.status_code)
    assert (204, "0-4", 201) == (state.status_code, state.headers["range"], last.status_code)
    assert DATA == client.get(last.headers["location"]).content
    assert (404, "BLOB_UPLOAD_UNKNOWN") == codes(client.get(place))


def test_an_upload_of_another_content_is_refused_and_one_can_be_given_up(client, tmp_path):
    answer = client.post(f"/v2/a/b/blobs/uploads/?digest={digest(b'other')}", content=DATA)
    place = client.post("/v2/a/b/blobs/uploads/").headers["location"]

    assert (400, "DIGEST_INVALID") == codes(answer)
    assert 204 == client.delete(place).status_code
    assert [] == list((tmp_path / "registry/blobs/sha256").iterdir())


def test_sha512_and_empty_contents_and_mounts_are_there(client):
    wanted = digest(DATA, "sha512")
    place = client.post("/v2/a/b/blobs/uploads/?digest-algorithm=sha512").headers["location"]

    assert 201 == client.put(f"{place}?digest={wanted}", content=DATA).status_code
    assert DATA == client.get(f"/v2/a/b/blobs/{wanted}").content
    assert b"" == client.get(f"/v2/a/b/blobs/{upload(client, b'').digest}").content
    assert 201 == client.post(f"/v2/c/blobs/uploads/?mount={wanted}&from=a/b").status_code
    assert 202 == client.post(f"/v2/c/blobs/uploads/?mount={digest(b'none')}&from=a/b").status_code


def test_a_manifest_is_kept_byte_for_byte_under_its_tag_and_its_digest(client):
    data, answer = put(client)

    assert (201, digest(data)) == (answer.status_code, answer.headers["docker-content-digest"])
    for target in ("v1", digest(data)):
        got = client.get(f"/v2/a/b/manifests/{target}")
        assert (data, parts.MANIFEST) == (got.content, got.headers["content-type"])
    assert (404, "MANIFEST_UNKNOWN") == codes(client.get("/v2/other/manifests/v1"))
    several, answer = put(client, f"{digest(data)}?tag=v2&tag=v3")
    assert (several, "v2, v3") == (data, answer.headers["oci-tag"])


@pytest.mark.parametrize(
    ("target", "data", "media_type", "expected"),
    [
        (digest(b"other"), None, parts.MANIFEST, (400, "DIGEST_INVALID")),
        ("v1", None, parts.INDEX, (400, "MANIFEST_INVALID")),
        ("v1", b"{", parts.MANIFEST, (400, "MANIFEST_INVALID")),
        ("v1", b" " * (parts.LONGEST_MANIFEST + 1), parts.MANIFEST, (413, "SIZE_INVALID")),
        ("-v", None, parts.MANIFEST, (400, "TAG_INVALID")),
        (
            "v1",
            parts.encode(parts.Manifest(2, config=parts.describe(b"gone", "x"))),
            parts.MANIFEST,
            (400, "MANIFEST_BLOB_UNKNOWN"),
        ),
    ],
)
def test_a_manifest_that_is_not_what_it_says_is_refused(client, target, data, media_type, expected):
    data = data or put(client, "first")[0]
    answer = client.put(f"/v2/a/b/manifests/{target}", content=data, headers={"content-type": media_type})

    assert expected == codes(answer)


def test_tags_come_in_order_and_in_pages(client):
    for tag in ("v2", "latest", "v1"):
        put(client, tag)
    first = client.get("/v2/a/b/tags/list?n=2")

    assert {"name": "a/b", "tags": ["latest", "v1", "v2"]} == client.get("/v2/a/b/tags/list").json()
    assert (["latest", "v1"], '</v2/a/b/tags/list?n=2&last=v1>; rel="next"') == (
        *(first.json()["tags"], first.headers["link"]),
    )
    assert ["v2"] == client.get("/v2/a/b/tags/list?n=2&last=v1").json()["tags"]
    assert ([], False) == ((answer := client.get("/v2/a/b/tags/list?n=0")).json()["tags"], "link" in answer.headers)
    assert (404, "NAME_UNKNOWN") == codes(client.get("/v2/nobody/tags/list"))
    assert (400, "PAGINATION_NUMBER_INVALID") == codes(client.get("/v2/a/b/tags/list?n=x"))


def test_what_is_about_a_manifest_is_listed_by_kind_also_before_it_is_there(client):
    missing = parts.describe(b"not there yet", parts.MANIFEST)
    for kind in ("k/one", "k/two"):
        data, answer = put(client, kind[2:], artifact_type=kind, subject=missing, annotations={"a": kind})
        assert missing.digest == answer.headers["oci-subject"]
    answer = client.get(f"/v2/a/b/referrers/{missing.digest}?artifactType=k/two")

    assert [(digest(data), "k/two", {"a": "k/two"})] == [
        (each["digest"], each["artifactType"], each["annotations"]) for each in answer.json()["manifests"]
    ]
    assert (parts.INDEX, "artifactType") == (answer.headers["content-type"], answer.headers["oci-filters-applied"])
    assert 2 == len(client.get(f"/v2/a/b/referrers/{missing.digest}").json()["manifests"])
    assert [] == client.get(f"/v2/other/referrers/{digest(b'x')}").json()["manifests"]
    assert (400, "DIGEST_INVALID") == codes(client.get("/v2/a/b/referrers/x"))


def test_what_is_deleted_is_gone_and_what_a_manifest_needs_stays(client):
    data, _ = put(client, "v1")
    put(client, "v2")
    config = f"/v2/a/b/blobs/{digest(b'{}')}"

    assert (405, "UNSUPPORTED") == codes(client.delete(config))
    assert 202 == client.delete("/v2/a/b/manifests/v1").status_code
    assert ["v2"] == client.get("/v2/a/b/tags/list").json()["tags"]
    assert 202 == client.delete(f"/v2/a/b/manifests/{digest(data)}").status_code
    assert (404, "MANIFEST_UNKNOWN") == codes(client.get("/v2/a/b/manifests/v2"))
    assert (202, 404) == (client.delete(config).status_code, client.get(config).status_code)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v2/A/blobs/x", (400, "DIGEST_INVALID")),
        ("/v2/A/manifests/x", (400, "NAME_INVALID")),
        ("/v2/../../etc/passwd/manifests/x", (404, "NAME_UNKNOWN")),
        ("/v2/a%2f..%2fb/manifests/x", (400, "NAME_INVALID")),
        ("/elsewhere", (404, "NAME_UNKNOWN")),
    ],
)
def test_names_that_cannot_be_are_refused(client, path, expected):
    assert expected == codes(client.get(path))


def test_a_web_page_is_refused_by_origin_and_by_name(client):
    assert (403, "DENIED") == codes(client.get("/v2/", headers={"origin": "https://evil.example"}))
    assert (403, "DENIED") == codes(client.get("/v2/", headers={"host": "evil.example:5527"}))
    assert 200 == client.get("/v2/", headers={"host": "localhost:5527"}).status_code


def test_the_folder_is_an_oci_image_layout(client, tmp_path):
    put(client)
    index = json.loads((tmp_path / "registry/index.json").read_bytes())

    assert ["a/b:v1"] == [each["annotations"]["org.opencontainers.image.ref.name"] for each in index["manifests"]]
    assert {"imageLayoutVersion": "1.0.0"} == json.loads((tmp_path / "registry/oci-layout").read_bytes())


def test_what_a_killed_server_has_left_is_gone_once_the_next_one_starts(client, tmp_path):
    client.patch(client.post("/v2/a/b/blobs/uploads/").headers["location"], content=DATA)
    folder = tmp_path / "registry/blobs/sha256"
    (folder / "unfinished-of-one-killed").write_bytes(b"half")
    ServedRegistry(tmp_path / "registry")

    assert 1 == len(list(folder.iterdir()))  # the one that is under way
