"""What a worker keeps from step to step, by parameter, so that buckets may regroup."""

import torch
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket


class Memory:
    """A vector for each parameter; 0 where nothing was kept yet."""

    def __init__(self) -> None:
        self.parts: dict[int, Tensor] = {}

    def plus(self, bucket: Bucket, flat: Tensor, factor: float = 1.0) -> Tensor:
        """Return a new vector: `factor` times what is kept for a bucket, plus `flat`."""
        if not any(key in self.parts for key in bucket.keys):
            return flat.clone()
        sizes = dict(zip(bucket.keys, bucket.sizes, strict=True))
        kept = [self.parts.get(key, flat.new_zeros(size)) for key, size in sizes.items()]
        wrong = [key for key, part in zip(sizes, kept, strict=True) if len(part) != sizes[key]]
        if wrong:
            raise ValueError(
                f"expected {len(self.parts[wrong[0]])} numbers of the parameter {wrong[0]}, got {sizes[wrong[0]]}: "
                "the state is that of another model"
            )
        return torch.cat(kept).mul_(factor).add_(flat)

    def keep(self, bucket: Bucket, flat: Tensor) -> None:
        """Keep a vector, cut by parameter."""
        self.parts.update(zip(bucket.keys, flat.split(bucket.sizes), strict=True))
