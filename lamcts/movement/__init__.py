"""Movement of data: what loop nests and factorisations move by formula, and kernels whose schedules are searched."""
