"""Test functions with known optima: shifted, rotated, noisy."""
