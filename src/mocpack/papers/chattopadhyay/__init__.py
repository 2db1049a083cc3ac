"""Chattopadhyay, Bhandarkar and Li 2007, “Model Dependent Power Aware Compression Algorithms
for MPEG-4 Virtual Human Animation in Mobile Computers”."""
