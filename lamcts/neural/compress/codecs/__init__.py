"""Codecs of compressed gradients: bits, index sets, packing, and floats of few bits."""
