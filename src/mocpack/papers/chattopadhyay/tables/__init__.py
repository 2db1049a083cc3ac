"""The tables and figures of Chattopadhyay, Bhandarkar and Li, reproduced."""
