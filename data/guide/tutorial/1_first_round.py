# %% [markdown]
# # 1. Your first round
#
# Ten minutes. You ask 20,190 people three questions without seeing one answer, and read what comes out.
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
# ## The people
#
# The package carries a file of real people: the RAND Health Insurance Experiment, public domain. A row is one person in one year.

# %%
import pandas as pd

people = pd.read_parquet("data/samples/health_insurance.parquet")
people.sample(4, random_state=7)

# %% [markdown]
# You can see this file only because it is public. From here on, pretend that each row lies on its owner's own telephone.
#
# ## What is asked
#
# A *scheme* is a TOML file. It says what is asked, and how much of each answer may be known. That amount is *epsilon*: 0 is
# nothing, 1 is a little, 5 is nearly all. `ldpflow scheme` reads a scheme and says what it promises.

# %% language="bash"
# ldpflow scheme data/schemes/health_insurance.toml

# %% [markdown]
# Three questions: how often somebody saw a doctor (`visits`), an index of chronic diseases (`chronic`), and how people rate
# their own health. The last column is what the program worked out by itself, exactly, from the integers that clients use.
#
# ## The round
#
# One command takes the people, makes each answer noisy as the person's own device would, throws the answers away, and estimates
# from the noisy reports alone.

# %% language="bash"
# ldpflow run data/schemes/health_insurance.toml --records data/samples/health_insurance.parquet

# %% [markdown]
# Your numbers differ a little from these: the noise is drawn anew from the operating system each time, and nobody can repeat it.
#
# How to read a line:
#
# - **estimate**: the best guess of the number for all people.
# - **95 % interval**: where the true number lies, 95 times in 100. It is this wide because the answers were noisy.
# - **epsilon**: what each person gave away for this question. The sum is under the table.
#
# ## Was it right?
#
# This file is public, so for once you can look.

# %%
truth = {
    "share of people who saw no doctor": (people["visits"] == 0).mean(),
    "mean of the index": people["chronic_index"].mean(),
    "share in excellent health": (people["health"] == "excellent").mean(),
}
for what, value in truth.items():
    print(f"{what:35} {value:.3f}")

# %% [markdown]
# Compare these with the table above. About one interval in twenty misses; the others hold the truth.
#
# A landed round is refused when you run it again on the same day, so that nobody is asked twice by mistake. Say `--again` if you
# mean it.
#
# Next: [read the results](2_read_the_results.md).
