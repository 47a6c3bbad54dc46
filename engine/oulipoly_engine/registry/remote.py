"""One registry over HTTP: the requests of the distribution API, with logins, tries and limits.

Why not the library `oras`: it writes manifests anew, which changes digests, reads bodies as a whole, and tries again
without an end in time; what is left of it would be these lines around it.

An attempt is made again where the network fails or the registry answers 5xx, as long as the first began less than 30 s
ago; its body is made anew each time. 4xx is an answer, and 401 asks for a token once.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

from oulipoly_engine import stopping
from oulipoly_engine.blobs.blobs import BLOCK
from oulipoly_engine.core.images.credentials import Credentials
from oulipoly_engine.core.images.manifest import DOCKER_MANIFESTS, INDEX, LONGEST_MANIFEST, MANIFEST, Descriptor
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused, RegistryFailed

T = TypeVar("T")
RETRYING_S = 30.0
_SOCKET_PATIENCE_S = 30.0
_FIRST_PAUSE_S = 0.5
_LONGEST_TOKEN = 1 << 20  # bytes of a token's answer
_HUB = "registry-1.docker.io"  # where docker.io answers
_ACCEPT = ", ".join((MANIFEST, INDEX, *DOCKER_MANIFESTS))
_CHALLENGE = re.compile(r'([a-z_]+)="([^"]*)"')
_TRANSPORT = (OSError, http.client.HTTPException)  # URLError is an OSError


class _Passing(Exception):
    """An attempt failed in a way that another one may not."""


class Remote:
    """One repository of one registry. Every method blocks and raises RegistryFailed."""

    def __init__(
        self,
        registry: str,
        repository: str,
        find_login: Callable[[str], Credentials],
        wait: Callable[[float], None] | None = None,
        patience_s: float = RETRYING_S,
    ) -> None:
        """find_login: called where the registry asks who we are. wait: seconds between two attempts.

        patience_s: from the first attempt to the beginning of the last.
        """
        self._patience_s = patience_s
        self._registry = registry
        self._repository = repository
        is_own = is_loopback(registry)
        host = _HUB if registry == "docker.io" else registry
        is_official = host == _HUB and "/" not in repository
        name = f"library/{repository}" if is_official else repository
        self._base = f"{'http' if is_own else 'https'}://{host}/v2/{quote(name)}/"
        self._find_login = find_login
        self._wait = wait or _wait
        self._authorization = ""
        connection = partial(http.client.HTTPConnection, blocksize=BLOCK)
        secure = partial(http.client.HTTPSConnection, blocksize=BLOCK)
        self._opener = urllib.request.build_opener(_Http(connection), _Https(secure))
        if is_own:
            self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Http(connection))

    def manifest(self, target: str) -> tuple[Descriptor, bytes]:
        """Return a manifest by its tag or digest, as the registry has it, unchecked. Raises ImageNotFound."""

        def get() -> tuple[Descriptor, bytes]:
            with self._send("GET", f"manifests/{target}", {"Accept": _ACCEPT}) as answer:
                data = answer.read(LONGEST_MANIFEST + 1)
                if len(data) > LONGEST_MANIFEST:
                    raise ImageRefused(f"{self._registry} gives a manifest of more than {LONGEST_MANIFEST >> 20} MB")
                media_type = (answer.headers.get("Content-Type") or MANIFEST).partition(";")[0].strip()
                return Descriptor(media_type, answer.headers.get("Docker-Content-Digest") or "", len(data)), data

        return self._try(get)

    def blob(self, descriptor: Descriptor, take: Callable[[Iterator[bytes]], T]) -> T:
        """Have a content taken, block by block; each attempt calls `take` anew with the blocks from the first on."""

        def get() -> T:
            with self._send("GET", f"blobs/{descriptor.digest}") as answer:
                return take(_read_blocks(answer, descriptor.size))

        return self._try(get)

    def has_blob(self, digest: str) -> bool:
        """Tell whether the registry has a content."""

        def head() -> bool:
            try:
                with self._send("HEAD", f"blobs/{digest}"):
                    return True
            except ImageNotFound:
                return False

        return self._try(head)

    def put_blob(self, descriptor: Descriptor, open_blocks: Callable[[], Iterable[bytes]]) -> None:
        """Upload a content. open_blocks: gives its blocks, for each attempt anew."""

        def put() -> None:
            with self._send("POST", "blobs/uploads/", {"Content-Length": "0"}, b"") as answer:
                place = answer.headers.get("Location") or ""
            joint = "&" if urlsplit(place).query else "?"
            url = f"{urljoin(self._base, place)}{joint}{urlencode({'digest': descriptor.digest})}"
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(descriptor.size)}
            with self._send("PUT", url, headers, open_blocks()):
                pass

        self._try(put)

    def put_manifest(self, target: str, descriptor: Descriptor, data: bytes) -> bool:
        """Upload a manifest, byte for byte, under a tag or its digest; return whether the registry keeps referrers.

        Raises ImageRefused where it has stored something else.
        """

        def put() -> tuple[str, bool]:
            headers = {"Content-Type": descriptor.media_type, "Content-Length": str(len(data))}
            with self._send("PUT", f"manifests/{target}", headers, data) as answer:
                return answer.headers.get("Docker-Content-Digest") or "", "OCI-Subject" in answer.headers

        digest, keeps_referrers = self._try(put)
        if digest not in ("", descriptor.digest):
            raise ImageRefused(f"{self._registry} has stored {digest} in place of {descriptor.digest}")
        return keeps_referrers

    def referrers(self, digest: str) -> bytes:
        """Return the index of what is about a manifest, by the API or by its tag; empty where there is nothing."""

        def get(path: str) -> bytes:
            try:
                with self._send("GET", path, {"Accept": INDEX}) as answer:
                    data: bytes = answer.read(LONGEST_MANIFEST + 1)
                    return data
            except ImageNotFound:
                return b""

        return self._try(lambda: get(f"referrers/{digest}") or get(f"manifests/{digest.replace(':', '-')}"))

    def _try(self, attempt: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._patience_s
        pause = _FIRST_PAUSE_S
        while True:
            stopping.check()
            try:
                return attempt()
            except _Passing as error:
                if time.monotonic() + pause > deadline:
                    message = f"{self._registry} does not answer as it should: {error}: try later"
                    raise RegistryFailed(message) from error
            self._wait(pause)
            pause *= 2

    @contextmanager
    def _send(
        self, method: str, path: str, headers: Mapping[str, str] = {}, body: bytes | Iterable[bytes] | None = None
    ) -> Iterator[Any]:
        """Send one request and give its answer for the block. Raises _Passing, ImageNotFound, RegistryFailed."""
        url = urljoin(self._base, path)
        try:
            with self._open(method, url, headers, body) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            with error:
                raise self._describe(error, method, url) from error
        except ssl.SSLCertVerificationError as error:
            raise RegistryFailed(f"{self._registry} has no valid certificate: {error.verify_message}") from error
        except _TRANSPORT as error:
            if isinstance(error, OSError) and error.filename is not None:  # of the disk, where it is written to
                raise
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise RegistryFailed(f"{self._registry} has no valid certificate: {reason.verify_message}") from error
            if isinstance(reason, ConnectionRefusedError) and is_loopback(self._registry):
                way = "`agents registry serve` starts the registry of this computer"
                raise RegistryFailed(f"nothing listens at {self._registry}: {way}") from error
            raise _Passing(getattr(reason, "strerror", None) or str(reason) or type(reason).__name__) from error

    def _open(self, method: str, url: str, headers: Mapping[str, str], body: bytes | Iterable[bytes] | None) -> Any:  # noqa: ANN401 - urllib's answer
        try:
            return self._opener.open(self._request(method, url, headers, body), timeout=_SOCKET_PATIENCE_S)
        except urllib.error.HTTPError as error:
            if error.code != 401 or urlsplit(url).netloc != urlsplit(self._base).netloc:
                raise
            # Also with a token: it may be too old, or for reading alone.
            self._authorization = self._log_in(error.headers.get("WWW-Authenticate") or "")
            if not self._authorization:
                raise
            error.close()
            if body is not None and not isinstance(body, bytes):  # it is used up
                raise _Passing("the registry asked who we are behind the beginning") from error
        return self._opener.open(self._request(method, url, headers, body), timeout=_SOCKET_PATIENCE_S)

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | Iterable[bytes] | None
    ) -> urllib.request.Request:
        if urlsplit(url).scheme not in ("http", "https"):
            raise RegistryFailed(f"{self._registry} leads to {url[:80]}, which is not an address of http or https")
        request = urllib.request.Request(url, body, dict(headers), method=method)  # noqa: S310 - checked above
        if self._authorization and urlsplit(url).netloc == urlsplit(self._base).netloc:
            request.add_unredirected_header("Authorization", self._authorization)  # not to where blobs may lie
        return request

    def _log_in(self, challenge: str) -> str:
        """Return the value of an Authorization header, as a challenge asks for it; empty: there is no login."""
        kind, _, rest = challenge.partition(" ")
        login = self._find_login(self._registry)
        if kind.lower() == "basic":
            return "" if login.is_empty else login.basic
        if kind.lower() != "bearer":
            return ""
        parameters = dict(_CHALLENGE.findall(rest))
        realm = parameters.get("realm", "")
        place = urlsplit(realm)
        if place.scheme != "https" and not (place.scheme == "http" and is_loopback(place.netloc)):
            raise RegistryFailed(f"{self._registry} wants the login sent to {realm[:80]!r}, which is not safe")
        scope = parameters.get("scope") or f"repository:{self._repository}:pull,push"
        return f"Bearer {self._fetch_token(realm, parameters.get('service', ''), scope, login)}"

    def _fetch_token(self, realm: str, service: str, scope: str, login: Credentials) -> str:
        wanted = {"service": service, "scope": scope}
        request = urllib.request.Request(f"{realm}{'&' if '?' in realm else '?'}{urlencode(wanted)}")  # noqa: S310 - checked by the caller
        if login.identity_token:
            form = {"grant_type": "refresh_token", "client_id": "agent-runner", "refresh_token": login.identity_token}
            request = urllib.request.Request(realm, urlencode(wanted | form).encode())  # noqa: S310 - as above
        elif not login.is_empty:
            request.add_unredirected_header("Authorization", login.basic)
        with self._opener.open(request, timeout=_SOCKET_PATIENCE_S) as answer:
            data = answer.read(_LONGEST_TOKEN)
        try:
            document = json.loads(data)
            return str(document.get("token") or document["access_token"])
        except (ValueError, LookupError, AttributeError, RecursionError) as error:
            raise RegistryFailed(f"{urlsplit(realm).netloc} gives no token for {self._registry}") from error

    def _describe(self, error: urllib.error.HTTPError, method: str, url: str) -> Exception:
        if error.code >= 500:
            return _Passing(f"{error.code} to {method}")
        if error.code == 404:
            return ImageNotFound(f"{self._registry} has nothing at {urlsplit(url).path[:200]}")
        if error.code in (401, 403):
            way = f"log in with `docker login {self._registry}`, or have somebody allow it"
            return RegistryFailed(f"{self._registry} does not let us {method} {self._repository} ({error.code}): {way}")
        if error.code == 429:
            after = error.headers.get("Retry-After") or "a while"
            return RegistryFailed(f"{self._registry} takes no more requests now (429): try again after {after[:40]}")
        return RegistryFailed(f"{self._registry} refuses {method} ({error.code}): {_read_errors(error)}")


class _Http(urllib.request.HTTPHandler):
    """urllib's own, with connections of our making."""

    def __init__(self, connection: Callable[..., http.client.HTTPConnection]) -> None:
        super().__init__()
        self._connection = connection

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Open one."""
        return self.do_open(self._connection, request)


class _Https(urllib.request.HTTPSHandler):
    """The same with TLS."""

    def __init__(self, connection: Callable[..., http.client.HTTPSConnection]) -> None:
        super().__init__(context=ssl.create_default_context())
        self._connection = connection

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Open one."""
        return self.do_open(self._connection, request, context=self._context)  # type: ignore[attr-defined]  # as urllib has it


def _read_blocks(answer: Any, size: int) -> Iterator[bytes]:  # noqa: ANN401 - as above
    """Yield a body of so many bytes. Raises ImageRefused for a longer one, _Passing for one that breaks off."""
    left = size
    while left >= 0:
        try:
            block = answer.read(min(BLOCK, left + 1))
        except _TRANSPORT as error:
            raise _Passing(f"the connection broke off ({error})") from error
        if not block:
            break
        left -= len(block)
        if left >= 0:
            yield block
    if left < 0:
        raise ImageRefused(f"a content has more than the {size} bytes that its manifest says")
    if left:
        raise _Passing(f"a body ended {left} bytes early")


def _read_errors(error: urllib.error.HTTPError) -> str:
    try:
        first = json.loads(error.read(64 << 10))["errors"][0]
        return f"{first['code']} {first.get('message') or ''}".strip()[:200]
    except (*_TRANSPORT, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "it does not say why"


def is_loopback(registry: str) -> bool:
    """Tell whether a registry, HOST[:PORT], is on this computer, so that it is asked without TLS."""
    host = urlsplit(f"//{registry}").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _wait(seconds: float) -> None:
    stopping.stop_event().wait(seconds)
