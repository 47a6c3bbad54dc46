"""What the system says about a path becomes one sentence with the path, the reason and the way out."""

import errno
import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from oulipoly_engine.core.text.quantities import moment
from oulipoly_engine.errors import RunnerError, SystemRefused, translate_system_errors
from oulipoly_engine.facade import diagnostics


@pytest.mark.parametrize(
    ("number", "way_out"),
    [
        (errno.ENAMETOOLONG, "choose a shorter path"),
        (errno.EACCES, "look who may read and write there"),
        (errno.ENOTDIR, "a part of it is a file"),
        (errno.EIO, "look at it, and try again"),
    ],
)
@pytest.mark.parametrize("name", ["/a/path", b"/a/path"], ids=["text", "bytes"])
def test_path_reason_and_way_out_are_said(name, number, way_out):
    with pytest.raises(SystemRefused, match=f"^/a/path: {os.strerror(number)}: {way_out}"), translate_system_errors():
        raise OSError(number, os.strerror(number), name)


def test_long_path_is_cut():
    with pytest.raises(SystemRefused) as caught, translate_system_errors():
        Path("x" * 5000).stat()
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "x"), OSError(errno.EBADF, "x", 7), ValueError("x")])
def test_what_names_no_path_stays_what_it_is(error):
    with pytest.raises(type(error)) as caught, translate_system_errors():
        raise error
    assert error is caught.value


def test_errors_say_local_times_and_markers_and_json_utc(capfd):
    at = "2026-04-17T08:00:00.000000Z"

    diagnostics.fail(RunnerError(f"session s is held until {at} by process 7"))
    diagnostics.note(f"OULIPOLY_X={at}")
    diagnostics.fail_json(RunnerError(f"held until {at}"))

    said, marker, document = capfd.readouterr().err.splitlines()
    assert f"Error: session s is held until {moment(datetime.fromisoformat(at))} by process 7" == said
    assert f"OULIPOLY_X={at}" == marker
    assert f"held until {at}" == json.loads(document)["error"]["message"]
