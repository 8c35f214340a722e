"""A case for each class of `torch.nn`: how to build the layer, what it is called with, and variants. Needs torch."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

Call = Callable[..., Any]


class Case(NamedTuple):
    """A layer and the arguments of its call.

    shape: of the first argument, which a linear layer and `before` compute; None if `others` are all. others: makes the
    further arguments. before: from the output of the linear layer to the layer's input. call: from the layer and the
    arguments to the output.
    """

    family: str
    make: Callable[[], nn.Module]
    shape: tuple[int, ...] | None
    others: Callable[[], tuple[Any, ...]] = tuple
    before: Callable[[Tensor], Tensor] = torch.tanh
    call: Call = lambda layer, *given: layer(*given)


class Net(nn.Module):
    """A layer between a linear layer and an elementwise function."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        size = 4 if case.shape is None else case.shape[-1]
        self.first, self.layer, self.case = nn.Linear(size, size), case.make(), case

    def forward(self, *given: Any) -> Tensor:
        if self.case.shape is not None:
            given = (self.case.before(self.first(given[0])), *given[1:])
        out = self.case.call(self.layer, *given)
        found = out if isinstance(out, Tensor) else out[0]
        return found.sigmoid() * found


def ids(many: int, *shape: int) -> Tensor:
    return torch.randint(many, shape)


def signs(*shape: int) -> Tensor:
    return torch.where(torch.rand(*shape) < 0.5, -1.0, 1.0)


LINE, PLANE, SPACE = (3, 4, 8), (3, 4, 8, 8), (2, 4, 4, 4, 4)
SHAPES = {"1d": LINE, "2d": PLANE, "3d": SPACE}
ROWS = (6, 8)


def _dimensions(name: str, family: str, *args: Any, **kwargs: Any) -> dict[str, Case]:
    """Return cases of a layer of one, two and three dimensions."""
    found = {}
    for word, shape in SHAPES.items():
        kind = getattr(nn, name + word, None)
        if kind is not None:
            found[name + word] = Case(family, lambda kind=kind: kind(*args, **kwargs), shape)
    return found


def _elementwise() -> dict[str, Case]:
    kinds = (nn.CELU, nn.ELU, nn.GELU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardswish, nn.Hardtanh, nn.LeakyReLU)
    kinds += (nn.LogSigmoid, nn.Mish, nn.PReLU, nn.RReLU, nn.ReLU, nn.ReLU6, nn.SELU, nn.SiLU, nn.Sigmoid, nn.Softplus)
    kinds += (nn.Softshrink, nn.Softsign, nn.Tanh, nn.Tanhshrink)
    cases = {kind.__name__: Case("activation", kind, ROWS) for kind in kinds}
    cases |= {name: Case("activation", lambda name=name: getattr(nn, name)(1), ROWS) for name in ("Softmax", "Softmin")}
    return cases | {
        "LogSoftmax": Case("activation", lambda: nn.LogSoftmax(1), ROWS),
        "Softmax2d": Case("activation", nn.Softmax2d, PLANE),
        "GLU": Case("activation", nn.GLU, ROWS),
        "Threshold": Case("activation", lambda: nn.Threshold(0.1, 0.2), ROWS),
        "GELU, tanh": Case("activation", lambda: nn.GELU("tanh"), ROWS),
        "ReLU, in place": Case("activation", lambda: nn.ReLU(inplace=True), ROWS, before=torch.cos),
        "SiLU, in place": Case("activation", lambda: nn.SiLU(inplace=True), ROWS, before=torch.cos),
        "RReLU, in place": Case("activation", lambda: nn.RReLU(inplace=True), ROWS, before=torch.cos),
        "PReLU, by channel": Case("activation", lambda: nn.PReLU(4), PLANE),
    }


def _linear() -> dict[str, Case]:
    return {
        "Linear": Case("linear", lambda: nn.Linear(8, 5), ROWS),
        "LazyLinear": Case("linear", lambda: nn.LazyLinear(5), ROWS),
        "Bilinear": Case("linear", lambda: nn.Bilinear(8, 8, 5), ROWS, call=lambda layer, x: layer(x, x.sin())),
        "Identity": Case("linear", nn.Identity, ROWS),
    }


