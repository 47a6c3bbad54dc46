"""The tables as peewee models, one module a capability; only the functions of the store use them."""
