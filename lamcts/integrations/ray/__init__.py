"""Lamcts as a searcher of Ray Tune."""

from lamcts.errors import MissingExtra

try:
    import ray.tune  # noqa: F401
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] not in ("ray", "pandas", "pyarrow"):
        raise
    raise MissingExtra.of("ray", "ray") from None

from lamcts.integrations.ray.search import LamctsSearch

__all__ = ["LamctsSearch"]
