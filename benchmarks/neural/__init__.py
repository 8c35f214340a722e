"""Training, search and memory of networks: what `lamcts.neural` does."""