def _convolutions() -> dict[str, Case]:
    cases = _dimensions("Conv", "convolution", 4, 6, 3) | _dimensions("ConvTranspose", "convolution", 4, 6, 3)
    cases |= _dimensions("LazyConv", "convolution", 6, 3) | _dimensions("LazyConvTranspose", "convolution", 6, 3)
    return cases | {
        "Conv2d, circular": Case("convolution", lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), PLANE),
        "Conv2d, groups": Case("convolution", lambda: nn.Conv2d(4, 8, 3, stride=2, groups=4), PLANE),
        "Conv1d, same": Case("convolution", lambda: nn.Conv1d(4, 6, 4, padding="same"), LINE),
        "Conv3d, dilated": Case("convolution", lambda: nn.Conv3d(4, 6, 2, dilation=2), SPACE),
        "Unfold": Case("convolution", lambda: nn.Unfold(3), PLANE),
        "Fold": Case("convolution", lambda: nn.Fold((5, 5), 2), (2, 16, 16)),
    }


def _unpooled(pool: Call, shape: tuple[int, ...], kind: Callable[[int], nn.Module]) -> Case:
    return Case("pooling", lambda: kind(2), shape, call=lambda layer, x: layer(*pool(x, 2, return_indices=True)))


def _pooling() -> dict[str, Case]:
    function = nn.functional
    cases = {}
    for name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool"):
        cases |= _dimensions(name, "pooling", 2)
    cases |= _dimensions("LPPool", "pooling", 2, 2)
    return cases | {
        "FractionalMaxPool2d": Case("pooling", lambda: nn.FractionalMaxPool2d(2, 3), PLANE),
        "FractionalMaxPool3d": Case("pooling", lambda: nn.FractionalMaxPool3d(2, 2), SPACE),
        "MaxUnpool1d": _unpooled(function.max_pool1d, LINE, nn.MaxUnpool1d),
        "MaxUnpool2d": _unpooled(function.max_pool2d, PLANE, nn.MaxUnpool2d),
        "MaxUnpool3d": _unpooled(function.max_pool3d, SPACE, nn.MaxUnpool3d),
        "MaxPool2d, indices": Case("pooling", lambda: nn.MaxPool2d(2, return_indices=True), PLANE),
    }


def _norms() -> dict[str, Case]:
    cases = _dimensions("BatchNorm", "norm", 4) | _dimensions("InstanceNorm", "norm", 4)
    cases |= _dimensions("LazyBatchNorm", "norm") | _dimensions("LazyInstanceNorm", "norm")
    for word, shape in SHAPES.items():
        batch, instance = getattr(nn, "BatchNorm" + word), getattr(nn, "InstanceNorm" + word)
        made: dict[str, Callable[[], nn.Module]] = {
            f"BatchNorm{word}, momentum None": lambda kind=batch: kind(4, momentum=None),
            f"InstanceNorm{word}, running": lambda kind=instance: kind(4, affine=True, track_running_stats=True),
        }
        cases |= {name: Case("norm", make, shape) for name, make in made.items()}
    variants: dict[str, Callable[[], nn.Module]] = {
        "BatchNorm2d, no statistics": lambda: nn.BatchNorm2d(4, track_running_stats=False),
        "BatchNorm2d, not affine": lambda: nn.BatchNorm2d(4, affine=False),
        "BatchNorm2d, evaluation": lambda: nn.BatchNorm2d(4).eval(),
        "BatchNorm2d, momentum None, evaluation": lambda: nn.BatchNorm2d(4, momentum=None).eval(),
        "SyncBatchNorm": lambda: nn.SyncBatchNorm(4),
        "SyncBatchNorm, evaluation": lambda: nn.SyncBatchNorm(4).eval(),
        "InstanceNorm2d, momentum None": lambda: nn.InstanceNorm2d(4, momentum=None, track_running_stats=True),
        "GroupNorm": lambda: nn.GroupNorm(2, 4),
        "GroupNorm, not affine": lambda: nn.GroupNorm(2, 4, affine=False),
        "LayerNorm, planes": lambda: nn.LayerNorm((8, 8)),
        "LocalResponseNorm": lambda: nn.LocalResponseNorm(2),
        "CrossMapLRN2d": lambda: nn.CrossMapLRN2d(2),
    }
    cases |= {name: Case("norm", make, PLANE) for name, make in variants.items()}
    return cases | {
        "LayerNorm": Case("norm", lambda: nn.LayerNorm(8), ROWS),
        "LayerNorm, not affine": Case("norm", lambda: nn.LayerNorm(8, elementwise_affine=False), ROWS),
        "RMSNorm": Case("norm", lambda: nn.RMSNorm(8), ROWS),
        "BatchNorm1d, rows": Case("norm", lambda: nn.BatchNorm1d(8), ROWS),
    }


