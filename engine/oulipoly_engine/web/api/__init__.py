"""REST: one module a part of the table; bodies stand in `web/base/bodies.py`."""
