"""What `agents doctor` finds: from what was looked at to findings with cause, consequence and fix. Pure."""
