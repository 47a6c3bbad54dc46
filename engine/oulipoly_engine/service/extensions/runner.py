"""Runs the Python code of an extension of the tier `process`, inside its sandbox: our end there of stdin and stdout.

    python -I -m oulipoly_engine.service.extensions.runner ENTRY

`service.extensions.processes` says what is asked. An extension in another language answers the same by itself. What is
checked here is what was granted; what keeps code that does not ask is the sandbox.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from oulipoly_engine.core.extensions.manifest import Permission
from oulipoly_engine.extension_api import Handled, PermissionDenied, Refused, Session, Transform
from oulipoly_engine.service.extensions.brokers import Context, Ended, Environment, Files, Network

PROTOCOL = 1
DENIED = 1  # the error code of a refusal, which is no failure
_FAILED = -32000


class _Channel:
    """Lines to and from the program that has started us."""

    def __init__(self) -> None:
        self._lines = os.fdopen(os.dup(0), "rb")
        self._out = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)  # what the extension prints is for its log
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self._count = 0

    def read(self) -> Mapping[str, Any]:
        """Return the next message. Raises SystemExit where none comes any more."""
        line = self._lines.readline()
        if not line:
            raise SystemExit(0)
        message: Mapping[str, Any] = json.loads(line)
        return message

    def write(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        self._out.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Ask the program something while it waits for us. Raises PermissionDenied."""
        self._count += 1
        identity = f"r{self._count}"
        self.write({"id": identity, "method": method, "params": params})
        while True:
            answer = self.read()
            if answer.get("id") == identity:
                break
        if "error" in answer:
            raise PermissionDenied(answer["error"]["message"])
        return answer["result"]


class _Commands:
    """`context.exec`: run outside the sandbox, by the program that has started us."""

    def __init__(self, channel: _Channel) -> None:
        self._channel = channel

    def run(self, *argv: str, cwd: str | None = None, timeout_s: float = 10.0) -> Ended:
        """Run a command without a shell. Raises PermissionDenied."""
        result = self._channel.ask("exec", {"argv": argv, "cwd": cwd, "timeout_s": timeout_s})
        stdout, stderr = (result[name].encode("utf-8", "surrogateescape") for name in ("stdout", "stderr"))
        return Ended(result["exit_code"], stdout, stderr, result["problem"])


class _Runner:
    """One extension."""

    def __init__(self, entry: str) -> None:
        self._channel = _Channel()
        self._entry = entry
        self._extension: Any = None
        self._session = Session()

    def serve(self) -> None:
        """Answer until nothing is asked any more."""
        while True:
            asked = self._channel.read()
            try:
                answer: Mapping[str, Any] = {
                    "result": self._answer(str(asked.get("method")), asked.get("params") or {})
                }
            except (Refused, PermissionDenied) as error:
                answer = {"error": {"code": DENIED, "message": str(error)}}
            except Exception as error:  # noqa: BLE001, RUF100 - whatever an extension raises
                sys.excepthook(type(error), error, error.__traceback__)
                answer = {"error": {"code": _FAILED, "message": f"{type(error).__name__}: {error}"}}
            self._channel.write({"id": asked.get("id"), **answer})

    def _answer(self, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        session = Session(**params.get("session") or {})
        self._session = session
        match method:
            case "hello":
                return self._begin(params)
            case "hook":
                return _describe(
                    _call(getattr(self._extension, params["hook"]), {**params["facts"], "session": session})
                )
            case "tool":
                return self._extension.tools[params["tool"]](params["arguments"])
            case "command":
                return _describe_command(self._extension.commands[params["command"]](params["words"]))
        raise ValueError(f"{method!r} is not known here")

    def _begin(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        granted = frozenset(params["granted"])

        def check(permission: Permission) -> None:
            if permission not in granted:
                raise PermissionDenied(f"{params['name']} is not allowed to {permission.right}")

        context = Context(
            params["name"],
            Files(check, ()),
            Network(check),
            _Commands(self._channel),  # type: ignore[arg-type]
            Environment(check),
            params["settings"],
            lambda topic, body: self._channel.write({"method": "emit", "params": {"topic": topic, "body": body}}),
            lambda text: print(text, file=sys.stderr),  # noqa: T201 - its log
            lambda: self._session,
        )
        self._extension = _load(self._entry)()
        if callable(getattr(self._extension, "on_load", None)):
            _call(self._extension.on_load, {"context": context})
        return {"protocol": PROTOCOL}


def _load(entry: str) -> Callable[[], Any]:
    file, _, factory = entry.partition(":")
    if not file.endswith(".py"):  # of one of Python's packages
        return _find_factory(import_module(file), factory)
    path = Path.cwd() / file
    spec = spec_from_file_location("extension", path, submodule_search_locations=[str(path.parent)])
    if spec is None or spec.loader is None:
        raise ValueError(f"{file!r} is not a Python file")
    module = module_from_spec(spec)
    sys.modules["extension"] = module
    spec.loader.exec_module(module)
    return _find_factory(module, factory)


def _find_factory(module: ModuleType, name: str) -> Callable[[], Any]:
    factory: Callable[[], Any] = getattr(module, name or "extension")
    return factory


def _call(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the extension's own
    """Call a hook with as many of the values as it takes."""
    return function(*(values[name] for name in inspect.signature(function).parameters))


def _describe_command(answer: object) -> Any:  # noqa: ANN401 - JSON
    """Return what a slash command has answered: a text of its own is shown."""
    if isinstance(answer, Transform | Handled):
        return _describe(answer)
    return _describe(Handled("" if answer is None else str(answer)))


def _describe(answer: object) -> Any:  # noqa: ANN401 - JSON
    """Return a hook's answer as JSON has it."""
    if isinstance(answer, Transform):
        return {"transform": answer.text}
    return {"handled": answer.text} if isinstance(answer, Handled) else None


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    _Runner(sys.argv[1]).serve()
