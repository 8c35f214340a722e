"""How the reference shows parameters: a docstring names them in running prose, `name: what it is.`; a page, in a list.

mkdocs.yml names this file; griffe, which reads the source for mkdocstrings, calls it once for each object.
"""

import re
from typing import Any

import griffe

# One name or more, then a colon, at the beginning of a line or of a sentence.
NAMES = re.compile(r"(?:^|(?<=[.)] ))(?P<names>\w+(?:, \w+)*): ", re.MULTILINE)


class Parameters(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value, parameters(obj))


def parameters(obj: griffe.Object) -> set[str]:
    """Return the names that a docstring of `obj` may explain: its parameters, the fields of a dataclass."""
    if isinstance(obj, griffe.Function):
        return {parameter.name.strip("*") for parameter in obj.parameters}
    if not isinstance(obj, griffe.Class):
        return set()
    made = obj.members.get("__init__")
    return set(obj.members) | (parameters(made) if isinstance(made, griffe.Function) else set())


def listed(text: str, known: set[str]) -> str:
    """Return a docstring with an item of a Markdown list for each explanation of known names."""

    def item(found: re.Match[str]) -> str:
        names = found["names"].split(", ")
        return f"\n\n- **{', '.join(names)}**: " if known.issuperset(names) else found[0]

    return NAMES.sub(item, text)
