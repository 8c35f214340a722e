"""Seven weeks in a laboratory: sheets of experiments, a journal, a mistake that is corrected, and what the model says.

The same from a shell: `lamcts ask lab.db ... -n 6 -o week1.csv`, then `lamcts tell lab.db week1.csv`.
python examples/laboratory.py
"""

import tempfile
from pathlib import Path

import lamcts

SPACE = {
    "mix": lamcts.Simplex(["flour", "sugar", "butter"], total=200, step=5),  # grams, as the balance has them
    "oven": lamcts.Float(150, 230, step=5),
    "pan": lamcts.Choice(["steel", "glass"]),
}


def bake(point):
    """Return the score of a tasting, and the share of butter in per cent."""
    mix, oven = point["mix"], point["oven"]
    score = 9 - ((mix["flour"] - 100) / 40) ** 2 - ((mix["sugar"] - 55) / 25) ** 2 - ((oven - 190) / 20) ** 2
    return {"score": score - 0.4 * (point["pan"] == "glass"), "fat": mix["butter"] * 0.82 / 2}


with tempfile.TemporaryDirectory() as folder:
    journal = Path(folder) / "lab.db"
    for week in range(7):  # a process of its own each week: the same line reopens the journal
        lab = lamcts.Optimizer(SPACE, journal=journal, objectives={"score": "max"}, constraints=["fat <= 20"], seed=0)
        trials = lab.pending or lab.ask(6)
        lab.tell(trials, [bake(trial.point) for trial in trials])
        print(f"week {week + 1}: best {lab.best.value:.2f}, {lab.best.point}")
    first = lab.rows()[0]
    lab.correct(0, {"score": first["score"] - 0.5, "fat": 18.0})  # two jars were mixed up
    prediction = lab.best_predicted
    print(
        f"the model expects {prediction.mean:.2f} +- {prediction.std:.2f} there, leave-one-out R2 {prediction.r2:.2f}"
    )
    figure = lamcts.plot.contours(journal)
    figure.savefig(Path(folder) / "surfaces.png")
    print(len(lab.to_dataframe()), "rows in the journal;", f"lamcts report {journal.name} draws the rest")
