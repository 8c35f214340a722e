"""Problems with constraints and a known best feasible value."""
