"""Fuzzing, crashes and long runs."""
