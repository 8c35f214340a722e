"""Generators that a random operation may draw from, with their states, so that a recomputation draws the same numbers.

A factory such as `torch.rand(shape, device="cuda")` has no tensor arguments: its device is a keyword. Needs torch.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.utils._pytree import tree_leaves

from lamcts.neural.trace.recorder import Args, Kwargs, Op

DRAWING = threading.RLock()  # a generator has one state for all threads
PLAIN = frozenset({Tensor, nn.Parameter, float, int, bool, type(None)})  # types of arguments that name no generator
Random = tuple[tuple[Generator, Tensor], ...]  # generators of a random operation, with their states before it


def drawn(func: Op, args: Args, kwargs: Kwargs) -> tuple[object, Random]:
    """Run an operation; return its result, and the generators that it may draw from with their states before it."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return func(*args, **kwargs), ()
    with DRAWING:
        random = state_before(func, args, kwargs)
        return func(*args, **kwargs), random


def state_before(func: Op, args: Args, kwargs: Kwargs) -> Random:
    """Return the generators that an operation may draw from, with their states; none if it is deterministic."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return ()
    return tuple((one, one.get_state()) for one in generators_of(args, kwargs))


def generators_of(args: Args, kwargs: Kwargs) -> list[Generator]:
    """Return the explicit generators of a call, else the default ones of all its devices."""
    if not kwargs and all(type(one) in PLAIN for one in args):  # quicker
        devices = {one.device for one in args if isinstance(one, Tensor)}
        if len(devices) == 1:
            found = default_generator(devices.pop())
            return [] if found is None else [found]
    leaves = tree_leaves((args, kwargs))
    given = [leaf for leaf in leaves if isinstance(leaf, Generator)]
    if given:
        return list(dict.fromkeys(given))
    all_of = [default_generator(device) for device in devices_of(args, kwargs)]
    return list({id(one): one for one in all_of if one is not None}.values())


def devices_of(args: Args, kwargs: Kwargs) -> list[torch.device]:
    """Return the devices that a call names by `device=` or by its tensors; the CPU if it names none."""
    leaves = tree_leaves((args, kwargs))
    named = [leaf for leaf in leaves if isinstance(leaf, torch.device)]
    named += [torch.device(kwargs["device"])] if isinstance(kwargs.get("device"), (str, int)) else []
    named += [leaf.device for leaf in leaves if isinstance(leaf, Tensor)]
    return list(dict.fromkeys(named)) or [torch.device("cpu")]


def default_generator(device: torch.device) -> Generator | None:
    """Return the default generator of a device; None for "meta", which draws nothing."""
    if device.type in ("cpu", "meta"):
        return torch.default_generator if device.type == "cpu" else None
    module: Any = getattr(torch, device.type, None)
    if not hasattr(module, "default_generators"):
        raise RuntimeError(
            f"random operation on {device}: expected a device with torch.{device.type}.default_generators, such as "
            "cuda, got none: pass a generator, or train without a plan"
        )
    module.init()  # before it the tuple of generators is empty
    index = module.current_device() if device.index is None else device.index
    generator: Generator = module.default_generators[index]
    return generator


def check_result(random: Random, result: object, name: str) -> None:
    """Raise RuntimeError if a random operation has a result on a device whose generator was not saved."""
    saved = {one.device for one, _ in random}
    for tensor in tree_leaves(result) if random else ():
        # attention kernels on a device return their seed on the CPU
        if isinstance(tensor, Tensor) and tensor.device.type not in ("cpu", "meta") and tensor.device not in saved:
            raise RuntimeError(
                f"{name}: expected random numbers on {' or '.join(sorted(map(str, saved)))}, the devices of its "
                f"arguments, got a result on {tensor.device}: pass device=, so that a recomputation draws them again"
            )


@contextmanager
def restored(random: Random) -> Iterator[None]:
    """Set all generators to their saved states inside a block, and back to the current ones at its end."""
    with DRAWING:
        now = [(generator, generator.get_state()) for generator, _ in random]
        try:
            for generator, state in random:
                generator.set_state(state)
            yield
        finally:
            for generator, state in now:
                generator.set_state(state)
