"""`lamcts film RUN`: the policy that a run has found, filmed."""

import argparse
import json
from pathlib import Path
from typing import Any

from lamcts.cli.checked import RESULT
from lamcts.cli.screen import number, say
from lamcts.objectives.control import film as filmed
from lamcts.text import safe_text

NAME = "film"  # of what is written


def film(args: argparse.Namespace) -> int:
    """Film an episode of the policy in a folder; write a strip of frames, and a film."""
    file = _result(args.run)
    if args.frames < 1:
        raise ValueError(f"--frames: expected at least 1, got {args.frames}")
    out = file.parent / (NAME + (".mp4" if filmed.movies() else ".gif")) if args.out is None else Path(args.out)
    if out.suffix not in (".gif", ".mp4") or (out.suffix == ".mp4" and not filmed.movies()):
        raise ValueError(f"--out: expected a name ending in .gif (or .mp4, with imageio-ffmpeg), got {args.out!r}")
    found = filmed.film(_policy(file), seconds=args.seconds, size=args.size, seed=args.seed, trust=args.trust)
    found.save(out)
    found.save_strip(out.with_suffix(".png"), args.frames)
    say(_told(found))
    say(f"written to {out.parent}/: {out.name}, {out.with_suffix('.png').name}")
    return 0


def _result(run: str) -> Path:
    """Return the file that a policy stands in."""
    file = Path(run) / RESULT if Path(run).is_dir() else Path(run)
    if not file.is_file():
        raise ValueError(f"expected the folder of a run, or its {RESULT}, got {run!r}: no file {file}")
    return file


def _policy(file: Path) -> dict[str, Any]:
    try:
        held = json.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f"expected JSON in {file}, got another content: {safe_text(error)}") from None
    found = held.get("policy", held if "environment" in held else None) if isinstance(held, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"expected a policy in {file}, got none: film what a gait, lunar or gym:NAME has found")
    return found


def _told(found: "filmed.Film") -> str:
    """Return what was filmed in a line."""
    seconds = len(found.frames) / found.rate
    place = "" if found.distance is None else f", {found.distance:.2f} m"
    ended = ", then the episode ended" if found.ended else ""
    what = f"{found.steps} steps, return {number(found.total)}{place}{ended}"
    return f"{seconds:.1f} s in {len(found.frames)} frames: {what}"
