"""The language model made by hand."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

from benchmarks.neural.applications.models.gru import GruCell, gru, width_of
from lamcts.neural import nas
from lamcts.neural.build import build, initialise


def test_the_cell_is_the_gated_unit_of_torch():
    with torch.device("meta"):  # nothing is drawn from the global generator
        ours, theirs = GruCell(3), torch.nn.GRUCell(3, 3)
    ours, theirs = ours.to_empty(device="cpu"), theirs.to_empty(device="cpu")
    initialise(ours, 0)
    with torch.no_grad():
        seen, kept = ours.gates.weight.chunk(2)  # torch stacks reset, update, new
        theirs.weight_ih.copy_(torch.cat([seen[:, :3], kept[:, :3], ours.word.weight]))
        theirs.weight_hh.copy_(torch.cat([seen[:, 3:], kept[:, 3:], ours.state.weight]))
        theirs.bias_ih.copy_(torch.cat([ours.gates.bias, ours.word.bias]))
        theirs.bias_hh.zero_()
    generator = torch.Generator().manual_seed(0)
    word, state = torch.randn(2, 5, 3, generator=generator)
    torch.testing.assert_close(ours(word, state), theirs(word, state))


def test_it_has_as_many_parameters_as_a_found_cell_but_no_more():
    space = nas.EnasCell(8)
    found = build(space, space.random(np.random.default_rng(0)), classes=66, width=48)
    wanted = sum(each.numel() for each in found.parameters())
    width = width_of(66, wanted)
    mine, wider = (sum(each.numel() for each in gru(66, width=w).parameters()) for w in (width, width + 1))
    assert mine <= wanted < wider


def test_the_same_seed_gives_the_same_scores_and_another_gives_others():
    words = torch.arange(12).reshape(2, 6) % 5
    one, again, other = (gru(5, width=4, seed=seed).eval()(words) for seed in (0, 0, 1))
    assert one.shape == (2, 6, 5) and torch.equal(one, again) and not torch.equal(one, other)
