"""Take a dispatch mode off the stack and put it back while its `with` block is open. Needs torch.

Only the stack of the thread changes; the block still counts as entered, so that compiled modules run uncompiled.
"""

from collections.abc import Sequence

from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode, _pop_mode, _push_mode


def insert(mode: TorchDispatchMode, below: Sequence[TorchDispatchMode]) -> None:
    """Put a mode above the modes `below` and under all others, which may then exit before or after it is taken off."""
    lifted = []
    while (top := _get_current_dispatch_mode()) is not None and not any(one is top for one in below):
        lifted.append(top)
        _pop_mode()
    for one in (mode, *reversed(lifted)):
        _push_mode(one)


def remove(mode: TorchDispatchMode) -> None:
    """Take a mode off the stack; the others stay."""
    lifted = []
    while (top := _get_current_dispatch_mode()) is not mode and top is not None:
        lifted.append(top)
        _pop_mode()
    if top is mode:
        _pop_mode()
    for one in reversed(lifted):
        _push_mode(one)
