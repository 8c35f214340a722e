"""Categories, integers and mixed spaces."""
