"""Regions: paths of splits, and ways to draw points inside them."""
