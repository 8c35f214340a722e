"""Run time of a loop nest: its C program, compiled by the system's compiler and timed."""

import ast
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement import Access, Block, Loop, Statement
from lamcts.movement.costs.trace import Body, ClippedLoop, Layout
from lamcts.text import shortened

FLAGS = ("-O3", "-march=native")
SECONDS = 60.0  # after which a program is stopped (untuned)
REPEATS = 7  # runs of a program, of which the fastest counts; as in timeit, the others measure the machine

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
FUNCTIONS = {"abs": "fabs", "max": "fmax", "min": "fmin"}  # of Python, in C
MATHS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "pow")

PROGRAM = """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline long least(long a, long b) { return a < b ? a : b; }

__attribute__((noinline)) static void nest(%(parameters)s)
{
%(body)s}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void fill(double *array, long words)
{
    unsigned long state = 1;
    for (long i = 0; i < words; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        array[i] = 1.0 + (state >> 11) * 0x1p-53;
    }
}

int main(void)
{
    double best_seconds = INFINITY, checksum = 0.0;
%(allocations)s
    for (int run = 0; run < %(repeats)d; run++) {
%(fills)s
        double start_seconds = cpu_seconds();
        nest(%(arguments)s);
        double run_seconds = cpu_seconds() - start_seconds;
        if (run_seconds < best_seconds) best_seconds = run_seconds;
%(sums)s
    }
    printf("%%.9g %%g\\n", best_seconds, checksum);
    return 0;
}
"""


def seconds(nest: Program, compiler: str = "cc", flags: Sequence[str] = FLAGS, repeats: int = REPEATS) -> float:
    """Return the CPU seconds of a nest, compiled from C with arrays of doubles.

    Parameters
    ----------
    nest : Nest or Tiling
        The nest, tiled or not.
    compiler : str, default "cc"
        The C compiler: a command on the path, or the path of a file.
    flags : sequence of str, default ("-O3", "-march=native")
        Options of the compiler.
    repeats : int, default 7
        Runs on the same inputs; the fastest counts.

    Raises
    ------
    RuntimeError
        If the compiler is missing or fails, or a program runs for more than 60 seconds in all.
    ValueError
        If a statement has no formula in C, such as a function that is not in C's mathematical library.
    """
    if shutil.which(compiler) is None:
        raise RuntimeError(f"compiler: expected a C compiler, found no {compiler!r}; install gcc, or name another")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "nest.c"), Path(folder, "nest")
        source.write_text(c_source(nest, repeats))
        _call([compiler, *flags, "-o", str(program), str(source), "-lm"], "compiler")
        return float(_call([str(program)], "program").split()[0])


def _call(command: list[str], what: str) -> str:
    """Return the output of a command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{what}: expected an end within {SECONDS:g} s, got none; use smaller sizes") from None
    if done.returncode:
        raise RuntimeError(f"{what}: expected exit status 0, got {done.returncode}: {shortened(done.stderr.strip())}")
    return done.stdout


def c_source(nest: Program, repeats: int = REPEATS) -> str:
    """Return the C program that runs a nest and prints its CPU seconds and the sum of its results."""
    layout = Layout.of(nest.statements, nest.sizes)
    words = {array: layout.elements(array) for array in layout.shapes}
    written = dict.fromkeys(statement.target.array for statement in nest.statements)
    return PROGRAM % {
        "parameters": ", ".join(f"double *restrict {array}" for array in words),
        "arguments": ", ".join(words),
        "body": _block(nest.body, layout, nest.sizes, 1),
        "allocations": "\n".join(f"    double *{a} = malloc({n} * sizeof *{a});" for a, n in words.items()),
        "fills": "\n".join(f"        fill({array}, {n});" for array, n in words.items()),
        "sums": "\n".join(f"        for (long i = 0; i < {words[a]}; i++) checksum += {a}[i];" for a in written),
        "repeats": repeats,
    }


def _block(body: Body, layout: Layout, sizes: Mapping[str, int], depth: int) -> str:
    """Return the C code of blocks and statements."""
    indent, lines = "    " * depth, []
    for item in body:
        if isinstance(item, Statement):
            value = _expression(ast.parse(item.formula, mode="eval").body, item, layout)
            lines.append(f"{indent}{_element(item.target, layout)} = {value};\n")
        else:
            lines.append(f"{indent}{_header(item.loop, sizes)}\n{_inside(item, layout, sizes, depth)}")
    return "".join(lines)


def _inside(block: Block, layout: Layout, sizes: Mapping[str, int], depth: int) -> str:
    """Return the body of a loop, in braces if it is more than one statement."""
    body, indent = _block(block.body, layout, sizes, depth + 1), "    " * depth
    return body if len(block.body) == 1 else f"{indent}{{\n{body}{indent}}}\n"


def _header(loop: Loop, sizes: Mapping[str, int]) -> str:
    start, stop = (str(end.put(sizes)) for end in (loop.start, loop.stop))
    if isinstance(loop, ClippedLoop):
        stop = f"least({stop}, {loop.cap.put(sizes)})"
    return _c_name(f"for (long {loop.name} = {start}; {loop.name} < {stop}; {loop.name}++)")


def _c_name(text: str) -> str:
    """Return a text with the names of loops over tiles, such as i', as names of C."""
    return text.replace("'", "_tile")


def _element(access: Access, layout: Layout) -> str:
    return f"{access.array}[{layout.address(access) - layout.bases[access.array]}]"


def _expression(node: ast.expr, statement: Statement, layout: Layout) -> str:
    """Return an expression of a formula in C."""

    def inner(part: ast.expr) -> str:
        return _expression(part, statement, layout)

    if isinstance(node, ast.Name):
        number = node.id.removeprefix("read")
        # Other names are constants in registers: their value does not change the traffic.
        return _element(statement.reads[int(number)], layout) if number.isdigit() else "1.5"
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return repr(float(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"(-{inner(node.operand)})"
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return f"({inner(node.left)} {OPERATORS[type(node.op)]} {inner(node.right)})"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return f"pow({inner(node.left)}, {inner(node.right)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name = FUNCTIONS.get(node.func.id, node.func.id)
        if name in MATHS or name in FUNCTIONS.values():
            return f"{name}({', '.join(map(inner, node.args))})"
    known = ", ".join((*FUNCTIONS, *MATHS))
    raise ValueError(f"{statement.target}: expected sums, products and functions ({known}), got {ast.unparse(node)!r}")
