"""Problems with one objective and constraints, whose best feasible value is known."""
