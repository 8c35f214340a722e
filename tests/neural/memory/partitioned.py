"""Step graphs of the two graphs that the min-cut partitioner of `torch.compile` makes of a training step."""

import copy
import warnings

import torch
from torch._functorch import config
from torch._functorch.aot_autograd import aot_function
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.utils._pytree import tree_leaves

from lamcts.neural.trace.module import faked, scalar
from lamcts.neural.trace.recorder import Recorder


def partitioned(module, batch, budgets):
    """Return the step graph of `torch.compile(module, backend="aot_eager")` for each of torch's own budgets, 0 to 1."""
    fake, found = FakeTensorMode(), []
    held, args, kwargs = faked(fake, module, batch)
    unique = list({id(one): one for one in held.values()}.values())
    place = {id(one): i for i, one in enumerate(unique)}

    def step(values, args, kwargs):
        return scalar(functional_call(module, {k: values[place[id(v)]] for k, v in held.items()}, args, kwargs), None)

    def cut(joint, inputs, *, num_fwd_outputs, **_):
        given, tangents = (tuple(tree_leaves(part)) for part in inputs)
        for budget in budgets:
            with config.patch(activation_memory_budget=float(budget)):
                forward, backward = min_cut_rematerialization_partition(
                    copy.deepcopy(joint),
                    inputs,
                    num_fwd_outputs=num_fwd_outputs,
                    static_lifetime_input_indices=list(range(len(unique))),  # saving parameters is free
                )
            found.append((forward, backward, num_fwd_outputs, given, tangents))
        return forward, backward

    same = lambda graph, inputs: graph  # noqa: E731
    with fake, torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of torch, about copies of graphs
        aot_function(step, fw_compiler=same, bw_compiler=same, partition_fn=cut)(unique, args, kwargs)
    return [followed(fake, *one) for one in found]


def followed(fake, forward, backward, outputs, given, tangents):
    """Return the step graph of both graphs run on fake tensors; recomputations are backward steps."""
    recorder = Recorder([*given, *tangents])
    with fake, torch.no_grad(), recorder:
        results = forward(*given)
        recorder.forward = False
        (nodes,) = next(iter(reversed(forward.graph.nodes))).args
        saved = dict(zip([node.name for node in nodes[outputs:]], results[outputs:], strict=True))
        rest = iter(tangents)
        asked = [node.name for node in backward.graph.nodes if node.op == "placeholder"]
        gradients = backward(*(saved[name] if name in saved else next(rest) for name in asked))
    return recorder.graph([one for one in gradients if isinstance(one, torch.Tensor)], 0)
