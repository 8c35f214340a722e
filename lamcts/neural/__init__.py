"""What needs torch (extra: torch). Each part loads it when it is first used."""
