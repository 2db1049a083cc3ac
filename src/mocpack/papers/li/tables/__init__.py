"""The tables and figures of Li, Okuda and Takahashi, reproduced."""
