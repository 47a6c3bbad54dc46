"""What is known of each CLI, one module a CLI; `table.py` lists them."""
