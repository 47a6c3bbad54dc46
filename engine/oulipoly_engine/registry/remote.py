"""One registry over HTTP: the requests of the distribution API, with logins, tries and limits.

Why not the library `oras`: it writes manifests anew, which changes digests, reads bodies as a whole, and tries again
without an end in time; what is left of it would be these lines around it.

An attempt is made again where the network fails or the registry answers 5xx, as long as the first began less than 30 s
ago; its body is made anew each time. 4xx is an answer, and 401 asks for a token once. A login goes to its registry and
to where that has tokens made, not to where it leads; from TLS nothing leads to a place without.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

from oulipoly_engine import stopping
from oulipoly_engine.blobs.blobs import BLOCK
from oulipoly_engine.core.images.credentials import Credentials, read_challenge
from oulipoly_engine.core.images.manifest import DOCKER_MANIFESTS, INDEX, LONGEST_MANIFEST, MANIFEST, Descriptor
from oulipoly_engine.core.images.refusals import ImageNotFound, ImageRefused, RegistryFailed

T = TypeVar("T")
RETRYING_S = 30.0
_SOCKET_PATIENCE_S = 30.0
_FIRST_PAUSE_S = 0.5
_LONGEST_TOKEN = 1 << 20  # bytes of a token's answer
_HUB = "registry-1.docker.io"  # where docker.io answers
_ACCEPT = ", ".join((MANIFEST, INDEX, *DOCKER_MANIFESTS))
_LEAST_SPEED = 1024  # bytes a second, of an answer that takes longer than _SOCKET_PATIENCE_S
_PIECE = 128 << 10  # bytes of a body that must be taken within _SOCKET_PATIENCE_S
_Body = bytes | Iterable[bytes]
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
        handlers = (_Http(), _Https(context=ssl.create_default_context()), _Redirects())
        proxies = (urllib.request.ProxyHandler({}),) if is_own else ()
        self._opener = urllib.request.build_opener(*proxies, *handlers)

    def manifest(self, target: str) -> tuple[Descriptor, bytes]:
        """Return a manifest by its tag or digest, as the registry has it, unchecked: what it is, it says itself.

        Raises ImageNotFound, ImageRefused.
        """

        def get() -> tuple[Descriptor, bytes]:
            with self._send("GET", f"manifests/{target}", {"Accept": _ACCEPT}) as answer:
                data = _read_whole(answer, LONGEST_MANIFEST)
                if len(data) > LONGEST_MANIFEST:
                    raise ImageRefused(f"{self._registry} gives a manifest of more than {LONGEST_MANIFEST >> 20} MB")
                return Descriptor("", answer.headers.get("Docker-Content-Digest") or "", len(data)), data

        return self._try(get)

    def blob(self, descriptor: Descriptor, take: Callable[[Iterator[bytes]], T]) -> T:
        """Have a content taken, block by block; each attempt calls `take` anew with the blocks from the first on."""

        def get() -> T:
            with self._send("GET", f"blobs/{descriptor.digest}") as answer:
                size = answer.headers.get("Content-Length") or ""
                if size.isdecimal() and int(size) < descriptor.size:  # a longer one is found out while it is read
                    raise ImageRefused(
                        f"{descriptor.digest} has {size} bytes, not the {descriptor.size} of its manifest"
                    )
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
            with self._send("PUT", url, headers, _split(open_blocks())):
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
                    return _read_whole(answer, LONGEST_MANIFEST)
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
        self, method: str, path: str, headers: Mapping[str, str] = {}, body: _Body | None = None
    ) -> Iterator[Any]:
        """Send one request and give its answer for the block. Raises _Passing, ImageNotFound, RegistryFailed."""
        url = urljoin(self._base, path)
        try:
            with self._open(method, url, headers, body) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            with error:
                raise self._describe(error, method, url) from error
        except _TRANSPORT as error:
            if isinstance(error, OSError) and error.filename is not None:  # of the disk, where it is written to
                raise
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise RegistryFailed(f"{self._registry} has no valid certificate: {reason.verify_message}") from error
            if isinstance(reason, ConnectionRefusedError) and is_loopback(self._registry):
                way = "`agents registry serve` starts the registry of this computer"
                raise RegistryFailed(f"nothing listens at {self._registry}: {way}") from error
            if isinstance(reason, ssl.SSLError) and reason.reason == "WRONG_VERSION_NUMBER":
                raise RegistryFailed(f"{self._registry} does not speak TLS") from error
            text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise _Passing(_one_line(text)) from error

    def _open(self, method: str, url: str, headers: Mapping[str, str], body: _Body | None) -> Any:  # noqa: ANN401 - urllib's answer
        try:
            return self._opener.open(self._request(method, url, headers, body), timeout=_SOCKET_PATIENCE_S)
        except urllib.error.HTTPError as error:
            if error.code != 401 or not self._is_own(url) or not self._is_own(error.url):
                raise
            # Also with a token: it may be too old, or for reading alone.
            with ExitStack() as stack:
                stack.callback(error.close)
                self._authorization = self._log_in(*read_challenge(error.headers.get_all("WWW-Authenticate") or ()))
                if not self._authorization:
                    stack.pop_all()  # its body is read where it is told
                    raise
            if body is not None and not isinstance(body, bytes):  # it is used up
                raise _Passing("the registry asked who we are behind the beginning") from error
        return self._opener.open(self._request(method, url, headers, body), timeout=_SOCKET_PATIENCE_S)

    def _request(self, method: str, url: str, headers: Mapping[str, str], body: _Body | None) -> urllib.request.Request:
        _check_place(self._base, url)
        request = urllib.request.Request(url, body, dict(headers), method=method)  # noqa: S310 - checked above
        if self._authorization and self._is_own(url):
            request.add_unredirected_header("Authorization", self._authorization)  # not to where blobs may lie
        return request

    def _is_own(self, url: str) -> bool:
        """Tell whether an address is the registry's, and asked as that is."""
        return urlsplit(url)[:2] == urlsplit(self._base)[:2]

    def _log_in(self, scheme: str, parameters: Mapping[str, str]) -> str:
        """Return the value of an Authorization header, as a challenge asks for it; empty: there is no login."""
        login = self._find_login(self._registry)
        if scheme == "basic":
            return "" if login.is_empty else login.basic
        if scheme != "bearer":
            return ""
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
        refusal = RegistryFailed(f"{urlsplit(realm).netloc} gives no token for {self._registry}")
        try:
            with self._opener.open(request, timeout=_SOCKET_PATIENCE_S) as answer:
                document = json.loads(_read_whole(answer, _LONGEST_TOKEN))
            token = str(document.get("token") or document["access_token"])
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            error.close()
            raise refusal from error
        except (ValueError, LookupError, AttributeError, RecursionError) as error:
            raise refusal from error
        if not (token.isascii() and token.isprintable()):  # it would be more than one header
            raise refusal
        return token

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
            when = f"{after} s" if after.isdecimal() else after
            return RegistryFailed(f"{self._registry} takes no more requests now (429): try again after {when[:40]}")
        if error.code < 400:
            place = _one_line(error.headers.get("Location") or "nowhere")[:80]
            return RegistryFailed(f"{self._registry} leads to {place} ({error.code}), where {method} does not go")
        return RegistryFailed(f"{self._registry} refuses {method} ({error.code}): {_read_errors(error)}")


