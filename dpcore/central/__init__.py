"""Releases by a trusted curator, one mechanism a file, named as the literature names them: baselines for the local ones."""
