"""Mukai 2012, “Latent Nonuniform Splines for Animation Approximation”."""

from mocpack.papers.mukai.codec.latent_spline import LatentSpline

__all__ = ["LatentSpline"]
