-- Where an invocation's `owner_pid` is a process number: a boot of the machine, and a namespace of numbers on it, as a
-- container has. NULL: not known.
ALTER TABLE invocations ADD COLUMN owner_place TEXT;
