"""The file of the artifact store."""
