"""Growing trees: parameters, draws, stages, the adaptive pool."""
