"""Ternary digits as bytes, five in each: 1.6 bits a digit."""

import torch
from torch import Tensor

PLACES = (1, 3, 9, 27, 81)  # values of the five digits of a byte


def trits_to_bytes(digits: Tensor) -> Tensor:
    """Return digits 0, 1 and 2 as bytes; ones fill the last byte.

    Examples
    --------
    >>> trits_to_bytes(torch.tensor([2, 0, 1, 1, 1, 0])).tolist()
    [119, 120]
    """
    if len(digits) and not 0 <= int(digits.min()) <= int(digits.max()) <= 2:
        raise ValueError(f"expected digits 0, 1 and 2, got {int(digits.min())} to {int(digits.max())}")
    padded = torch.nn.functional.pad(digits.to(torch.uint8), (0, -len(digits) % 5), value=1).view(-1, 5)
    return sum((padded[:, i] * place for i, place in enumerate(PLACES)), torch.zeros_like(padded[:, 0]))


def trits_from_bytes(data: Tensor, count: int) -> Tensor:
    """Return `count` digits, as uint8.

    Examples
    --------
    >>> trits_from_bytes(torch.tensor([119, 120], dtype=torch.uint8), 6).tolist()
    [2, 0, 1, 1, 1, 0]
    """
    if 5 * len(data) < count:
        raise ValueError(f"expected {-(-count // 5)} bytes for {count} digits, got {len(data)}: cut short?")
    places = torch.tensor(PLACES, dtype=torch.uint8, device=data.device)
    table = torch.arange(256, device=data.device).to(torch.uint8)[:, None] // places % 3  # [256, 5]
    return table[data.long()].reshape(-1)[:count]
