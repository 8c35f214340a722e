"""The first networks of a search are the best of a draw by a proxy."""

import pytest

import lamcts
from lamcts import objectives
from lamcts.neural import nas

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.proxies import ProxyObjective, first_networks
from lamcts.neural.train import digits

SIZES = {"widths": (8,), "cells": 1}


@pytest.fixture(scope="module")
def proxy():
    return ProxyObjective(nas.Digits4096(), digits(), "parameters", SIZES)


def test_the_best_come_first_and_no_network_twice(proxy):
    points = first_networks(proxy, 30, among=30, seed=3)
    scores = [proxy(point) for point in points]
    assert scores == sorted(scores, reverse=True) and len({proxy.architectures.key(point) for point in points}) == 30
    assert first_networks(proxy, 4, among=30, seed=3) == points[:4] != first_networks(proxy, 4, among=30, seed=4)


def test_a_search_begins_with_them(proxy):
    f, points = objectives.make("digits4096"), first_networks(proxy, 5, among=20)
    result = lamcts.maximize(f, f.space, budget=8, x0=points, n_init=5, seed=0, progress=False)
    assert list(result.history.points[:5]) == points


def test_networks_without_a_score_come_last():
    space = nas.Digits4096()

    class Failing:
        architectures = space

        def __call__(self, point):
            if point["edge_0_1"] != "none":
                raise RuntimeError("no score")
            return 1.0

    found = first_networks(Failing(), 20, among=20)
    known = [point["edge_0_1"] == "none" for point in found]
    assert known == sorted(known, reverse=True) and 0 < sum(known) < 20


def test_a_space_with_fewer_networks_gives_all_of_them():
    class Small(nas.Digits4096):
        def random(self, rng):
            return self.point((int(rng.integers(2)), 0, 0, 3, 0, 0))

        def canonical(self, point):
            return point

    proxy = ProxyObjective(Small(), digits(), "parameters", SIZES)
    assert len(first_networks(proxy, 3, among=3)) == 2


def test_wrong_numbers_are_told(proxy):
    with pytest.raises(ValueError, match="among: expected at least n=5 networks, got 4"):
        first_networks(proxy, 5, among=4)
    with pytest.raises(ValueError, match="n: expected a whole number of at least 1, got 0"):
        first_networks(proxy, 0)
