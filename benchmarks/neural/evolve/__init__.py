"""Evolution of networks on their computation graphs (AutoGO)."""
