# %% [markdown]
# # 3. Write your own scheme
#
# Ten minutes. You ask the same respondents other questions, and spend less epsilon.

# %% tags=["hidden"]
import os
from pathlib import Path

for name in ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):  # commands here print plainly
    os.environ.pop(name, None)
os.chdir(next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Makefile").exists()))

# %% [markdown]
# ## The file
#
# Save this as `clinic.toml`. It asks how often respondents saw a doctor, in only three classes, and how ill they are.

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
# Only `name`, the questions, their type, their bounds or categories, and epsilon are required. [The
# reference](../reference/scheme.md) lists all keys.
#
# ## Check it before respondents answer

# %% language="bash"
# ldpflow scheme clinic.toml

# %% [markdown]
# The *digest* is a hash of what clients and collector agree on. A report made under one digest is never counted under
# another.
#
# For a mistake, ldpflow prints one line that states what to do:

# %% language="bash"
# sed 's/epsilon = 2/epsilom = 2/' clinic.toml > wrong.toml
# ldpflow scheme wrong.toml || true

# %% [markdown]
# ## Ask

# %% language="bash" tags=["rows vary"]
# ldpflow run clinic.toml --records data/samples/health_insurance.parquet

# %% [markdown]
# Intervals of group means are wider than those of the overall mean. A group has fewer respondents, and membership is uncertain,
# because that answer is noisy as well. The second table shows whether two groups differ significantly.
#
# ## Look at the checks
#
# ldpflow checks every round. Which checks did not pass?

# %% language="bash" tags=["rows vary"]
# ldpflow query "select name, detail from latest_checks where scheme = 'clinic' and not passed"

# %% [markdown]
# The index has only 31 values, and the check detected this from the reports. Means are not affected. The proportion at or below
# 15 depends on the side of 15 on which all respondents of one value are. The interval for all respondents accounts for this and
# is therefore wide. The reports of one group are too few to show the values, so its interval assumes a smooth density. If the
# values are detected, functionals that need a density are withheld. For a histogram instead, write
# `mechanism = "wavelet_laplace"` and `degree = 0`, as the scheme of step 1 does.
#
# ## How much precision does epsilon give?
#
# Change `epsilon = 2` to `epsilon = 1` and run again. `--data` gives the trial its own folder, so the first result stays.

# %% language="bash"
# sed 's/epsilon = 2/epsilon = 1/' clinic.toml > careful.toml
# ldpflow run careful.toml --records data/samples/health_insurance.parquet --data data/var/trial > /dev/null
# ldpflow show | grep "chronic .* mean .* [12] *$"
# ldpflow show --data data/var/trial | grep "chronic .* mean .* [12] *$"

# %% [markdown]
# The second interval is about twice as wide. Half the epsilon gives about the precision of a quarter of the respondents.
# [Step 6](6_decide_epsilon.md) shows how to decide.
#
# Next: [collect from real clients](4_collect_from_real_clients.md).
