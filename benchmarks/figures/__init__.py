"""The figures of the thesis's chapter on LA-MCTS, redrawn from our own runs: one script a figure."""
