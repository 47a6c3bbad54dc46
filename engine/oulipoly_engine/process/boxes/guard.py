"""Landlock and seccomp on a thread of ours, so that what it starts is held from its first instruction.

Both bind a thread and what it starts, for good. A thread that lives for one start therefore needs no code between fork
and exec, which a process with threads must not have, and no helper program.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol, TypeVar

from oulipoly_engine.core.boxes.box import Box, Network
from oulipoly_engine.core.boxes.landlock import Rule, list_rules, pack_rule, pack_ruleset, socket_filter
from oulipoly_engine.process.boxes.worktree import drop_links

# System calls, the same on all machines.
_CREATE = 444
_ADD = 445
_RESTRICT = 446
_VERSION = 1
_PATH_BENEATH = 1
# Of prctl.
_NO_NEW_PRIVILEGES = 38
_SECCOMP = 22
_SECCOMP_FILTER = 2
_STEP_BYTES = 8
_CAPABILITY_VERSION = 0x20080522


class Started(Protocol):
    """A process that was started."""

    pid: int  # it leads its own group


_Process = TypeVar("_Process", bound=Started)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


@cache
def find_abi() -> int:
    """Return the version of Landlock that this kernel has; 0: none, or it is switched off."""
    version = _libc().syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    return max(0, int(version))


def has_filter() -> bool:
    """Return whether we have a filter of system calls for this machine."""
    return socket_filter(platform.machine(), Network.NONE) is not None


def start_guarded(box: Box, start: Callable[[], _Process]) -> _Process:
    """Return the process that `start` starts, held by a guarded box.

    It is called in a thread of its own. Raises what it raises, and OSError where the box cannot be made.
    """
    outcome: list[_Process | BaseException] = []

    def call() -> None:
        try:
            _restrict_thread(box)
            outcome.append(start())
        except BaseException as error:  # for our caller, in whose thread this belongs
            outcome.append(error)

    thread = threading.Thread(target=call)
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from error
    try:
        thread.join()
    except BaseException:  # a signal to us: nobody would know what has been started
        thread.join()
        if not isinstance(outcome[0], BaseException):
            os.killpg(outcome[0].pid, signal.SIGKILL)
        raise
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _restrict_thread(box: Box) -> None:
    abi = find_abi()
    attributes = pack_ruleset(abi, box.network)
    ruleset = _call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for rule in list_rules(drop_links(box)):
            with _opened(rule) as descriptor:
                if descriptor is not None:
                    _add(ruleset, rule, descriptor, abi)
        _control(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1))
        _drop_capabilities()
        _call(_RESTRICT, ctypes.c_int(ruleset), 0)
    finally:
        os.close(ruleset)
    if box.network is not Network.SHARED:
        _refuse_sockets(box.network)


@contextmanager
def _opened(rule: Rule) -> Iterator[int | None]:
    try:
        descriptor = os.open(rule.path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        if not rule.is_optional:
            raise
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _add(ruleset: int, rule: Rule, descriptor: int, abi: int) -> None:
    is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    attributes = pack_rule(rule, descriptor, abi, is_folder=is_folder)
    _call(_ADD, ctypes.c_int(ruleset), _PATH_BENEATH, attributes, 0)


def _refuse_sockets(network: Network) -> None:
    steps = socket_filter(platform.machine(), network)
    if steps is None:
        raise OSError(0, "there is no filter of system calls for this machine")
    program = _Program(len(steps) // _STEP_BYTES, steps)
    _control(_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), ctypes.byref(program))


def _drop_capabilities() -> None:
    """Give up what root may do past all rules, as reading other processes; nothing that starts gets any of it again."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if _libc().capset(header, bytes(24)) != 0:  # twice effective, permitted and inheritable: none
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _control(*words: object) -> None:
    padding = (ctypes.c_ulong(0),) * (5 - len(words))
    if _libc().prctl(*words, *padding) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _call(*words: object) -> int:
    result = int(_libc().syscall(*words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
