"""The turn adapters in process: decoding lines and remembering where they ended."""
