"""Test functions with known optima: shifted, turned, noisy."""
