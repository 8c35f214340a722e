"""Numerical kernels: the traffic and the run time of their schedules."""
