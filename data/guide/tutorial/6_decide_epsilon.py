# %% [markdown]
# # 6. Decide epsilon and defend it
#
# Ten minutes. Which epsilon do you write into a scheme, and how do you justify it?

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## What epsilon means: the odds of guessing
#
# An attacker wants to know which of two answers you gave. Before your report both are equally likely: a guess is right half of
# the time. After your report, with any knowledge and any computation, the guess is right at most this often:

# %%
from math import exp

for epsilon in (0.1, 0.5, 1, 2, 3, 5):
    print(f"epsilon {epsilon:>3}: right at most {exp(epsilon) / (1 + exp(epsilon)):.1%} of the time")

# %% [markdown]
# For other initial odds, the report multiplies them by at most e^epsilon. This is the whole promise, and it applies to each
# question. The epsilons of questions, and of rounds, add up.
#
# ## What precision costs
#
# You want the mean of the chronic index with a standard error of 0.3 points, and promise epsilon 1. How many respondents do you
# need? The planner computes it without asking anybody.

# %% language="bash"
# ldpflow plan clinic.toml --aim "chronic: mean" --error 0.3 --epsilon 1

# %% [markdown]
# It also compares the mechanisms, and shows published choices of epsilon. The reverse question: with 20,000 respondents, how
# large is the error at each epsilon?

# %% language="bash"
# for epsilon in 0.5 1 2; do
#   ldpflow plan clinic.toml --aim "chronic: mean" --clients 20000 --epsilon $epsilon | grep -E "^ (epsilon|error)"
# done

# %% [markdown]
# Now you know both the risk of a respondent and the precision of the survey. A way to decide:
#
# 1. Write down the largest standard error at which the estimate is still useful.
# 2. Ask the planner for the smallest epsilon that reaches it with the respondents you have.
# 3. Look up the odds above. Would you take part yourself? If not, ask for less: fewer classes, fewer questions, fewer rounds.
#
# ## Defend it
#
# *"How is the promise verified?"* The audit enumerates every integer that clients draw with, and compares in exact
# fractions. Then it attacks the clients with many reports of two values. This is the scheme of step 1:

# %% language="bash"
# ldpflow audit data/schemes/health_insurance.toml --out certificate.md

# %% [markdown]
# - *certified* is proved. *bound by attack* is a lower bound from reports. The true loss is between the two.
# - `certificate.md` has the figures, the digest of the scheme, and a line for a signature.
#
# *"How much has a respondent spent who answered every time?"* The account includes every round, also failed ones:

# %% language="bash"
# ldpflow query "select attribute, rounds, fresh from composed_budgets where scheme = 'clinic' and rounds = 2 order by all"

# %% [markdown]
# The row without an attribute is the sum: two rounds of epsilon 1 + 2.
#
# *"What is not protected?"* Participation, and facts about the population. Read
# [the guarantee and its limits](../../../dpcore/README.md) before you promise anything to others.
#
# This is the end of the tutorial. The [how-to pages](../README.md) answer single questions.
