"""The inputs of `python -m benchmarks.fuzz`: a file a kind, with what is drawn and what it must come to."""
