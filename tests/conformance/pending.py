"""Areas whose driver a later issue brings: an area, or a family for all of its areas, with that issue.

A test fails while an area is listed here and driven too, so the list stays true.
"""

PENDING: dict[str, str] = {}
