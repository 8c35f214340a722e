"""Networks of the applications: searched segmenters and generators, and a GRU, a U-Net and a DCGAN as baselines."""
