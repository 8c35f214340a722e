"""The attacks of `python -m benchmarks.robustness.soak`: a file a kind, and what they draw their cases from."""
