"""The study of open answers.

Modules:
    study: which of the most frequent texts are found, by ours and by three papers
"""
