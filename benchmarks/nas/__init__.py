"""Architecture search."""
