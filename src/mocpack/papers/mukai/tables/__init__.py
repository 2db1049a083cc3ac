"""The tables and figures of Mukai, reproduced."""
