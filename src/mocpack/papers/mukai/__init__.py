"""Mukai 2012, “Latent Nonuniform Splines for Animation Approximation”."""
