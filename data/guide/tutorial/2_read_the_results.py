# %% [markdown]
# # 2. Read the results
#
# Ten minutes. The round of [step 1](1_first_round.md) is in a database file. You query it in SQL, then in Python, and plot it.

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## SQL in the terminal
#
# A view whose name begins with `latest_` has one row for each estimate of the current run of every round.

# %% language="bash"
# ldpflow query "select category, estimate, low, high from latest_frequencies
#   where attribute = 'health' and scheme = 'health_insurance'"

# %% [markdown]
# Statistics of a numeric question are in `latest_functionals`. The filter `given = ''` means all respondents, not a group.

# %% language="bash"
# ldpflow query "select functional, estimate, standard_error, low, high from latest_functionals
#   where attribute = 'chronic' and given = '' and scheme = 'health_insurance'"

# %% [markdown]
# ## The same in Python
#
# Each landing copies the file to `warehouse.published.duckdb`. Read that copy, so that you never block a round.

# %%
import duckdb

file = duckdb.connect("data/var/warehouse.published.duckdb", read_only=True)
visits = file.sql(
    "select category, estimate, low, high from latest_frequencies where attribute = 'visits' and scheme = 'health_insurance'"
).df()
visits.head(3)

# %% [markdown]
# It is a DataFrame. Do the intervals cover the true proportions? The file is public, so you can compare:

# %%
import pandas as pd

people = pd.read_parquet("data/samples/health_insurance.parquet")
true = people["visits"].astype(str).replace("10", "10+").value_counts(normalize=True)
visits["truth"] = visits["category"].map(true)
visits["held"] = (visits["low"] <= visits["truth"]) & (visits["truth"] <= visits["high"])
print(f"the interval covered the true value for {visits['held'].sum()} of {len(visits)} categories")

# %% [markdown]
# ## Plot it
#
# The round stored its plots in `data/var/figures`. This is one of them.

# %%
from pathlib import Path

from IPython.display import Image

newest = max(Path("data/var/figures").glob("*/visits.png"), key=lambda path: path.stat().st_mtime)
Image(newest, alt="Shares of the number of visits, each with its interval")

# %% [markdown]
# You can also plot with your own tools, from the columns `x`, `density`, `low` and `high`:

# %%
from dpcore.results.plots import plot_density, style

curve = file.sql("from latest_densities where attribute = 'chronic' and scheme = 'health_insurance'").df()
figure, axes = style.new_axes()
plot_density(curve, axes, unit="points")
Image(style.png(figure), alt="The estimated density of the chronic index, with its band")

# %% [markdown]
# ## One page for other readers

# %% language="bash"
# ldpflow publish round.html --scheme health_insurance

# %% [markdown]
# Open `round.html` in a browser. It works without a network and can be printed.
#
# [The page about data](../../README.md) leads to thirty more questions, each with its SQL.
#
# Next: [write your own scheme](3_your_own_scheme.md).