def _recurrent() -> dict[str, Case]:
    shape, cases = (3, 5, 8), {}
    for name in ("RNN", "LSTM", "GRU"):
        kind, cell = getattr(nn, name), getattr(nn, f"{name}Cell")
        cases[name] = Case("recurrent", lambda kind=kind: kind(8, 6, batch_first=True), shape)
        cases[f"{name}, two layers"] = Case(
            "recurrent", lambda kind=kind: kind(8, 6, 2, dropout=0.3, bidirectional=True), shape
        )
        cases[f"{name}Cell"] = Case("recurrent", lambda cell=cell: cell(8, 6), ROWS)
    return cases | {
        "LSTM, projected": Case("recurrent", lambda: nn.LSTM(8, 6, proj_size=4), shape),
        "LSTM, packed": Case("recurrent", lambda: nn.LSTM(8, 6), shape, call=_packed),
        "RNN, relu": Case("recurrent", lambda: nn.RNN(8, 6, nonlinearity="relu"), shape),
    }


def _packed(layer: nn.Module, x: Tensor) -> Tensor:
    lengths = torch.tensor([3, 2, 1, 1, 1])
    out: Tensor = layer(nn.utils.rnn.pack_padded_sequence(x, lengths))[0].data
    return out


def _attention() -> dict[str, Case]:
    shape, cross = (2, 5, 8), {"before": torch.tanh, "call": lambda layer, x: layer(x, x.sin())}
    layer = {"dim_feedforward": 12, "batch_first": True}

    def attended(**how: Any) -> Call:
        return lambda layer, x: layer(x, x, x, **how)

    return {
        "MultiheadAttention": Case(
            "attention", lambda: nn.MultiheadAttention(8, 2, batch_first=True), shape, call=attended()
        ),
        "MultiheadAttention, no weights": Case(
            "attention", lambda: nn.MultiheadAttention(8, 2), shape, call=attended(need_weights=False)
        ),
        "MultiheadAttention, dropout": Case(
            "attention", lambda: nn.MultiheadAttention(8, 2, dropout=0.2), shape, call=attended(need_weights=False)
        ),
        "MultiheadAttention, long": Case(
            "attention", lambda: nn.MultiheadAttention(8, 2), (70, 2, 8), call=attended(need_weights=False)
        ),
        "TransformerEncoderLayer": Case("attention", lambda: nn.TransformerEncoderLayer(8, 2, **layer), shape),
        "TransformerEncoder": Case(
            "attention", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, **layer), 2), shape
        ),
        "TransformerEncoder, masked": Case(
            "attention",
            lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, **layer), 1),
            shape,
            lambda: (torch.tensor([[False] * 4 + [True], [False] * 5]),),
            call=lambda layer, x, mask: layer(x, src_key_padding_mask=mask),
        ),
        "TransformerDecoderLayer": Case("attention", lambda: nn.TransformerDecoderLayer(8, 2, **layer), shape, **cross),
        "TransformerDecoder": Case(
            "attention", lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, **layer), 2), shape, **cross
        ),
        "Transformer": Case("attention", lambda: nn.Transformer(8, 2, 1, 1, **layer), shape, **cross),
    }


def _embeddings() -> dict[str, Case]:
    def words(**how: Any) -> Case:
        return Case("embedding", lambda: nn.Embedding(9, 4, **how), None, lambda: (ids(9, 3, 5),))

    def bags(**how: Any) -> Case:
        return Case("embedding", lambda: nn.EmbeddingBag(9, 4, **how), None, lambda: (ids(9, 3, 5),))

    return {
        "Embedding": words(),
        "Embedding, padding": words(padding_idx=0),
        "Embedding, max_norm": words(max_norm=1.0),
        "Embedding, by frequency": words(scale_grad_by_freq=True),
        "Embedding, sparse": words(sparse=True),
        "EmbeddingBag": bags(),
        "EmbeddingBag, sum": bags(mode="sum"),
        "EmbeddingBag, max": bags(mode="max"),
        "EmbeddingBag, max_norm": bags(max_norm=1.0),
        "EmbeddingBag, offsets": Case(
            "embedding", lambda: nn.EmbeddingBag(9, 4), None, lambda: (ids(9, 10), torch.tensor([0, 3, 7]))
        ),
    }


