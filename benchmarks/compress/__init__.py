"""Compression of gradients."""
