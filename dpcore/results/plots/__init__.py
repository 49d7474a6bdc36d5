"""Pictures: functions from rows of a table and an Axes to the Axes.  The only importer of matplotlib.

Modules:
    attribute: the pictures of one attribute
    audit: pictures of an audit
    canvas: layout of a figure
    comparison: differences with their intervals, and the pictures of changes and of groups
    density: densities and distribution functions with their bands
    frequency: frequencies of categories and of support points with their intervals
    functional: functionals with their intervals
    inline: a figure as an element of a page
    joint: pictures of two attributes
    picture_kind: what a kind of picture is
    style: the style of all pictures
    truth: true values of simulated respondents, and the picture of dry runs
"""

from dpcore.results.plots.attribute import PICTURES, attribute_pictures
from dpcore.results.plots.audit import plot_audit, plot_averaging
from dpcore.results.plots.comparison import difference_pictures, plot_comparison
from dpcore.results.plots.density import percent_width, plot_density, plot_groups
from dpcore.results.plots.frequency import plot_frequency, plot_law
from dpcore.results.plots.functional import plot_functional
from dpcore.results.plots.inline import inline, narrow, places
from dpcore.results.plots.joint import pair_pictures, plot_along, plot_joint
from dpcore.results.plots.style import height_for, new_axes, new_panels, png, svg

__all__ = [
    "PICTURES",
    "attribute_pictures",
    "difference_pictures",
    "height_for",
    "inline",
    "narrow",
    "new_axes",
    "new_panels",
    "pair_pictures",
    "percent_width",
    "places",
    "plot_along",
    "plot_audit",
    "plot_averaging",
    "plot_comparison",
    "plot_density",
    "plot_frequency",
    "plot_functional",
    "plot_groups",
    "plot_joint",
    "plot_law",
    "png",
    "svg",
]
