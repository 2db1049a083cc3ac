"""The data model: skeletons, clips and what is computed from them."""
