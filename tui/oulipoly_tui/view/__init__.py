"""Snapshots into rows, labels and tones. Pure: no Textual."""
