"""A training whose process is killed, whenever that is, goes on from its checkpoint to the same bits."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lamcts.neural.train import Recipe, train
from tests.neural.few_digits import few_digits

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

RECIPE = Recipe(epochs=12, batch=10, flip=True, mixup=0.2, average=0.9)
CODE = "from tests.neural.train.test_killed import training; import sys; training(sys.argv[1])"


def training(file):
    from lamcts.neural import nas
    from lamcts.neural.build import build

    net = build(nas.ConvNet(layers=2), nas.ConvNet(layers=2).parse("32-64"), channels=1, stages=2)
    return train(net, few_digits(60, 60, 60), RECIPE, checkpoint=file)


@pytest.mark.dear
def test_a_training_that_is_killed_twice_ends_as_one_that_is_not(tmp_path):
    file = tmp_path / "run.npz"
    before = 0
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", CODE, str(file)]) as process:
            while process.poll() is None and (not file.exists() or file.stat().st_mtime_ns == before):
                time.sleep(0.002)
            assert process.poll() is None, "it was through before it could be killed: take more epochs"
            os.kill(process.pid, signal.SIGKILL)
        before = file.stat().st_mtime_ns
    killed, whole = training(file), training(None)
    assert [epoch.valid_loss for epoch in killed.epochs] == [epoch.valid_loss for epoch in whole.epochs]
    assert killed.test_loss == whole.test_loss
