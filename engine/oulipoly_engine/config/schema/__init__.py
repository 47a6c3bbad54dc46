"""The shape of every configuration file as pydantic models; import it deferred, pydantic alone takes 80 ms.

Rules that need more than one file are in `check`; turning tables into core values is in `parse`.
"""
