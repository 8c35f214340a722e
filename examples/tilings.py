"""How far is a loop nest from the least possible traffic, and which tiles come near it? python examples/tilings.py

A matrix product in a memory of 192 words: its misses as written, the lower bound of every schedule, and a search of the
loop order and the tile sizes.
"""

import lamcts
from lamcts import objectives
from lamcts.movement import costs

SIZE, MEMORY = 24, 192

nest = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=SIZE)
bound = nest.lower_bound(MEMORY)
print(f"every schedule loads at least {bound.loads:,.0f} words ({bound.formula} for large N)")
print(f"as written: {nest.reuse_distances().misses(MEMORY):,} misses")

f = objectives.make("tiling", nest="matmul", size=SIZE, memory=MEMORY)
result = lamcts.minimize(f, f.space, budget=60, seed=0)
print(f"best of 60 tilings: {result.fun:,.0f} misses, {result.fun / bound.loads:.2f} times the bound")
print("its schedule:", result.x)
