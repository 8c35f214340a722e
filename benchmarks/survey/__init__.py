"""The parts of `python -m benchmarks.house`: a file a kind of number."""
