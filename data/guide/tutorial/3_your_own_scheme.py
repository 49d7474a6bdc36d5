# %% [markdown]
# # 3. Write your own scheme
#
# Ten minutes. You ask the same people other questions, and spend less of their privacy.

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## The file
#
# Save this as `clinic.toml`. It asks how often people saw a doctor in three classes only, and how ill they are.

# %% tags=["file:clinic.toml"]
name = "clinic"
description = "How ill people are, and how often they saw a doctor"
clients = 20000                        # how many you expect
pairs = [["chronic", "doctor"]]        # the first by groups of the second

[attributes.doctor]
type = "categorical"
column = "visits"                      # its name in the file of records
categories = ["never", "1 to 3", "4 or more"]
codes = { 0 = "never", 1 = "1 to 3", 2 = "1 to 3", 3 = "1 to 3", 4 = "4 or more", 5 = "4 or more", 6 = "4 or more", 7 = "4 or more", 8 = "4 or more", 9 = "4 or more", 10 = "4 or more" }
epsilon = 1

[attributes.chronic]
type = "numeric"
column = "chronic_index"
lower = 0                              # fixed before anybody answers
upper = 60
unit = "points"
epsilon = 2
functionals = ["mean", "cdf(15)"]      # cdf(15): the share at or below 15

# %% [markdown]
# Only `name`, the questions, their type, their bounds or categories, and epsilon are needed. All keys are in
# [the reference](../reference/scheme.md).
#
# ## Check it before anybody answers

# %% language="bash"
# ldpflow scheme clinic.toml

# %% [markdown]
# The *digest* is the fingerprint of what clients and collector agree on. A report made under one digest is never counted under
# another.
#
# A mistake is answered with one line that says what to do:

# %% language="bash"
# sed 's/epsilon = 2/epsilom = 2/' clinic.toml > wrong.toml
# ldpflow scheme wrong.toml || true

# %% [markdown]
# ## Ask

# %% language="bash" tags=["rows vary"]
# ldpflow run clinic.toml --records data/samples/health_insurance.parquet

# %% [markdown]
# Means of groups have wider intervals than everyone's: fewer people are in each, and nobody knows for sure who, since that
# answer is noisy, too. The second table says whether two groups differ more than noise explains.
#
# ## Look at the checks
#
# Every round is checked. What did not pass?

# %% language="bash" tags=["rows vary"]
# ldpflow query "select name, detail from latest_checks where scheme = 'clinic' and not passed"

# %% [markdown]
# The index takes 31 values only, and the program has noticed from the reports. Means are still right. The share at or below 15
# depends on which side of 15 a whole value's people are: everyone's interval counts that in, and is wide for it. Reports of one
# group are too few to show the values, so that its interval takes a smooth curve for granted. Where values are seen, numbers
# that need a curve are refused. For a histogram instead, write `mechanism = "wavelet_laplace"` and `degree = 0`, as the scheme
# of step 1 does.
#
# ## How much does epsilon buy?
#
# Change `epsilon = 2` to `epsilon = 1` and try again, without touching the first result: `--data` gives the trial a folder of
# its own.

# %% language="bash"
# sed 's/epsilon = 2/epsilon = 1/' clinic.toml > careful.toml
# ldpflow run careful.toml --records data/samples/health_insurance.parquet --data data/var/trial > /dev/null
# ldpflow show | grep "Chronic .* mean .* [12] *$"
# ldpflow show --data data/var/trial | grep "Chronic .* mean .* [12] *$"

# %% [markdown]
# The second interval is about twice as wide. Half the epsilon costs about the precision that a quarter of the people would.
# [Step 6](6_decide_epsilon.md) turns that into a decision.
#
# Next: [collect from real clients](4_collect_from_real_clients.md).
