"""Robots: their bodies (URDF, MJCF), and motions of them as robot learning keeps them."""
