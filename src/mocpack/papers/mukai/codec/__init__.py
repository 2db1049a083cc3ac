"""Principal components and a B-spline with free knots (Mukai 2012)."""
