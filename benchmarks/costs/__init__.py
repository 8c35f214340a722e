"""Data movement."""
