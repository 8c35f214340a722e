"""A network whose parts are replaced until it needs half of the operations.

`lamcts evolve examples/evolve.py:network --data digits --at-most flops=0.5` trains more children, for longer.
"""

import sys

try:
    import torch
    from torch import nn
except ModuleNotFoundError as error:
    sys.exit(print(f"{error}: pip install '.[evolve]'"))

from lamcts.neural import evolve
from lamcts.neural.train import Recipe, digits


class Block(nn.Module):
    def __init__(self, before, after, stride=1):
        super().__init__()
        layers = [nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU()]
        self.path = nn.Sequential(*layers, nn.Conv2d(after, after, 3, 1, 1), nn.BatchNorm2d(after))
        self.short = nn.Conv2d(before, after, 1, stride)

    def forward(self, x):
        return torch.relu(self.path(x) + self.short(x))


def network(width=8):
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 10)]
    return nn.Sequential(Block(1, width), Block(width, 2 * width, 2), Block(2 * width, 2 * width), *head)


if __name__ == "__main__":
    torch.manual_seed(0)
    few = {"budget": 10, "seeds": 1, "finalists": 2}
    found = evolve.fit(
        network(),
        data=digits(),
        recipe=Recipe(epochs=2),
        at_most={"flops": 0.5},
        against=("flops",),
        progress=False,
        **few,
    )
    print(found)
    print(found.best.module())
