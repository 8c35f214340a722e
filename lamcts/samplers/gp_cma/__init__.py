"""Surrogate-assisted CMA-ES: the search distribution, its model, the first evaluations, and the loop over them."""

from lamcts.samplers.gp_cma.sampler import GpCma

__all__ = ["GpCma"]
