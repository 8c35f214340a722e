"""Lower bounds, tilings and distributed LU: what `lamcts.movement` computes."""
