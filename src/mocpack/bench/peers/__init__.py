"""What people would take instead, measured through the same door."""
