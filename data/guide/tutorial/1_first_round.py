# %% [markdown]
# # 1. Your first round
#
# Ten minutes. You ask 20,190 respondents three questions without seeing one answer, and read the estimates.
#
# You need Python 3.11 or newer, git and make. In the checkout, once:
#
# <!-- not run: it sets up the environment that runs this page -->
# ```sh
# make .venv/.ok                # installs what is needed, in this folder alone
# source .venv/bin/activate     # puts its commands on your path
# ```

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## The respondents
#
# The package contains a public-domain file of real records: the RAND Health Insurance Experiment. A row is one person in one
# year.

# %%
import pandas as pd

people = pd.read_parquet("data/samples/health_insurance.parquet")
people.sample(4, random_state=7)

# %% [markdown]
# You can see this file only because it is public. From here on, imagine that each row is stored on its owner's telephone.
#
# ## The questions
#
# A *scheme* is a TOML file. It lists the questions, and how much a report may reveal of each answer. That limit is *epsilon*: 0
# is nothing, 1 is a little, 5 is nearly everything. `ldpflow scheme` reads a scheme and shows what it promises.

# %% language="bash"
# ldpflow scheme data/schemes/health_insurance.toml

# %% [markdown]
# There are three questions: how often somebody saw a doctor (`visits`), an index of chronic diseases (`chronic`), and the
# self-rated health. The columns on the right are computed exactly from the integers that clients use.
#
# ## The round
#
# One command reads the records, adds noise to each answer as the respondent's device would, discards the answers, and estimates
# from the noisy reports only.

# %% language="bash"
# ldpflow run data/schemes/health_insurance.toml --records data/samples/health_insurance.parquet

# %% [markdown]
# Your estimates differ a little from these: the operating system supplies fresh noise each time, and nobody can repeat it.
#
# How to read a line:
#
# - **estimate**: the estimate for all respondents.
# - **95 % interval**: a range that covers the true value in 95 of 100 rounds. Its width comes from the noise of the answers.
# - **epsilon**: what each respondent spent on this question. The total is under the table.
#
# ## Compare with the true values
#
# This file is public, so here you can compare.

# %%
truth = {
    "share of people who saw no doctor": (people["visits"] == 0).mean(),
    "mean of the index": people["chronic_index"].mean(),
    "share in excellent health": (people["health"] == "excellent").mean(),
}
for what, value in truth.items():
    print(f"{what:35} {value:.3f}")

# %% [markdown]
# Compare these with the table above. About one interval in twenty does not cover the true value.
#
# ldpflow refuses to run a landed round again on the same day, so that nobody is asked twice by mistake. To repeat it, use
# `--again`.
#
# Next: [read the results](2_read_the_results.md).
