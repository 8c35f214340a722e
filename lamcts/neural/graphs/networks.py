"""Networks of the thesis as lists of layers: AlexNet, ResNet, DenseNet, and modules of branches (fan)."""

from collections.abc import Callable

from lamcts.neural.graphs.layers import LayeredNetwork, Shape
from lamcts.types import whole_number

IMAGE: Shape = (3, 224, 224)  # usual crop of ImageNet
CLASSES = 1000  # of ImageNet
BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}  # of ResNet by depth (He 2015, table 1)
EXPANSION = 4  # output channels of a bottleneck block, relative to its inner channels (He 2015)


def alexnet(batch: int = 200, image: Shape = (3, 227, 227)) -> LayeredNetwork:
    """Return AlexNet's 23 layers without channel groups (thesis 8.4.1, footnote 3).

    Parameters
    ----------
    batch : int
        Images of a training step.
    image : tuple of int
        Channels, height and width of an image.
    """
    net = LayeredNetwork(image, batch)
    for channels, kernel, stride, padding in ((96, 11, 4, 0), (256, 5, 1, 2)):
        net.add("conv", channels=channels, kernel=kernel, stride=stride, padding=padding)
        net.add("relu")
        net.add("lrn")
        net.add("pool", kernel=3, stride=2)
    for channels in (384, 384, 256):
        net.add("conv", channels=channels, kernel=3, padding=1)
        net.add("relu")
    net.add("pool", kernel=3, stride=2, name="pool5")
    for _ in range(2):
        net.add("fc", channels=4096)
        net.add("relu")
        net.add("dropout")
    return _classified(net)


def resnet(depth: int = 50, batch: int = 32, image: Shape = IMAGE) -> LayeredNetwork:
    """Return a ResNet of 50, 101 or 152 layers, with a fork before each block and a join after it.

    Parameters
    ----------
    depth : {50, 101, 152}, default 50
        Number of layers.
    batch : int
        Images of a training step.
    image : tuple of int
        Channels, height and width of an image.
    """
    if depth not in BLOCKS:
        raise ValueError(f"depth: expected one of {', '.join(map(str, BLOCKS))}, got {depth!r}")
    return bottlenecks(BLOCKS[depth], batch, image)


def bottlenecks(blocks: tuple[int, ...], batch: int = 16, image: Shape = IMAGE) -> LayeredNetwork:
    """Return a ResNet with given numbers of bottleneck blocks in its stages (thesis table 8.4)."""
    net = LayeredNetwork(image, batch)
    _convolved(net, 64, 7, 2, 3)
    last = net.add("pool", kernel=3, stride=2, padding=1)
    for stage, count in enumerate(blocks):
        for i in range(whole_number(count, "blocks")):
            last = _bottleneck(net, last, 64 * 2**stage, stride=2 if stage and not i else 1)
    net.add("pool", kernel=net.shape(last)[1])
    return _classified(net)


def _bottleneck(net: LayeredNetwork, before: str, inner: int, stride: int) -> str:
    fork = net.add("fork", before)
    _convolved(net, inner, 1, after=fork)
    _convolved(net, inner, 3, stride, 1)
    net.add("conv", channels=EXPANSION * inner, kernel=1)
    long, short = net.add("bn"), fork
    if net.shape(fork) != net.shape(long):
        net.add("conv", fork, channels=EXPANSION * inner, kernel=1, stride=stride)
        short = net.add("bn")
    net.add("join", long, short)
    return net.add("relu")


def densenet(
    blocks: tuple[int, ...] = (6, 12, 24, 16), growth: int = 32, batch: int = 32, image: Shape = IMAGE
) -> LayeredNetwork:
    """Return a DenseNet, by default with 121 layers: a layer reads all earlier ones of its block (full join).

    Parameters
    ----------
    blocks : tuple of int
        Layers of each block.
    growth : int, default 32
        Channels that each layer adds.
    batch : int
        Images of a training step.
    image : tuple of int
        Channels, height and width of an image.
    """
    net = LayeredNetwork(image, batch)
    _convolved(net, 2 * growth, 7, 2, 3)
    last = net.add("pool", kernel=3, stride=2, padding=1)
    for stage, count in enumerate(blocks):
        if stage:
            _normed(net, last)
            net.add("conv", channels=net.shape(last)[0] // 2, kernel=1)
            last = net.add("pool", kernel=2, stride=2)
        last = _dense(net, last, count, growth)
    _normed(net, last)
    net.add("pool", kernel=net.shape(last)[1])
    return _classified(net)


def _dense(net: LayeredNetwork, before: str, count: int, growth: int) -> str:
    made = [before]
    for _ in range(count):
        last = made[0] if len(made) == 1 else net.add("concat", *made)
        _normed(net, last)
        net.add("conv", channels=4 * growth, kernel=1)
        _normed(net)
        made.append(net.add("conv", channels=growth, kernel=3, padding=1))
    return net.add("concat", *made)


def fan(modules: int = 3, batch: int = 32, image: Shape = IMAGE, channels: int = 64) -> LayeredNetwork:
    """Return modules of four parallel branches that are concatenated, as Inception's (thesis, figure 8.1a).

    Parameters
    ----------
    modules : int, default 3
        Number of modules.
    batch : int
        Images of a training step.
    image : tuple of int
        Channels, height and width of an image.
    channels : int, default 64
        Channels of a branch.
    """
    net = LayeredNetwork(image, batch)
    _convolved(net, channels, 7, 2, 3)
    last = net.add("pool", kernel=3, stride=2, padding=1)
    for _ in range(modules):
        fork = net.add("fork", last)
        branches = [_convolved(net, channels, 1, after=fork)]
        for kernel in (3, 5):
            _convolved(net, channels // 2, 1, after=fork)
            branches.append(_convolved(net, channels, kernel, padding=kernel // 2))
        net.add("pool", fork, kernel=3, padding=1)
        branches.append(_convolved(net, channels // 2, 1))
        last = net.add("concat", *branches)
    net.add("pool", kernel=net.shape(last)[1])
    return _classified(net)


def _convolved(
    net: LayeredNetwork, channels: int, kernel: int, stride: int = 1, padding: int = 0, after: str | None = None
) -> str:
    inputs = () if after is None else (after,)
    net.add("conv", *inputs, channels=channels, kernel=kernel, stride=stride, padding=padding)
    net.add("bn")
    return net.add("relu")


def _normed(net: LayeredNetwork, after: str | None = None) -> str:
    net.add("bn", *(() if after is None else (after,)))
    return net.add("relu")


def _classified(net: LayeredNetwork) -> LayeredNetwork:
    net.add("fc", channels=CLASSES)
    net.add("softmax")
    return net


NETWORKS: dict[str, Callable[..., LayeredNetwork]] = {
    "alexnet": alexnet,
    "resnet": resnet,
    "densenet": densenet,
    "fan": fan,
}
