"""The Datasets that the library returns: names, dimensions, attributes, evaluation."""
