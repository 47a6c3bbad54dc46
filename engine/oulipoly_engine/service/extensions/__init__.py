"""Extensions: found, guarded, handed to CLIs, run in processes of their own."""
