"""Outcomes of evaluations: goals, and comparisons of rows with several columns. Losses inside: lower is better."""
