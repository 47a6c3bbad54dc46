"""Where programs of agents run that are not processes of this machine: containers."""
