"""The demo CLIs' modes for programs: the vendors' own protocols on stdin and stdout, with made-up answers."""
