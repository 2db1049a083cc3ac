"""The tables and figures of Váša and Brunnett, reproduced."""
