"""The default, its peers and named samplers on real parameters."""
