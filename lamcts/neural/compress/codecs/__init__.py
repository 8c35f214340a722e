"""Codecs of compressed gradients: bits, index sets, and floats of few bits."""
