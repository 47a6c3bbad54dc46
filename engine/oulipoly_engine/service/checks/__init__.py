"""Looks at what a run needs, for `agents doctor`; nothing is changed."""
