"""Pictures: each takes rows of a table and an Axes, and returns the Axes.  The door to matplotlib."""

from dpcore.plots.attribute import attribute_pictures
from dpcore.plots.audit import plot_audit, plot_averaging
from dpcore.plots.comparison import plot_comparison
from dpcore.plots.density import plot_density
from dpcore.plots.differences import difference_pictures
from dpcore.plots.frequency import plot_frequency
from dpcore.plots.functional import plot_functional
from dpcore.plots.groups import plot_groups
from dpcore.plots.style import height_for, in_words, new_axes, new_panels, png, rounded, separated, svg

__all__ = [
    "attribute_pictures",
    "difference_pictures",
    "height_for",
    "in_words",
    "new_axes",
    "new_panels",
    "plot_audit",
    "plot_averaging",
    "plot_comparison",
    "plot_density",
    "plot_frequency",
    "plot_functional",
    "plot_groups",
    "png",
    "rounded",
    "separated",
    "svg",
]