def _dropouts() -> dict[str, Case]:
    cases = _dimensions("Dropout", "dropout", 0.3)
    return cases | {
        "Dropout": Case("dropout", nn.Dropout, ROWS),
        "Dropout, in place": Case("dropout", lambda: nn.Dropout(inplace=True), ROWS, before=torch.cos),
        "Dropout, all": Case("dropout", lambda: nn.Dropout(1.0), ROWS),
        "AlphaDropout": Case("dropout", nn.AlphaDropout, ROWS),
        "FeatureAlphaDropout": Case("dropout", nn.FeatureAlphaDropout, PLANE),
    }


def _losses() -> dict[str, Case]:
    def loss(make: Callable[[], nn.Module], *others: Callable[[], Any], **how: Any) -> Case:
        return Case("loss", make, ROWS, lambda: tuple(one() for one in others), **how)

    def same() -> Tensor:
        return torch.randn(*ROWS)

    def labels() -> Tensor:
        return ids(8, 6)

    def halves() -> Tensor:
        return torch.rand(*ROWS)

    def pairs(layer: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        out: Tensor = layer(x, x.sin(), y)
        return out

    cases: dict[str, Case] = {}
    for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss"):
        kind = getattr(nn, name)
        cases[name] = loss(kind, same)
        cases[f"{name}, none"] = loss(lambda kind=kind: kind(reduction="none"), same)
        cases[f"{name}, sum"] = loss(lambda kind=kind: kind(reduction="sum"), same)
    negative = nn.functional.log_softmax
    return cases | {
        "BCELoss": loss(nn.BCELoss, halves, before=torch.sigmoid),
        "BCEWithLogitsLoss": loss(nn.BCEWithLogitsLoss, halves),
        "CrossEntropyLoss": loss(nn.CrossEntropyLoss, labels),
        "CrossEntropyLoss, smoothed": loss(lambda: nn.CrossEntropyLoss(torch.rand(8), label_smoothing=0.1), labels),
        "CrossEntropyLoss, probabilities": loss(nn.CrossEntropyLoss, lambda: torch.rand(*ROWS).softmax(1)),
        "CrossEntropyLoss, planes": Case("loss", nn.CrossEntropyLoss, PLANE, lambda: (ids(4, 3, 8, 8),)),
        "LinearCrossEntropyLoss": loss(lambda: nn.LinearCrossEntropyLoss(8, 5), lambda: ids(5, 6)),
        "NLLLoss": loss(nn.NLLLoss, labels, before=lambda x: negative(x, 1)),
        "NLLLoss2d": Case("loss", nn.NLLLoss2d, PLANE, lambda: (ids(4, 3, 8, 8),)),
        "KLDivLoss": loss(
            lambda: nn.KLDivLoss(reduction="batchmean"),
            lambda: torch.rand(*ROWS).softmax(1),
            before=lambda x: negative(x, 1),
        ),
        "GaussianNLLLoss": loss(nn.GaussianNLLLoss, same, halves),
        "MarginRankingLoss": loss(nn.MarginRankingLoss, lambda: signs(*ROWS), call=pairs),
        "HingeEmbeddingLoss": loss(nn.HingeEmbeddingLoss, lambda: signs(*ROWS)),
        "SoftMarginLoss": loss(nn.SoftMarginLoss, lambda: signs(*ROWS)),
        "CosineEmbeddingLoss": loss(nn.CosineEmbeddingLoss, lambda: signs(6), call=pairs),
        "MultiLabelMarginLoss": loss(nn.MultiLabelMarginLoss, lambda: torch.tensor([[1, 3, -1, 0, 0, 0, 0, 0]] * 6)),
        "MultiLabelSoftMarginLoss": loss(nn.MultiLabelSoftMarginLoss, lambda: halves().round()),
        "MultiMarginLoss": loss(nn.MultiMarginLoss, labels),
        "TripletMarginLoss": loss(nn.TripletMarginLoss, same, call=pairs),
        "TripletMarginWithDistanceLoss": loss(nn.TripletMarginWithDistanceLoss, same, call=pairs),
        "CTCLoss": Case(
            "loss",
            nn.CTCLoss,
            (7, 2, 5),
            lambda: (ids(4, 2, 3) + 1, torch.tensor([7, 6]), torch.tensor([3, 2])),
            before=lambda x: negative(x, 2),
        ),
        "CTCLoss, tuples": Case(
            "loss",
            nn.CTCLoss,
            (7, 2, 5),
            lambda: (ids(4, 2, 3) + 1,),
            before=lambda x: negative(x, 2),
            call=lambda layer, x, y: layer(x, y, (7, 6), (3, 2)),
        ),
        "AdaptiveLogSoftmaxWithLoss": loss(
            lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 8, [2, 5]), labels, call=lambda layer, x, y: layer(x, y).loss
        ),
        "CosineSimilarity": loss(nn.CosineSimilarity, same),
        "PairwiseDistance": loss(nn.PairwiseDistance, same),
    }


