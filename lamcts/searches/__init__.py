"""Whole searches of the papers, on public names. Each works with the optimizer, its journals and its executors."""
