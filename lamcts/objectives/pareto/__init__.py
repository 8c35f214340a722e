"""Problems with several objectives: known fronts, and designs from engineering."""
