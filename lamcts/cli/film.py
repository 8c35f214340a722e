"""`lamcts film RUN`: film an episode of the policy that a run has found."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from lamcts.cli.console import number, say
from lamcts.cli.evaluate import RESULT
from lamcts.cli.outputs import Outputs, output_file
from lamcts.cli.parser import Parser
from lamcts.objectives.control import film as filming
from lamcts.text import safe_text
from lamcts.types import Json
from lamcts.utils.files import text_of

NAME = "film"  # of the files


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("run", help="the folder of a run, or its result.json")
    line = "length of the film at most, in simulated time (default: 5)"
    one.add_argument("--seconds", type=float, default=5.0, help=line)
    one.add_argument("--size", type=int, default=320, metavar="PIXELS", help="height of a frame (default: 320)")
    one.add_argument("--seed", type=int, default=0, help="random seed of the episode (default: 0)")
    one.add_argument("--frames", type=int, default=6, metavar="N", help="frames of the strip (default: 6)")
    line = "file to write, .gif, or .mp4 with imageio-ffmpeg; the strip has the same name (default: film in the folder)"
    one.add_argument("--out", "-o", metavar="FILE", type=output_file, help=line)
    line = "import the module that the file names and use its options: runs code, for files of your own only"
    one.add_argument("--trust", action="store_true", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    file = Path(args.run) / RESULT if Path(args.run).is_dir() else Path(args.run)
    if not file.is_file():
        raise ValueError(f"expected the folder of a run, or its {RESULT}, got {args.run!r}: no file {file}")
    if args.frames < 1:
        raise ValueError(f"--frames: expected at least 1, got {args.frames}")
    out = file.parent / (NAME + (".mp4" if filming.movies() else ".gif")) if args.out is None else Path(args.out)
    if out.suffix not in (".gif", ".mp4") or (out.suffix == ".mp4" and not filming.movies()):
        raise ValueError(f"--out: expected a name ending in .gif (or .mp4, with imageio-ffmpeg), got {args.out!r}")
    found = filming.film(_policy(file), seconds=args.seconds, size=args.size, seed=args.seed, trust=args.trust)
    seconds = len(found.frames) / found.rate
    place = "" if found.distance is None else f", {found.distance:.2f} m"
    ended = f"; the episode ended early, at step {found.steps} of {found.most_steps}" if found.ended else ""
    what = f"{found.steps} steps, return {number(found.total)}{place}{ended}"
    say(f"{seconds:.1f} s in {len(found.frames)} frames: {what}")
    outputs, strip = Outputs(args), out.with_suffix(".png")
    with outputs.file(out.name):
        found.save(out)
    with outputs.file(strip.name):
        found.save_strip(strip, args.frames)
    outputs.announce(out.parent)
    return outputs.code


def _policy(file: Path) -> Json:
    try:
        held = json.loads(text_of(file, "the file"))
    except ValueError as error:
        raise ValueError(f"expected JSON in {file}, got another content: {safe_text(error)}") from None
    found = held.get("policy", held if "environment" in held else None) if isinstance(held, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"expected a policy in {file}, got none: film what a gait, lunar or gym:NAME has found")
    return found
