"""Extensions: what is asked and ordered about them."""
