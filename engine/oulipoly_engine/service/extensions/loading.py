"""Import an extension's code, and make what it is: in its own thread, called by `service.extensions.extensions`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

from oulipoly_engine.core.extensions.installed import Installed

_PREFIX = "agent_runner_extension_"


class _SourceLoader(SourceFileLoader):
    """Takes the source as it was counted: a compiled file beside it could be another one's."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the source alone."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def make_extension(installed: Installed) -> Any:  # noqa: ANN401 - the extension's own
    """Return what the extension's factory makes. Raises what its code raises, or says of a wrong `entry`."""
    module_name, _, factory_name = installed.manifest.entry.partition(":")
    if installed.source == "installed":
        from importlib import import_module  # noqa: PLC0415 - for these alone

        module = import_module(module_name)
    else:
        module = _import_file(installed, module_name)
    factory: Callable[[], Any] | None = getattr(module, factory_name or "extension", None)
    if not callable(factory):
        raise TypeError(f"{installed.manifest.entry!r} is nothing that can be called")
    return factory()


def _import_file(installed: Installed, file: str) -> Any:  # noqa: ANN401 - a module
    place = Path(installed.place)
    is_folder = place.is_dir()
    path = place / file if is_folder else place
    if is_folder and (path.suffix != ".py" or not path.resolve().is_relative_to(place.resolve())):
        raise ValueError(f"{file!r} is not a Python file in its folder")
    name = _PREFIX + installed.name.replace("-", "_")
    folders = [str(place)] if is_folder else None  # so that `from . import other` works
    loader = _SourceLoader(name, str(path))
    spec = spec_from_file_location(name, path, loader=loader, submodule_search_locations=folders)
    if spec is None:
        raise ValueError(f"{path} cannot be imported")
    return _execute(spec)


def _execute(spec: ModuleSpec) -> Any:  # noqa: ANN401 - a module
    forget_modules(spec.name)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # files that appear beside the source would need a new grant
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        forget_modules(spec.name)
        raise
    finally:
        sys.dont_write_bytecode = writes
    return module


def forget_modules(name: str) -> None:
    """Have the next import read the files of a module anew."""
    for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[each]


def forget(installed: Installed) -> None:
    """Have the next import of an extension read its files anew."""
    if installed.source != "installed":
        forget_modules(_PREFIX + installed.name.replace("-", "_"))
