"""Drivers of Claude Code's own conventions."""

from oulipoly_engine.adapters.scripts.places import encode_project_dir


def project_dir(vector, tmp_path):
    assert vector["expected"] == encode_project_dir(vector["input"]["path"])


DRIVERS = {"claude.project_dir": project_dir}
