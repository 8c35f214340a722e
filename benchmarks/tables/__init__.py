"""Tables of rows: `python -m benchmarks.tables` prints those of results/runs, other files serve one script each."""
