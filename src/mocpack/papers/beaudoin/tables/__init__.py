"""The tables and figures of Beaudoin, Poulin and van de Panne, reproduced."""
