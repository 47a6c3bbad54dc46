"""Turn the text of each configuration file into core values; import it deferred, it brings pydantic (80 ms).

Every function takes the bytes of a file, or None to read the file itself and say why it cannot be read.
"""
