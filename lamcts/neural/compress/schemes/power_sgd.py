"""PowerSGD: gradients of matrices as products of two thin ones, by one power iteration a step."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.group import Group

TINY = 1e-45  # no norm is divided by that is below: the least float32 above 0
EXPLORED = 2.0**-12  # random part of the factor that starts a step; its square, the loss, is a rounding error


@dataclass(frozen=True)
class PowerSgd:
    """All workers add thin factors of their gradients (two ring all-reduces); vectors are sent in float32.

    Parameters
    ----------
    rank : int, default 2
        Columns of the factors. A parameter that is smaller than its factors is sent in float32.

    References
    ----------
    Vogels et al. (2019), "PowerSGD: practical low-rank gradient compression for distributed optimization", NeurIPS.
    """

    rank: int = 2
    name: ClassVar[str] = "powersgd"
    feedback: ClassVar[bool] = True
    sparse: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"expected a rank of 1 or more, got {self.rank}")

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        thin = [self._is_thin(shape) for shape in bucket.shapes]
        local = [list(torch.split(one, bucket.sizes)) for one in gradients]
        with bucket.clock("encode"):
            starts = [self._start(key, shape, bucket, gradients[0]) for key, shape in self._matrices(bucket)]
            first = [self._lefts(parts, starts, thin) for parts in local]
        with bucket.clock("send"):
            summed = _sum(first, group)
        with bucket.clock("encode"):
            lefts = [orthonormal(one) for one, is_thin in zip(summed, thin, strict=True) if is_thin]
            second = [self._rights(parts, lefts, thin) for parts in local]
            for parts, rights in zip(local, second, strict=True):
                _subtract(parts, lefts, rights, thin)
        with bucket.clock("send"):
            rights = [one / group.size for one in _sum(second, group)]
        with bucket.clock("decode"):
            bucket.kept.update((key, right) for (key, _), right in zip(self._matrices(bucket), rights, strict=True))
            products = iter(left @ right.T for left, right in zip(lefts, rights, strict=True))
            means = [next(products) if is_thin else one / group.size for one, is_thin in zip(summed, thin, strict=True)]
            return torch.cat([one.reshape(-1) for one in means])

    def _is_thin(self, shape: torch.Size) -> bool:
        """Return whether the factors of a parameter are smaller than itself."""
        rows = shape[0] if len(shape) > 1 else 1
        columns = shape.numel() // max(1, rows)
        return (rows + columns) * self.rank < rows * columns

    def _matrices(self, bucket: Bucket) -> list[tuple[int, torch.Size]]:
        """Return the parameters that are sent as factors."""
        return [(k, shape) for k, shape in zip(bucket.keys, bucket.shapes, strict=True) if self._is_thin(shape)]

    def _start(self, key: int, shape: torch.Size, bucket: Bucket, like: Tensor) -> Tensor:
        """Return the right factor of the last step with a small random part, or a random one; equal on all workers."""
        maker = Bucket((key,), (shape,), bucket.step, bucket.seed).generator(0, like.device)
        start = unit(torch.randn(shape.numel() // shape[0], self.rank, generator=maker, device=like.device))
        if key in bucket.kept:
            start = unit(bucket.kept[key].to(like.device)).nan_to_num(0.0) + EXPLORED * start
        return orthonormal(start)

    def _lefts(self, parts: list[Tensor], starts: list[Tensor], thin: list[bool]) -> list[Tensor]:
        """Return the left factors of a worker, and its other gradients as they are."""
        right = iter(starts)
        return [
            part.view(-1, len(q := next(right))) @ q if yes else part for part, yes in zip(parts, thin, strict=True)
        ]

    def _rights(self, parts: list[Tensor], lefts: list[Tensor], thin: list[bool]) -> list[Tensor]:
        """Return the right factors of a worker."""
        matrices = [part for part, yes in zip(parts, thin, strict=True) if yes]
        return [part.view(len(left), -1).T @ left for part, left in zip(matrices, lefts, strict=True)]


def unit(matrix: Tensor) -> Tensor:
    """Return the columns divided by their norms, first by the largest magnitudes, whose squares neither overflow."""
    return normalize(normalize(matrix, p=math.inf, dim=0, eps=TINY), dim=0, eps=TINY)


def orthonormal(matrix: Tensor) -> Tensor:
    """Return orthonormal columns whose span contains that of the columns given, of any scale."""
    columns: Tensor = torch.linalg.qr(unit(matrix)).Q
    return columns


def _sum(local: list[list[Tensor]], group: Group) -> list[Tensor]:
    """Return the sums of several tensors over the workers, in one all-reduce."""
    if not local[0]:
        return []
    total = group.sum([torch.cat([one.reshape(-1) for one in parts]) for parts in local])
    pieces = torch.split(total, [one.numel() for one in local[0]])
    return [piece.view_as(one) for piece, one in zip(pieces, local[0], strict=True)]


def _subtract(parts: list[Tensor], lefts: list[Tensor], rights: list[Tensor], thin: list[bool]) -> None:
    """Take from the gradients of a worker what it sent, in place."""
    factors = iter(zip(lefts, rights, strict=True))
    for part, is_thin in zip(parts, thin, strict=True):
        if is_thin:
            left, right = next(factors)
            part.view(len(left), -1).sub_(left @ right.T)
        else:
            part.zero_()
