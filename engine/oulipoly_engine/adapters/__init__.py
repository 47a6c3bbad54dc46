"""The bundled adapters: what reads the quota and the transcripts of known CLIs."""
