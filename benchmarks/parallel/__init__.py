"""Workers, and episodes stepped together."""
