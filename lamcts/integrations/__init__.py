"""Lamcts in the libraries where users are already. Each loads when it is imported, and needs its library then."""
