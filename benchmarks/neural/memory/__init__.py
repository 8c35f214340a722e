"""Plans of training steps within a memory budget."""
