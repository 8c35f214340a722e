"""What stands in the files and words that are drawn: names, numbers, odd texts; and how a text is spoilt."""

from collections.abc import Sequence

from hypothesis import strategies as st

ODD = ("", " ", "\t", "\ufeff", "\u00e4\u20ac", "\U0001f600", "\x1b[31m", "'", '"', '"";', "=1+1", "a\nb")
ODD += ("\u202e", "%s", "{x}")
NUMBERS = ("0", "1", "-1", "0.5", "1e-5", "1e400", "-1e400", "5e-324", "1.8e308", "9" * 400, "nan")
NUMBERS += (
    "inf",
    "1_000",
    "0x10",
    "1,5",
    "1.",
    ".5",
    "+3",
    "\u0664\u0662",
    "1e",
    "--1",
    "True",
    "None",
    "2024-01-31",
    "12:30",
    "1/3",
)

names = st.sampled_from(("x", "lr", "x1", "value", "trial", "a b", "b-1", "", "__class__", "\u00fc", "X" * 300, "1x"))
odd = st.sampled_from(ODD) | st.text(max_size=6)
numbers = st.sampled_from(NUMBERS) | st.floats().map(repr) | st.integers().map(str)
words = odd | numbers | names
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoilt(draw: st.DrawFn, texts: st.SearchStrategy[str], pieces: Sequence[str] = (":", ",", "=", "\n", '"')) -> str:
    """A text with up to three places cut, doubled, swapped or overwritten by something odd; more often as it was."""
    text = draw(texts)
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 1, 2, 3)))):
        a, b = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        b = min(b, a + 8)
        middle = draw(st.sampled_from(("", text[a:b] * 2, text[a:b][::-1])) | words | st.sampled_from(list(pieces)))
        text = text[:a] + middle + text[b:]
    return text


def encoded(text: str, coding: str) -> bytes:
    """Return a text as the bytes of a file, what a coding does not know among them."""
    return text.encode(coding, "surrogatepass" if coding.startswith("utf") else "replace")


codings = st.sampled_from(("utf-8",) * 6 + ("utf-8-sig", "utf-8-sig", "utf-16", "latin-1"))
