"""Where Hydra finds the sweeper `lamcts`: it looks for plugins in the package `hydra_plugins` alone."""

from lamcts.integrations import hydra

hydra.register()


class LamctsSweeper(hydra.LamctsSweeper):
    """The sweeper, as a class of this package."""
