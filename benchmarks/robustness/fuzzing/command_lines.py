"""Command lines: every subcommand, with options that fit and such that do not. They work, or say in a line why not.

What is run is small, and starts no program but `echo` and `false`; where a path stands, it leads into the folder of the
case, or nowhere.
"""

from pathlib import Path

from hypothesis import strategies as st

from benchmarks.robustness.attacks.verdict import expect
from benchmarks.robustness.fuzzing import journals
from benchmarks.robustness.fuzzing.called import TRACE, called
from benchmarks.robustness.fuzzing.space_files import ranges
from benchmarks.robustness.fuzzing.texts import numbers, odd, spoilt
from lamcts import objectives, samplers
from lamcts.journal import Journal
from lamcts.neural.searches import network_searches

Words = list[str]
SLOW = ("push", "nevergrad", "bo")  # seconds each, of which nothing here is the reason
MINE = 'def f(point):\n    return 1.0\n\n\ndef g(point):\n    return {"cost": 1.0, "sag": 2.0}\n\n\nh = 3\n'
KNOWN = "x,value\n0.5,1.0\n0.25,2.0\n"
FILES = ("run0.db", "run1.db", "run2.db", "empty", "mine.py", "known.csv", "space.json", ".", "no", "no/deeper")
FILES += ("a\0b", "")
WRITTEN = ("out", "out.png", "out.html", "out.txt", "no/deeper/out.png", "empty/out", "/dev/null/out", "run0.db")
WRITTEN += ("a\0b", "")
SAMPLERS = tuple(name for name in samplers.names() if name not in SLOW)
OBJECTIVES = tuple(name for name in objectives.names() if name not in SLOW)

FUNCTIONS = ("mine.py:f", "mine.py:f", "mine.py:g", "mine.py:h", "mine.py:", ":", "no.py:f", "math:sin")

known = st.sampled_from(FILES)
written = st.sampled_from(WRITTEN)
small = st.sampled_from(("1", "2", "5", "12", "12", "12"))
lengths = st.one_of(small, small, small, st.sampled_from(("0", "-1", "1.5", "1e3", "x", "", "nan")))
counts = lengths | st.just("9" * 30)  # of what takes no longer when there is more of it
real = st.one_of(st.sampled_from(("0", "1", "0.5", "1e-3")), numbers)
PROGRAMS = ("echo {x}", "echo 1", "false", "echo", "echo {y}", "echo {", "echo {}", "{x}", "", "'", "no-such {x}")
programs = st.sampled_from(PROGRAMS)
texts = st.sampled_from(("cost<=1", "cost == 0 +- 1e-3", "<=", "cost", "cost<=x", "a<=1<=2")) | odd

