"""Robots (URDF, MJCF) and their motions in the formats of robot learning."""
