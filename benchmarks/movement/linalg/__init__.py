"""LU that pivots across blocks."""
