"""How far one motion is from another: every metric of the field, each by its formula."""
