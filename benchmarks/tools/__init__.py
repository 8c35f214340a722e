"""Tools that run once: converters of published files."""