# what stands after an option; () stands for nothing
VALUES: dict[str, st.SearchStrategy[str] | tuple[()]] = {
    "--dim": counts, "--shift": counts | st.just("reference"), "--rotate": counts, "--noise": real,
    "--initial-random": real, "--rollouts": lengths, "--seeds": st.sampled_from(("fresh", "fixed", "x")),
    "--moments": known, "--episode-steps": lengths, "--permute": counts, "--continuous": (), "--constrained": (),
    "--objective-count": counts, "--against": odd, "--table": known, "--dataset": odd, "--guide": odd,
    "--vertices": counts, "--keyed": (), "--no-keyed": (), "--latency": known, "--robustness": known,
    "--command": programs, "--param": spoilt(st.builds("{}={}".format, st.sampled_from("xy"), ranges)),
    "--maximize": (),
    "--space": known | spoilt(st.just("0:1")), "--objective": st.sampled_from(("cost", "-sag", "-", "")),
    "--constraint": texts, "--reference": texts | st.just("cost=1"), "--timeout": real,
    "--pattern": odd | st.just("(.*)"), "--seed": counts, "--batch": counts,
    "--sampler": st.sampled_from((*SAMPLERS, "x", "nevergrad:x", "")),
    "--known": known, "--fix": spoilt(st.sampled_from(("x=0.5", "x1=0", "y=1"))), "--noisy": (), "--target": real,
    "--workers": st.sampled_from(("1", "1", "threads", "0", "-2", "x")), "--patience": counts, "--give-up": counts,
    "--check": lengths, "--out": written, "--journal": known, "--no-plot": (), "--quiet": (), "--front": (),
    "--csv": (), "--follow": (),
    "--kind": st.sampled_from(("best", "front", "parallel", "slice", "contour", "importance", "x")),
    "--search": st.sampled_from((*network_searches.names(), "x")), "--first": counts, "-o": written, "--help": (),
    "--version": (), "--n-trials": counts,
}  # fmt: skip
OTHERS = ("--search", "--first", "--front", "--csv", "--follow", "--kind")
TABLES = (
    "--table",
    "--dataset",
    "--guide",
    "--search",
    "--first",
    "--vertices",
    "--keyed",
    "--seed",
    "--known",
    "--fix",
)
OWN: dict[str, tuple[str, ...]] = {
    "run": tuple(name for name in VALUES if name not in OTHERS),
    "nas": TABLES,
    "show": ("--front", "--csv", "--follow"),
    "plot": ("--out", "--kind"),
    "report": ("--out", "-o"),
    "list": (),
}
FIRST: dict[str, st.SearchStrategy[Words]] = {
    "run": st.one_of(
        st.sampled_from((*OBJECTIVES, "x", "ackle")).map(lambda name: [name]),
        st.sampled_from(("ackley", "branin", "zdt1", "welded-beam")).map(lambda name: [name]),
        st.sampled_from(FUNCTIONS).map(lambda name: [name, "--param", "x=0:1"]),
        programs.map(lambda program: ["--command", program, "--param", "x=0:1"]),
        st.just([]),
    ),
    "nas": st.sampled_from(("nasbench201", "nasbench101", "x", "")).map(lambda name: ["--space", name]),
    "show": known.map(lambda path: [path]),
    "plot": st.lists(known, min_size=1, max_size=2),
    "report": st.lists(known, min_size=1, max_size=2),
    "list": st.just([]),
}
COMMANDS = ("run",) * 8 + ("nas", "show", "show", "plot", "report", "list")


@st.composite
def lines(draw: st.DrawFn) -> Words:
    """A command with what it needs, and up to four options, of its own or of another."""
    name = draw(st.sampled_from(COMMANDS))
    words = draw(FIRST[name])
    pool = OWN[name] if OWN[name] and draw(st.integers(0, 9)) else tuple(VALUES)
    for option in draw(st.lists(st.sampled_from(pool), max_size=draw(st.sampled_from((0, 1, 1, 2, 4))))):
        value = VALUES[option]
        words = [*words, option, *([] if isinstance(value, tuple) else [draw(value)])]
    if name in ("run", "nas"):
        plain = [] if draw(st.integers(0, 19)) == 0 else ["--no-plot"]
        check = [] if draw(st.booleans()) else ["--check", "0"]
        words = [*words, "--budget", draw(lengths), "--quiet", *plain, *check]
    if not draw(st.integers(0, 19)):  # somewhere an odd word
        at = draw(st.integers(0, len(words)))
        words = [*words[:at], draw(odd), *words[at:]]
    if name == "show" and words[0] not in FILES[:3]:  # --follow would wait for a journal that never comes
        words = [word for word in words if word != "--follow"]
    words = [word for word in (name, *words) if not word.startswith("/") or word.startswith("/dev/null/")]
    return [*words, TRACE] if draw(st.booleans()) else words


inputs = lines()


def check(argv: Words, folder: Path) -> bool:
    """Return whether a command line did its work; Broken where it fails in other words, or loses a journal."""
    for which in range(3):
        journals.copied(which, folder / f"run{which}.db")
    for name, text in {"mine.py": MINE, "known.csv": KNOWN, "space.json": '{"x": "0:1"}', "empty": ""}.items():
        (folder / name).write_text(text)
    worked = called(argv, folder)
    for which in range(3):
        now, before = Journal.read(folder / f"run{which}.db"), journals.record(which)
        kept = now.x[: before.n].tobytes() == before.x.tobytes() and now.n >= before.n
        expect(kept, f"the rows of run{which}.db", f"{now.n} after {' '.join(argv)!r:.200}")
    return worked
