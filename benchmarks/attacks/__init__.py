"""The attacks of `python -m benchmarks.soak`: a file a kind, and what they draw their cases from."""
