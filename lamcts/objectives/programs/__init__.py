"""Objectives of the user: a Python function by name, or any program that prints a number."""
