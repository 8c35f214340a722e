"""Plans of `torch.compile`'s min-cut partitioner, compared with ours by `memory_fronts` and `memory_gpu`."""
