"""Complete searches of the papers, built on public names."""
