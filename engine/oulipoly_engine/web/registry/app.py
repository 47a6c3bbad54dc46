"""The OCI distribution API over a registry: https://github.com/opencontainers/distribution-spec, version 1.1.

Bodies go block by block from the socket to the disk and back; threads do what blocks. Requests that a web page has
made are refused: nobody else on this computer asks who comes from 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from urllib.parse import quote

from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from oulipoly_engine.core.images.manifest import INDEX, LONGEST_MANIFEST, Manifest, encode
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.images.registry import RegistryRefused, ServedRegistry, Upload, read_range

_Handler = Callable[["RegistryApp", Request, str, str], Awaitable[Response | None]]
_BLOCK = 1 << 20  # bytes that are handed to the disk at once
_VERSION = {"Docker-Distribution-API-Version": "registry/2.0"}
_MOST_LISTED = 10_000  # tags of one answer
_ROUTES = (
    ("uploads", re.compile(r"/v2/(.+)/blobs/uploads/?([^/]*)")),
    ("blobs", re.compile(r"/v2/(.+)/blobs/([^/]+)")),
    ("manifests", re.compile(r"/v2/(.+)/manifests/([^/]+)")),
    ("tags", re.compile(r"/v2/(.+)/tags/(list)")),
    ("referrers", re.compile(r"/v2/(.+)/referrers/([^/]+)")),
    ("catalog", re.compile(r"/v2/()(_catalog)")),
    ("base", re.compile(r"/v2()/?()")),
)


class RegistryApp:
    """The ASGI application."""

    def __init__(self, registry: ServedRegistry, names: Iterable[str] = ()) -> None:
        """names: of this computer, by which it may be asked; addresses may always be."""
        self._registry = registry
        self._names = {"localhost", *names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive, send)
        try:
            response = await self._answer(request)
        except RegistryRefused as error:
            response = _refuse(error)
        except RunnerError as error:
            response = _refuse(RegistryRefused(500, "UNKNOWN", error.message))
        except OSError as error:
            response = _refuse(RegistryRefused(500, "UNKNOWN", f"the disk refuses: {error.strerror or error}"))
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response | None:
        self._check_origin(request)
        for name, pattern in _ROUTES:
            match = pattern.fullmatch(request.url.path)
            if match is not None:
                handler = _HANDLERS.get((name, request.method))
                if handler is None:
                    raise RegistryRefused(405, "UNSUPPORTED", f"{request.method} is not there for {name}")
                return await handler(self, request, match[1], match[2])
        raise RegistryRefused(404, "NAME_UNKNOWN", f"there is nothing at {request.url.path[:200]}")

    def _check_origin(self, request: Request) -> None:
        """Refuse what a web page asks, under whatever name its server gave this computer."""
        host = (request.url.hostname or "").strip("[]").lower()
        if "origin" in request.headers or not (host in self._names or _is_address(host)):
            raise RegistryRefused(403, "DENIED", "web pages, and other names of this computer, are not served")

    async def _base(self, _request: Request, _name: str, _target: str) -> Response:
        return _json({})

    async def _catalog(self, request: Request, _name: str, _target: str) -> Response:
        names = await run_sync(self._registry.repositories)
        return _page(request, "repositories", names, {})

    async def _tags(self, request: Request, name: str, _target: str) -> Response:
        tags = await run_sync(self._registry.tags, name)
        return _page(request, "tags", tags, {"name": name})

    async def _referrers(self, request: Request, name: str, digest: str) -> Response:
        kind = request.query_params.get("artifactType", "")
        about = await run_sync(lambda: tuple(self._registry.referrers(name, digest, kind)))
        headers = {"OCI-Filters-Applied": "artifactType"} if kind else {}
        # `manifests` stands there also where it is empty.
        body = encode(Manifest(2, INDEX, manifests=about))
        return Response(body, 200, headers | _VERSION, INDEX)

    async def _blob(self, request: Request, _name: str, digest: str) -> Response | None:
        size = await run_sync(self._registry.blob_size, digest)
        begin, length, status = _read_range_header(request.headers.get("range", ""), size)
        headers = {"Docker-Content-Digest": digest, "Content-Length": str(length), "Accept-Ranges": "bytes"} | _VERSION
        if status == 206:
            headers["Content-Range"] = f"bytes {begin}-{begin + length - 1}/{size}"
        if request.method == "HEAD":
            return Response(b"", status, headers, "application/octet-stream")
        headers["Content-Type"] = "application/octet-stream"
        await self._send_blob(request, digest, status, headers, (begin, length))
        return None

    async def _send_blob(
        self, request: Request, digest: str, status: int, headers: Mapping[str, str], place: tuple[int, int]
    ) -> None:
        send = request._send
        raw = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
        file = await run_sync(self._registry.open_blob, digest)
        with file:
            await send({"type": "http.response.start", "status": status, "headers": raw})
            blocks = read_range(file, *place)
            while block := await run_sync(lambda: next(blocks, b"")):
                await send({"type": "http.response.body", "body": block, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _remove_blob(self, _request: Request, _name: str, digest: str) -> Response:
        await run_sync(self._registry.remove_blob, digest)
        return Response(b"", 202, _VERSION)

    async def _begin(self, request: Request, name: str, target: str) -> Response:
        if target:
            raise RegistryRefused(405, "UNSUPPORTED", "an upload goes on by PATCH or PUT")
        mounted = request.query_params.get("mount", "")
        if mounted:
            is_there = await run_sync(self._registry.has_blob, mounted)
            if is_there:
                return _created(name, "blobs", mounted)
        upload = await run_sync(self._registry.begin_upload, name)
        digest = request.query_params.get("digest", "")
        if not digest:
            return _state(upload, 202)
        return await self._finish(request, upload, digest)

    async def _status(self, _request: Request, name: str, upload_id: str) -> Response:
        return _state(self._registry.upload(name, upload_id), 204)

    async def _append(self, request: Request, name: str, upload_id: str) -> Response:
        upload = self._registry.upload(name, upload_id)
        await self._receive(request, upload)
        return _state(upload, 202)

    async def _end(self, request: Request, name: str, upload_id: str) -> Response:
        upload = self._registry.upload(name, upload_id)
        return await self._finish(request, upload, request.query_params.get("digest", ""))

    async def _finish(self, request: Request, upload: Upload, digest: str) -> Response:
        await self._receive(request, upload)
        await run_sync(self._registry.end_upload, upload, digest)
        return _created(upload.repository, "blobs", digest)

    async def _receive(self, request: Request, upload: Upload) -> None:
        """Write the body of a request behind what an upload has. A body that breaks off leaves what came of it."""
        if not upload.busy.acquire(blocking=False):
            raise RegistryRefused(409, "BLOB_UPLOAD_INVALID", "another request writes this upload")
        try:
            _check_place(request.headers.get("content-range", ""), upload.size)
            await self._write_body(request, upload)
        finally:
            upload.busy.release()

    async def _write_body(self, request: Request, upload: Upload) -> None:
        """Write a body; a thread writes and hashes one block while the next one comes."""
        waiting: list[bytes] = []
        size = 0
        writing: asyncio.Future[None] | None = None
        try:
            async for data in request.stream():
                waiting.append(data)
                size += len(data)
                if size >= _BLOCK or (size and not data):
                    if writing is not None:
                        await writing
                    writing = asyncio.ensure_future(run_sync(upload.write, b"".join(waiting)))
                    waiting.clear()
                    size = 0
        finally:
            if writing is not None:
                await writing

    async def _cancel(self, _request: Request, name: str, upload_id: str) -> Response:
        upload = self._registry.upload(name, upload_id)
        await run_sync(self._registry.cancel_upload, upload)
        return Response(b"", 204, _VERSION)

    async def _manifest(self, request: Request, name: str, target: str) -> Response:
        entry, data = await run_sync(self._registry.manifest, name, target)
        headers = {"Docker-Content-Digest": entry.digest, "Content-Length": str(len(data))} | _VERSION
        body = b"" if request.method == "HEAD" else data
        return Response(body, 200, headers, entry.media_type)

    async def _put_manifest(self, request: Request, name: str, target: str) -> Response:
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > LONGEST_MANIFEST:
                raise RegistryRefused(413, "SIZE_INVALID", f"a manifest has at most {LONGEST_MANIFEST} bytes")
        tags = tuple(request.query_params.getlist("tag"))
        media_type = request.headers.get("content-type", "")
        put = partial(self._registry.put_manifest, name, target, bytes(data), media_type, tags)
        entry, manifest = await run_sync(put)
        headers = {"OCI-Tag": ", ".join(tags)} if tags else {}
        if manifest.subject is not None:
            headers["OCI-Subject"] = manifest.subject.digest
        return _created(name, "manifests", entry.digest, headers)

    async def _remove_manifest(self, _request: Request, name: str, target: str) -> Response:
        await run_sync(self._registry.remove_manifest, name, target)
        return Response(b"", 202, _VERSION)


_HANDLERS: Mapping[tuple[str, str], _Handler] = {
    ("base", "GET"): RegistryApp._base,
    ("base", "HEAD"): RegistryApp._base,
    ("catalog", "GET"): RegistryApp._catalog,
    ("tags", "GET"): RegistryApp._tags,
    ("referrers", "GET"): RegistryApp._referrers,
    ("blobs", "GET"): RegistryApp._blob,
    ("blobs", "HEAD"): RegistryApp._blob,
    ("blobs", "DELETE"): RegistryApp._remove_blob,
    ("uploads", "POST"): RegistryApp._begin,
    ("uploads", "GET"): RegistryApp._status,
    ("uploads", "PATCH"): RegistryApp._append,
    ("uploads", "PUT"): RegistryApp._end,
    ("uploads", "DELETE"): RegistryApp._cancel,
    ("manifests", "GET"): RegistryApp._manifest,
    ("manifests", "HEAD"): RegistryApp._manifest,
    ("manifests", "PUT"): RegistryApp._put_manifest,
    ("manifests", "DELETE"): RegistryApp._remove_manifest,
}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _json(document: object, headers: Mapping[str, str] = _VERSION, status: int = 200) -> Response:
    return Response(json.dumps(document).encode(), status, {**headers}, "application/json")


def _refuse(error: RegistryRefused) -> Response:
    document = {"errors": [{"code": error.code, "message": error.message}]}
    return _json(document, status=error.status)


def _created(name: str, kind: str, digest: str, headers: Mapping[str, str] = {}) -> Response:
    place = {"Location": f"/v2/{name}/{kind}/{digest}", "Docker-Content-Digest": digest}
    return Response(b"", 201, {**place, **headers, **_VERSION})


def _state(upload: Upload, status: int) -> Response:
    headers = {
        "Location": f"/v2/{upload.repository}/blobs/uploads/{upload.id}",
        "Range": f"0-{max(upload.size - 1, 0)}",
        "Docker-Upload-UUID": upload.id,
    }
    return Response(b"", status, headers | _VERSION)


def _page(request: Request, key: str, names: list[str], document: Mapping[str, object]) -> Response:
    """Answer with the names behind `last`, at most `n`, and where the next ones are."""
    text = request.query_params.get("n", str(_MOST_LISTED))
    if not text.isdecimal() or len(text) > 9:
        raise RegistryRefused(400, "PAGINATION_NUMBER_INVALID", f"n is {text[:40]!r}, which is not a number")
    limit = min(int(text), _MOST_LISTED)
    last = request.query_params.get("last", "")
    behind = [name for name in names if name > last]
    shown = behind[:limit]
    headers = dict(_VERSION)
    if shown and len(behind) > limit:
        headers["Link"] = f'<{request.url.path}?n={limit}&last={quote(shown[-1], safe="")}>; rel="next"'
    return _json({**document, key: shown}, headers)


def _read_range_header(text: str, size: int) -> tuple[int, int, int]:
    """Return where an answer begins, its bytes and its status, as a Range says; one that we do not read is ignored."""
    match = re.fullmatch(r"bytes=([0-9]{0,18})-([0-9]{0,18})", text)
    if match is None or match[0] == "bytes=-":
        return 0, size, 200
    if match[1]:
        begin = int(match[1])
        end = min(int(match[2]), size - 1) if match[2] else size - 1
    else:
        begin = max(size - int(match[2]), 0)
        end = size - 1
    if begin > end:
        raise RegistryRefused(416, "SIZE_INVALID", f"{text} is outside of {size} bytes")
    return begin, end - begin + 1, 206


def _check_place(text: str, size: int) -> None:
    """Refuse a piece that does not go on where the upload ends."""
    match = re.fullmatch(r"(?:bytes )?([0-9]{1,18})-([0-9]{1,18})(?:/.*)?", text)
    if text and (match is None or int(match[1]) != size):
        raise RegistryRefused(
            416, "BLOB_UPLOAD_INVALID", f"the upload has {size} bytes, and {text[:60]} does not go on there"
        )
