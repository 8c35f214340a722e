"""The setting of the NeurIPS 2020 black-box optimisation challenge on models of scikit-learn."""
