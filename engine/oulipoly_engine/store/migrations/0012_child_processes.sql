-- Which process an invocation's CLI is, so that one that outlives a killed runner can be found, and ended or waited for.
-- `child_ticks`: the kernel's ticks since boot at which it began, where the system tells; numbers come round.
ALTER TABLE invocations ADD COLUMN child_pid INTEGER;
ALTER TABLE invocations ADD COLUMN child_ticks INTEGER;
