"""Score a policy on held-out episodes and describe its motion."""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.cli.console import number, say
from lamcts.rng import Purpose, derive
from lamcts.types import Json, Point
from lamcts.utils.files import text_of

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

RESULT = "result.json"
ALWAYS = ("episodes", "mean", "sd")
WALKED, PLAYED = ("distance", "steps", "falls"), ("steps", "ended_early")
NUMBERS = (*ALWAYS, *WALKED, *PLAYED)
SHARE = 0.05  # of --seconds, for each check of a policy: of the start and of the best (untuned)
Score = Json


def score_start(objective: Any, args: argparse.Namespace) -> dict[str, Score]:
    """Score the policy that every search starts from, as a baseline."""
    if not hasattr(objective, "policy") or objective.x0 is None or args.check < 1:
        return {}
    score = score_of(objective, objective.x0, args)
    zero = not np.any(objective.x0) and not getattr(objective, "hidden", ())
    say(f"baseline, {'the zero policy' if zero else 'the start'}: {format_score(score)}")
    return {"start": score}


def score_found(objective: Any, x: Point, args: argparse.Namespace) -> dict[str, Score]:
    """Score the best policy, and warn if most of its return is the bonus for being alive."""
    score = score_of(objective, x, args)
    say(f"best policy: {format_score(score)}")
    if "warning" in score:
        say(f"warning: {score['warning']}")
    return {"check": score}


def score_of(objective: Any, x: Point, args: argparse.Namespace) -> Score:
    """Score a policy on held-out episodes: the best of noisy scores is biased upwards."""
    fresh = derive(args.seed, Purpose.EVALUATION, 0, 1)  # trials have keys of one number less
    play = partial(objective.evaluate, x, seed=fresh)
    found = play(rollouts=args.check) if args.seconds is None else _within(play, args.check, SHARE * args.seconds)
    returns = found.returns
    spread = float(returns.std(ddof=min(1, len(returns) - 1)))
    return {"episodes": len(returns), "mean": float(returns.mean()), "sd": spread, **_motion(found)}


def _within(play: Callable[..., Any], episodes: int, seconds: float) -> Any:
    """Return what some episodes came to: all of them, or as many as fit into a time, at least one."""
    start, count = time.monotonic(), 1
    while True:
        before = time.monotonic()
        found, now = play(rollouts=count), time.monotonic()
        left = int((start + seconds - now) / max((now - before) / count, 1e-9))  # episodes as long as these
        if count == episodes or left < 2 * count:  # twice as many are all new: each number has starts of its own
            return found
        count = min(2 * count, episodes)


def searching_seconds(objective: Any, args: argparse.Namespace) -> float | None:
    """Return the seconds of a search: the limit without the shares of the two checks of a policy."""
    limit: float | None = args.seconds
    checked = hasattr(objective, "policy") and args.check > 0
    return limit if limit is None or not checked else limit * (1 - 2 * SHARE)


def _motion(found: Any) -> Score:
    """Return steps, distance and falls of the episodes, where they were recorded."""
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


def format_score(score: Score) -> str:
    """Return a score as one line."""
    text = f"{score['episodes']} held-out episodes: mean {number(score['mean'])}, sd {number(score['sd'])}"
    if {*WALKED} <= score.keys():
        text += f"; {score['distance']:.2f} m in {score['steps']:.0f} steps, {score['falls']} fell"
    elif {*PLAYED} <= score.keys():
        text += f"; {score['steps']:.0f} steps, {score['ended_early']} ended early"
    return text


def score_rows(record: "Recorded") -> list[list[str]]:
    """Return the rows of `lamcts show` on the score in `result.json`; none if that is of another run."""
    held = _result_of(record)
    score = held.get("check")
    if not isinstance(score, dict) or not _is_score(score):
        return []
    done = int(np.count_nonzero(record.trial >= 0))
    when = "" if held.get("evaluations") == done else f" (after {held.get('evaluations')} evaluations)"
    return [["check", format_score(score) + when]] + (
        [["warning", str(score["warning"])]] if "warning" in score else []
    )


def _result_of(record: "Recorded") -> Json:
    """Return `result.json` of the same run; empty if there is none that can be read."""
    file = Path(record.path).parent / RESULT
    try:
        held = json.loads(text_of(file, "the file")) if file.is_file() else None
    except (OSError, ValueError):
        return {}
    if not isinstance(held, dict) or held.get("seed") != record.fingerprint.get("seed"):
        return {}
    return held if all(held.get(name) == record.about.get(name) for name in ("objective", "settings")) else {}


def _is_score(score: Score) -> bool:
    """Return whether the entries of a score are numbers: the file may be written by others."""
    there = [score[name] for name in NUMBERS if name in score]
    return {*ALWAYS} <= score.keys() and all(type(value) in (int, float) for value in there)
