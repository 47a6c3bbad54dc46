"""What every part of the server has: bodies, answers, errors, templates, and the sender of web push."""
