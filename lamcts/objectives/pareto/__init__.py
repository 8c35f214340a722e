"""Problems with several objectives: fronts that are known, and designs from engineering."""
