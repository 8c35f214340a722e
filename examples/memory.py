"""Training in less memory than it takes; `lamcts memory examples/memory.py:network --budget 12MiB` has all plans."""

import sys

from sklearn.datasets import load_digits

try:
    import torch
    from torch import nn
except ModuleNotFoundError as error:
    sys.exit(print(f"{error}: pip install '.[torch]'"))

from lamcts.neural import memory

digits, classes = load_digits(return_X_y=True)
images = torch.tensor(digits / 16, dtype=torch.float32).view(-1, 1, 8, 8)
labels = torch.tensor(classes)


def network(batch=256):
    layers = [nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 64, 10))
    return model, images[:batch], lambda output: nn.functional.cross_entropy(output, labels[:batch])


if __name__ == "__main__":
    torch.manual_seed(0)
    model, batch, loss = network()
    adam = torch.optim.Adam(model.parameters())
    fitted = memory.fit(model, batch, budget="12MiB", loss=loss, optimizer=adam, exchanges=3000)
    print(fitted)
    with fitted:
        for step in range(10):
            adam.zero_grad()
            error = loss(model(batch))
            error.backward()
            adam.step()
            print(f"step {step}: loss {error.item():.3f}")
