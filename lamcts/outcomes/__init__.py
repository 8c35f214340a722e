"""What evaluations come to: goals, and how rows with several columns compare. Losses inside: lower is better."""
