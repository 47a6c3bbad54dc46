"""The adapters as scripts: each file runs alone, with nothing but the standard library, and imports nothing of ours."""
