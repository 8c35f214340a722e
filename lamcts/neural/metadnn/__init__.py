"""The meta-DNN of AlphaX: an architecture's accuracy, predicted from its encoding (thesis 3.2.3 and 3.3.2)."""

from lamcts.neural.metadnn.meta_dnn import KINDS, MetaDnn, Predictor, make

__all__ = ["KINDS", "MetaDnn", "Predictor", "make"]
