"""Architecture search: spaces of networks, and tables of trained ones as objectives. Numpy only."""
