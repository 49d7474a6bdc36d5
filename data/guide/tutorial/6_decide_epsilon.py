# %% [markdown]
# # 6. Decide epsilon and defend it
#
# Ten minutes. Which epsilon do you write into a scheme, and what do you say to somebody who asks why?

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## What epsilon means: the odds of guessing
#
# Somebody wants to know which of two answers you gave. Before your report both are equally likely to them: they guess right half
# of the time. After your report, whatever they know and however they compute, they are right at most so often:

# %%
from math import exp

for epsilon in (0.1, 0.5, 1, 2, 3, 5):
    print(f"epsilon {epsilon:>3}: right at most {exp(epsilon) / (1 + exp(epsilon)):.1%} of the time")

# %% [markdown]
# If they began with other odds, multiply those by e^epsilon at most. That is the whole promise, and it holds for each question.
# Several questions, and several rounds, add up.
#
# ## What precision costs
#
# You want the mean of the chronic index with a standard error of 0.3 points, and promise epsilon 1. How many people must take
# part? Ask the planner; nobody is asked anything.

# %% language="bash"
# ldpflow plan clinic.toml --aim "chronic: mean" --error 0.3 --epsilon 1

# %% [markdown]
# It also compares the mechanisms, and shows what others have published. Or the other way round: with 20,000 people, how large is
# the error at each epsilon?

# %% language="bash"
# for epsilon in 0.5 1 2; do
#   ldpflow plan clinic.toml --aim "chronic: mean" --clients 20000 --epsilon $epsilon | grep -E "^ (epsilon|error)"
# done

# %% [markdown]
# Now you have both sides on the table: what a person risks, and what the survey learns. A way to decide:
#
# 1. Write down the standard error below which the number is of use to somebody.
# 2. Ask the planner for the smallest epsilon that reaches it with the people you have.
# 3. Look up the odds above. Would you take part yourself? If not, ask for less: fewer classes, fewer questions, fewer rounds.
#
# ## Defend it
#
# *"Is the promise kept, or only written down?"* The audit enumerates every integer that clients draw with, and compares in exact
# fractions. Then it attacks the clients as somebody would who has many reports of two values. This is the scheme of step 1:

# %% language="bash"
# ldpflow audit data/schemes/health_insurance.toml --out certificate.md

# %% [markdown]
# - *kept at most* is proved. *reports show at least* was found by the attack. The truth is between the two.
# - `certificate.md` has the figures, the digest of the scheme, and a line to sign.
#
# *"What has a person spent who answered every time?"* The account is kept for every round, failed ones included:

# %% language="bash"
# ldpflow query "select attribute, rounds, fresh from composed_budgets where scheme = 'clinic' and rounds = 2 order by all"

# %% [markdown]
# The row without an attribute is the sum: two rounds of epsilon 1 + 2.
#
# *"What is not protected?"* That somebody took part, and what is true of everyone. Read
# [the promise and its limits](../../../dpcore/README.md) before you promise anything to others.
#
# That was the tutorial. The [how-tos](../README.md) answer single questions.
