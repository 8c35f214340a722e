"""Constraints and several objectives: a welded beam that is cheap, and strong enough; then also as stiff as can be.

A call of `beam` returns a dict: its cost, its stresses, how far it bends, and more, some of which are bounded. Yours
may do the same; what is sought and bounded is then said in the call. python examples/constraints.py
"""

import lamcts
from lamcts import objectives

beam = objectives.make("welded-beam")  # 4 parameters, 7 constraints

print("The cheapest beam that keeps all constraints:")
best = lamcts.minimize(beam, budget=150, seed=0)
print(f"  cost {best.fun:.4f}, the best known is {beam.optimum:.4f}; feasible: {best.feasible}")
for name, quantity in best.constraints.items():
    print(f"  {name:18} {quantity:.3g}")

print("Cost against deflection: no beam is the best, there is a front.")
both = {"cost": "min", "deflection": "min"}
run = lamcts.minimize(beam, budget=150, seed=0, objectives=both, reference={"cost": 10, "deflection": 0.25})
print(f"  {len(run.front)} beams, hypervolume {run.front.hypervolume():.3f}; a compromise, the knee: {run.fun}")
for found in run.front[:: max(1, len(run.front) // 6)]:
    print(f"  cost {found.values['cost']:6.3f}  deflection {found.values['deflection']:.4f}  at {found.point.round(3)}")

print("A check that costs nothing, and a constraint that is a function:")
slim = lamcts.minimize(
    beam,
    budget=60,
    seed=0,
    valid=lambda point: point[0] <= point[3],  # never proposed otherwise
    constraints={"type": "ineq", "fun": lambda point: 8 - point[2]},  # called before the beam is
    check_first=True,  # and where it is broken the beam is not built
)
print(f"  cost {slim.fun:.4f}, {slim.history.checked.sum()} of {slim.nfev} points were checked and not run")