def _shapes() -> dict[str, Case]:
    cases = {}
    for name in ("CircularPad", "ReflectionPad", "ReplicationPad", "ZeroPad"):
        cases |= _dimensions(name, "padding", 1)
    cases |= _dimensions("ConstantPad", "padding", 1, 0.5)
    modes = {"linear": LINE, "bilinear": PLANE, "bicubic": PLANE, "trilinear": SPACE, "nearest-exact": PLANE}
    cases |= {
        f"Upsample, {mode}": Case("upsample", lambda mode=mode: nn.Upsample(scale_factor=2, mode=mode), shape)
        for mode, shape in modes.items()
    }
    return cases | {
        "Upsample": Case("upsample", lambda: nn.Upsample(scale_factor=2), PLANE),
        "UpsamplingBilinear2d": Case("upsample", lambda: nn.UpsamplingBilinear2d(scale_factor=2), PLANE),
        "UpsamplingNearest2d": Case("upsample", lambda: nn.UpsamplingNearest2d(scale_factor=2), PLANE),
        "PixelShuffle": Case("shape", lambda: nn.PixelShuffle(2), PLANE),
        "PixelUnshuffle": Case("shape", lambda: nn.PixelUnshuffle(2), PLANE),
        "ChannelShuffle": Case("shape", lambda: nn.ChannelShuffle(2), PLANE),
        "Flatten": Case("shape", nn.Flatten, PLANE),
        "Unflatten": Case("shape", lambda: nn.Unflatten(1, (2, 2)), PLANE),
    }


def _containers() -> dict[str, Case]:
    def layers() -> list[nn.Module]:
        return [nn.Linear(8, 8), nn.GELU()]

    def parameters() -> list[nn.Parameter]:
        return [nn.Parameter(torch.ones(8)), nn.Parameter(torch.ones(8))]

    return {
        "Sequential": Case("container", lambda: nn.Sequential(*layers()), ROWS),
        "ModuleList": Case(
            "container", lambda: nn.ModuleList(layers()), ROWS, call=lambda layer, x: layer[1](layer[0](x))
        ),
        "ModuleDict": Case(
            "container", lambda: nn.ModuleDict({"a": nn.Linear(8, 8)}), ROWS, call=lambda layer, x: layer["a"](x)
        ),
        "ParameterList": Case(
            "container", lambda: nn.ParameterList(parameters()), ROWS, call=lambda layer, x: x * layer[0] + layer[1]
        ),
        "ParameterDict": Case(
            "container", lambda: nn.ParameterDict({"a": parameters()[0]}), ROWS, call=lambda layer, x: x * layer["a"]
        ),
        "DataParallel": Case("container", lambda: nn.DataParallel(nn.Linear(8, 8)), ROWS),
    }


TABLES = (
    *(_linear, _convolutions, _pooling, _norms, _recurrent, _attention, _embeddings, _elementwise, _dropouts),
    *(_losses, _shapes, _containers),
)
CASES = {name: case for table in TABLES for name, case in table().items()}
WITHOUT_LAYER = ("Container", "Module", "RNNBase", "RNNCellBase")  # classes to derive from


def modules() -> list[str]:
    """Return the names of the classes of modules in `torch.nn`."""
    found = {name: getattr(nn, name) for name in dir(nn)}
    return [name for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, nn.Module)]


def class_of(case: str) -> str:
    """Return the class of a case, whose name may go on with a variant."""
    return case.split(",")[0]
