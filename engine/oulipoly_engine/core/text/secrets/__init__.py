"""What secrets look like: the tables of the redactor (`core/text/redact.py`)."""
