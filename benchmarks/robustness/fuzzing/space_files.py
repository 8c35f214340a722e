"""Space files: JSON and TOML of parameters, and what is like them. A space comes of them that works, or our words."""

import json
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from benchmarks.robustness.attacks.verdict import brief, check_own, expect
from benchmarks.robustness.fuzzing.texts import codings, encoded, json_values, numbers, odd, spoilt, words
from lamcts.cli.parameters import space_of

PARAMETERS = ("0:1", "1e-5:1e-1:log", "1:8:int", "1:1000:int:log", "relu,gelu", "32,64,128:ordered", "bool", "-5:10")
DEEP = 3000  # lists in lists: deeper than Python's own stack

ranges = st.sampled_from(PARAMETERS) | st.builds("{}:{}".format, numbers, numbers)
kinds = st.sampled_from(("int", "log", "int:log", "log:log", "real", ""))
ranges |= st.builds("{}:{}:{}".format, numbers, numbers, kinds)
ranges |= st.lists(words, max_size=4).map(",".join)
usual = st.sampled_from(PARAMETERS) | st.lists(words, min_size=1, max_size=4)
members = st.one_of(usual, usual, usual, spoilt(ranges), st.lists(json_values, max_size=4), json_values)
keys = st.sampled_from(("x", "lr", "act", "b-1", "k", "m"))
parameters = st.dictionaries(keys, usual, min_size=1, max_size=4) | st.dictionaries(keys | words, members, max_size=4)


def toml_of(held: dict[str, object]) -> str:
    """Return parameters as TOML: texts and lists as JSON writes them, which mostly is TOML too."""
    return "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in held.items())


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return the ending of a file, and what stands in it."""
    ending = draw(st.sampled_from((".json", ".toml")))
    held = draw(st.one_of(parameters, parameters, parameters, json_values))
    whole = toml_of(held) if ending == ".toml" and isinstance(held, dict) else json.dumps(held)
    deep = f'{{"x": {"[" * DEEP}1{"]" * DEEP}}}'
    text = draw(st.one_of(spoilt(st.just(whole)), st.just(whole), st.just(whole), odd, st.just(deep)))
    return ending, encoded(text, draw(codings)) + draw(st.sampled_from((b"", b"", b"", b"\0", b"\xff")))


def check(drawn: tuple[str, bytes], folder: Path) -> bool:
    """Return whether a space came of a file; Broken where neither that nor an error of ours did."""
    ending, data = drawn
    file = folder / f"space{ending}"
    file.write_bytes(data)
    try:
        space = space_of([], str(file))
    except Exception as error:
        check_own(error, "the file of a space", (ValueError,))
        expect("\n" not in str(error).strip()[:300], "an error in a line", brief(error))
        return False
    if space is not None:
        for x in space.sample(3, np.random.default_rng(0)):
            point = space.decode(x)
            again = space.decode(space.encode(point))
            expect(repr(again) == repr(point), f"the point {point!r:.80} again", repr(again))
    return True
