"""A policy on episodes that the search has not seen: its score, and what it does for it."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.cli.screen import number, say
from lamcts.rng import Purpose, derive

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

RESULT = "result.json"
ALWAYS = ("episodes", "mean", "sd")
WALKED, PLAYED = ("distance", "steps", "falls"), ("steps", "ended_early")
NUMBERS = (*ALWAYS, *WALKED, *PLAYED)
Score = dict[str, Any]


def start(objective: Any, args: argparse.Namespace) -> dict[str, Score]:
    """Score the policy that every search starts with: what is found has to be seen beside it."""
    if not hasattr(objective, "policy") or objective.x0 is None or args.check < 1:
        return {}
    score = scored(objective, objective.x0, args.check, args.seed)
    nothing = not np.any(objective.x0) and not getattr(objective, "hidden", ())
    say(f"{'W = 0' if nothing else 'the start'} on {said(score)}")
    return {"start": score}


def check(objective: Any, x: Any, args: argparse.Namespace) -> dict[str, Score]:
    """Score the policy that was found, and warn where it gets its return for standing."""
    score = scored(objective, x, args.check, args.seed)
    say(f"the same policy on {said(score)}")
    if "warning" in score:
        say(f"warning: {score['warning']}")
    return {"check": score}


def scored(objective: Any, x: Any, episodes: int, seed: int) -> Score:
    """Score a policy on episodes that the search has not seen: the best of noisy scores flatters itself."""
    fresh = derive(seed, Purpose.EVALUATION, 0, 1)  # trials have keys of one number less
    found = getattr(objective, "watch", objective.evaluate)(x, seed=fresh, rollouts=episodes)
    spread = float(found.returns.std(ddof=min(1, episodes - 1)))
    return {"episodes": episodes, "mean": float(found.returns.mean()), "sd": spread, **_motion(found)}


def _motion(found: Any) -> Score:
    """Return what the episodes show beside their returns, where they were watched."""
    if not hasattr(found, "ended"):
        return {}
    ended = int(found.ended.sum())
    motion: Score = {"steps": float(found.steps.mean())}
    if found.distance is None:
        return motion | {"ended_early": ended}
    motion |= {"distance": float(found.distance.mean()), "falls": ended}
    if found.alive_share is not None:
        motion["alive_share"] = found.alive_share
    if found.idle:
        motion["warning"] = (
            f"{found.alive_share:.0%} of this return is the bonus for being alive: "
            f"the body hardly moves, {motion['distance']:.2f} m in an episode"
        )
    return motion


def said(score: Score) -> str:
    """Return a score in a line."""
    text = f"{score['episodes']} new episodes: mean {number(score['mean'])}, sd {number(score['sd'])}"
    if {*WALKED} <= score.keys():
        text += f"; {score['distance']:.2f} m in {score['steps']:.0f} steps, {score['falls']} fell"
    elif {*PLAYED} <= score.keys():
        text += f"; {score['steps']:.0f} steps, {score['ended_early']} ended before their cap"
    return text


def rows_of(record: "Recorded") -> list[list[str]]:
    """Return what `result.json` beside a journal says of its check; nothing where it is another run's."""
    held = _beside(record)
    score = held.get("check")
    if not isinstance(score, dict) or not _legible(score):
        return []
    done = int(np.count_nonzero(record.trial >= 0))
    when = "" if held.get("evaluations") == done else f" (after {held.get('evaluations')} evaluations)"
    return [["check", said(score) + when]] + ([["warning", str(score["warning"])]] if "warning" in score else [])


def _beside(record: "Recorded") -> dict[str, Any]:
    """Return the result of the same run, empty where there is none that can be read."""
    file = Path(record.path).parent / RESULT
    try:
        held = json.loads(file.read_text()) if file.is_file() else None
    except (OSError, ValueError):
        return {}
    if not isinstance(held, dict) or held.get("seed") != record.fingerprint.get("seed"):
        return {}
    return held if all(held.get(name) == record.about.get(name) for name in ("objective", "settings")) else {}


def _legible(score: Score) -> bool:
    """Return whether all that is said of a score is there in numbers: anybody may write such a file."""
    there = [score[name] for name in NUMBERS if name in score]
    return {*ALWAYS} <= score.keys() and all(type(value) in (int, float) for value in there)
