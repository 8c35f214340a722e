"""The tables of results/runs: `python -m benchmarks.tables`. A table is a function of what was recorded."""

# isort: off
# Tables are printed in the order of these lines.
from benchmarks.tables import best as best
from benchmarks.tables import ranks as ranks
from benchmarks.tables import reached as reached
from benchmarks.tables import differences as differences
from benchmarks.tables import saved as saved
from benchmarks.tables import accounts as accounts
