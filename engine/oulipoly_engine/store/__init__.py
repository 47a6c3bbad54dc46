"""The only SQL. Named functions that take and return core values; no row or cursor leaves."""
