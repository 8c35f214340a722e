from lamcts.costs.spills import Spills, cell, least_spills, mean_spills, spills
