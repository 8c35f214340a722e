"""Constraints, several objectives, and evaluations that fail."""