class _Reader(io.RawIOBase):
    """What a connection gives, as long as it does not take for ever."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._begin = time.monotonic()
        self._size = 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - a buffer, as io has it
        """Read what is there. Raises TimeoutError."""
        size = self._raw.readinto(buffer)
        self._size += size or 0
        seconds = time.monotonic() - self._begin
        if seconds > _SOCKET_PATIENCE_S and self._size < seconds * _LEAST_SPEED:
            raise TimeoutError(f"it gives less than {_LEAST_SPEED} bytes a second")
        return size

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:  # noqa: ANN401 - http.client's own
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_Reader(self.fp.detach()))


class _Connection(http.client.HTTPConnection):
    response_class = _Answer


class _SecureConnection(http.client.HTTPSConnection):
    response_class = _Answer


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, request, context=self._context)  # type: ignore[attr-defined]  # as urllib has it


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Go where an answer leads. Raises RegistryFailed where that is less safe."""
        _check_place(req.full_url, newurl)
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and req.get_method() == "HEAD":
            following.method = "HEAD"  # urllib would ask for the content; and what blobs lie behind signs the method
        return following


def _check_place(before: str, url: str) -> None:
    """Raise RegistryFailed for what is not HTTP, or no TLS where there was."""
    schemes = ("https",) if urlsplit(before).scheme == "https" else ("http", "https")
    if urlsplit(url).scheme not in schemes:
        raise RegistryFailed(f"{urlsplit(before).netloc} leads to {_one_line(url)[:80]}, which is not {schemes[0]}")


def _split(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        yield from (block[begin : begin + _PIECE] for begin in range(0, len(block), _PIECE))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _read_whole(answer: Any, most: int) -> bytes:  # noqa: ANN401 - urllib's answer
    """Return a body of so many bytes, or one more of a longer one. Raises _Passing for one that breaks off."""
    data: bytes = answer.read(most + 1)
    if len(data) <= most and answer.length:
        raise _Passing(f"a body ended {answer.length} bytes early")
    return data


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
        return _one_line(f"{first['code']} {first.get('message') or ''}")
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
