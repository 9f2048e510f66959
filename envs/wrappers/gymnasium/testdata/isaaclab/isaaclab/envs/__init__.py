"""Environments of the stand-in; their functions are in mdp."""
