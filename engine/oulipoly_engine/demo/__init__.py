"""A world to try everything in: a small agent CLI with made-up answers, and the throw-away home it lives in."""
