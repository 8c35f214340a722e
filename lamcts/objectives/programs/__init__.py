"""Objectives of the user: a Python function by name, or a program that prints a number."""
