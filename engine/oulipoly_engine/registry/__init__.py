"""Where images lie: OCI image layouts on the disk, and registries that are reached over HTTP."""
