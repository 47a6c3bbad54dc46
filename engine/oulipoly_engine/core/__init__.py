"""Pure decisions: values in, values out. No clock, files, processes, threads or SQL."""
