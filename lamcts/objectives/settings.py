"""The settings of a registered objective, read from the signature and the docstring of the function that builds it."""

import inspect
import math
import os
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Union, get_args, get_origin

ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?:: | : [^\n]*\n +)(.*(?:\n +.*)*)", re.MULTILINE)  # or NumPy's form
END = re.compile(r" \(|; |\. |: |[.;]$")  # of the phrase that describes a setting
SAME = re.compile(r"as in `(\w+)`")
Other = Callable[[str], "dict[str, Setting] | None"]


@dataclass(frozen=True)
class Setting:
    """A setting: the types that it accepts (values of a `Literal`), its default, and a phrase that describes it."""

    name: str
    kinds: tuple[object, ...]
    default: object
    text: str

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def is_path(self) -> bool:
        """Whether a value may be the path of a file."""
        return any((get_origin(kind) or kind) is os.PathLike for kind in self.kinds)


def settings_of(build: Callable[..., object], other: Other) -> dict[str, Setting]:
    """Return the settings of a function that builds an objective; `other` resolves "as in `nasbench101`"."""
    texts, found = _texts(build), {}
    for name, parameter in inspect.signature(build, eval_str=True).parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        text = texts.get(name, "")
        if same := SAME.match(text):
            text = _text_elsewhere(build, name, same[1], other) or text
        kinds = _kinds(parameter.annotation) or _kinds_of(parameter.default)
        found[name] = Setting(name, kinds, parameter.default, END.split(text, maxsplit=1)[0])
    return found


def _text_elsewhere(build: Callable[..., object], name: str, place: str, other: Other) -> str:
    """Return the text on a setting in the docstring of another function, or of a class of the same module."""
    neighbour = vars(_module(build)).get(place)
    if neighbour is not None:
        return _texts_in(neighbour.__doc__).get(name, "")
    theirs = other(place) or {}
    return theirs[name].text if name in theirs else ""


def function_of(build: Callable[..., object]) -> Callable[..., object]:
    """Return the function inside a `functools.partial`, or the function itself."""
    return build.func if isinstance(build, partial) else build


def _module(build: Callable[..., object]) -> types.ModuleType:
    return sys.modules[function_of(build).__module__]


def _texts(build: Callable[..., object]) -> dict[str, str]:
    """Return the text on each setting, from the module's docstring and the function's own."""
    return _texts_in(_module(build).__doc__) | _texts_in(function_of(build).__doc__)


def _texts_in(doc: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for names, text in ENTRY.findall(inspect.cleandoc(doc or "")):
        found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def _kinds_of(default: object) -> tuple[object, ...]:
    """Return the types of a setting that is annotated by none: a flag, or a number or text."""
    return (bool,) if isinstance(default, bool) else (int, float, str)


def _kinds(annotation: object) -> tuple[object, ...]:
    """Return the members of a union, the values of a literal, or the type itself; None is left out."""
    if annotation is inspect.Parameter.empty:
        return ()
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(kind for part in get_args(annotation) for kind in _kinds(part))
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if annotation is type(None):
        return ()
    kind = get_origin(annotation) or annotation
    return (annotation,) if isinstance(kind, type) and kind is not Any else ()


def checked_noise(noise: float) -> float:
    """Return a standard deviation of noise; ValueError unless it is finite and at least 0."""
    if not 0 <= noise < math.inf:
        raise ValueError(f"noise: expected a standard deviation of at least 0, got {noise}")
    return float(noise)
