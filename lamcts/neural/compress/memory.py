"""What a worker keeps from step to step, by parameter, so that buckets may regroup."""

from collections.abc import Mapping

import torch
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket


class Memory:
    """A vector for each parameter; 0 where nothing was kept yet."""

    def __init__(self) -> None:
        self._parts: dict[int, Tensor] = {}

    def plus(self, bucket: Bucket, flat: Tensor, factor: float = 1.0) -> Tensor:
        """Return a new vector: `factor` times what is kept for a bucket, plus `flat`."""
        if not any(key in self._parts for key in bucket.keys):
            return flat.clone()
        kept = [self._part(key, size, flat) for key, size in zip(bucket.keys, bucket.sizes, strict=True)]
        total = torch.cat(kept)
        return (total if factor == 1 else total.mul_(factor)).add_(flat)

    def keep(self, bucket: Bucket, flat: Tensor) -> None:
        """Keep a vector, cut by parameter."""
        self._parts.update(zip(bucket.keys, torch.split(flat, bucket.sizes), strict=True))

    def state_dict(self) -> dict[int, Tensor]:
        """Return copies of what is kept."""
        return {key: part.clone() for key, part in self._parts.items()}

    def load_state_dict(self, state: Mapping[int, Tensor]) -> None:
        """Keep copies of saved vectors."""
        self._parts = {int(key): part.clone() for key, part in state.items()}

    def _part(self, key: int, size: int, like: Tensor) -> Tensor:
        """Return what is kept for a parameter; ValueError if it has another size."""
        part = self._parts.get(key)
        if part is None:
            return like.new_zeros(size)
        if len(part) != size:
            raise ValueError(
                f"expected {len(part)} numbers in parameter {key}, got {size}: the state is that of another model"
            )
        return part.to(like.device)
