"""The inputs of `python -m benchmarks.robustness.fuzz`: a file a kind, with what is drawn and what it must come to."""
