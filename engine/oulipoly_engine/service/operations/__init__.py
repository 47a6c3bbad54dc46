"""Steps that a kill may cut, and what becomes of them."""
