"""Commands on schemes: `scheme` validates and compares, `plan` chooses clients and epsilon, `audit` certifies the loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcore.cli.options import DataOption, LanguageOption, SchemeArgument, WarehouseOption, file_of
from dpcore.cli.printing import new_table, progress, relative, show, show_odds, show_odds_plan
from dpcore.rounds.defaults import DEFAULT_DATA, today

if TYPE_CHECKING:
    from dpcore.audit import SchemeAudit
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.planning.aims import Plan
    from dpcore.rounds.planning.joint_plan import PairPlan

AUDIT_TRIALS = 200_000


def scheme(
    files: Annotated[
        list[Path] | None, typer.Argument(help="A scheme file; or two to compare, the earlier first.")
    ] = None,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Print the canonical text, whose hash is the digest.")
    ] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON schema of scheme files, for editors; reads no file.")
    ] = False,
    odds: Annotated[
        str, typer.Option(help="Level of detail about guessing answers: sentence, paragraph or numbers.")
    ] = "",
    language: LanguageOption = "en",
    rounds: Annotated[int, typer.Option(min=1, help="Also print the odds after so many rounds.")] = 1,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Also print certified losses, central epsilons and why mechanisms were chosen."),
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Make the scheme of a second round from this landed round. It asks other respondents on which side of the "
            "estimated quantiles they are. Assign half of all respondents to each round.",
        ),
    ] = None,
    aim: Annotated[
        list[str] | None,
        typer.Option(
            help='With --from, repeatable: "NAME: quantile(0.5)" or "NAME: cdf(X)". Default: the quantiles of the scheme, '
            "and the texts found."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --from: the file to write. Default: print it.")] = None,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Validate a scheme; print its attributes, its digest and a client's epsilon; write the client bundle.

    The client bundle is the canonical scheme with the integer tables that clients in any language need.
    For two schemes, print the differences, and whether rounds under both can be pooled.
    With --from, make the scheme of a second round.

    Example: ldpflow scheme data/schemes/consumer_expenditure.toml
    """
    files = files or []
    if not (json_schema or files) or len(files) > 2 or (canonical and len(files) > 1):
        raise typer.BadParameter(f"expected one scheme file, or two to compare, got {len(files)}")
    if json_schema:
        from dpcore.protocol.syntax import json_schema as of_schemes

        print(json.dumps(of_schemes.json_schema(), indent=2))
        return
    from dpcore.cli.scheme_summary import follow, summarize

    if from_ is not None:
        follow(files, from_, aim or [], out, file_of(warehouse, data))
        return
    if aim or out is not None:
        raise typer.BadParameter("--aim and --out need --from ROUND")
    from dpcore.estimation.registry import check_estimates
    from dpcore.protocol.odds import LEVELS, scheme_odds, tell, texts_of
    from dpcore.protocol.scheme import Scheme

    if odds not in ("", *LEVELS):
        raise typer.BadParameter(f"odds must be {' or '.join(LEVELS)}, got {odds!r}")
    texts = texts_of(language)
    schemes = [Scheme.from_toml(file) for file in files]
    for parsed in schemes:
        check_estimates(parsed)
    if len(schemes) == 2:
        _show_revision(*schemes)
        return
    for parsed in schemes:
        if canonical:
            print(parsed.canonical, end="")
            continue
        summarize(parsed, files[0], data / "bundles", verbose=verbose)
        show_odds(tell(scheme_odds(parsed, rounds), texts), odds)


def _show_revision(before: Scheme, after: Scheme) -> None:
    """Print the differences of two schemes, and whether rounds under both can be pooled."""
    from dpcore.protocol.revision import revise

    revision = revise(before, after)
    columns = [f"{scheme.name} {scheme.digest[:16]}" for scheme in (before, after)]
    table = new_table("", "attribute", "what", *columns)
    for change in revision.changes:
        table.add_row(change.where or "(scheme)", change.field, change.before, change.after)
    if revision.changes:
        show(table)
    for line in revision.verdict:
        print(line)


def plan(
    scheme: SchemeArgument,
    aim: Annotated[
        str,
        typer.Option(
            help="""ATTRIBUTE: QUANTITY; a functional, "frequency(CATEGORY)" or "density"; "A, B: correlation"."""
        ),
    ] = "",
    clients: Annotated[
        int | None, typer.Option(help="Number of clients. Default without --error: the scheme's.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The attribute's epsilon. Default without --error: the scheme's.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="The desired standard error; for a density, the relative error.")
    ] = None,
    share: Annotated[float, typer.Option(help="Share of clients in the label group that the aim is about.")] = 1.0,
    design_effect: Annotated[
        float, typer.Option(help="Design effect of weights: number of reports divided by the effective sample size.")
    ] = 1.0,
    odds: Annotated[
        str | None,
        typer.Option(
            help="Find the epsilon at which a reader of a report guesses correctly which of two answers it comes from, at most "
            "this often: 0.75."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="With --odds: after so many rounds with fresh answers.")] = 1,
    detect: Annotated[
        bool,
        typer.Option("--detect", help="Print the smallest differences that an experiment finds; needs a control arm."),
    ] = False,
    power: Annotated[float, typer.Option(help="With --detect: the probability of finding such a difference.")] = 0.8,
) -> None:
    """Find clients, epsilon or error from the other two, and recommend a mechanism.

    With --odds, find the epsilon for these odds; with an aim as well, also print the resulting error.
    With --detect, print the smallest difference between arms for every outcome.

    Example: ldpflow plan data/schemes/consumer_expenditure.toml --aim "income: mean" --epsilon 1 --error 300
    """
    from dpcore.errors import exact
    from dpcore.rounds.planning.aims import Aim
    from dpcore.rounds.planning.joint_plan import PairAim
    from dpcore.rounds.planning.odds import plan_odds
    from dpcore.rounds.planning.planner import Planner

    if detect:
        if aim or odds is not None or epsilon is not None or error is not None:
            raise typer.BadParameter(
                "--detect takes --clients and --power only; it finds the differences of all outcomes"
            )
        _show_detectable(scheme, clients, power)
        return
    if not aim and odds is None:
        raise typer.BadParameter('--aim "ATTRIBUTE: QUANTITY", --odds or --detect is required')
    if odds is not None and epsilon is not None:
        raise typer.BadParameter("--odds finds epsilon; use one of --odds and --epsilon")
    planner = Planner.read(scheme, share=share, design_effect=design_effect)
    if odds is not None:
        odds_plan = plan_odds(planner.document, exact(odds=odds), rounds)
        show_odds_plan(odds_plan)
        epsilon = odds_plan.alone.text
    if not aim:
        return
    both = PairAim.parse(aim)
    if both is not None:
        if epsilon is not None:
            raise typer.BadParameter("--epsilon is not used for two attributes; change the epsilons in the scheme")
        with progress("planning", None):
            pair = planner.plan_pair(both, clients=clients, error=error)
        _show_pair(pair)
        return
    with progress("planning", None):
        answer = planner.plan(Aim.parse(aim), clients=clients, epsilon=epsilon, error=error)
    _show_plan(answer)


def _show_detectable(file: Path, clients: int | None, power: float) -> None:
    """Print the smallest difference of every outcome that an experiment finds."""
    from dpcore.protocol.scheme import Scheme
    from dpcore.results.text.phrases import phrase, rounded, title_of, titled
    from dpcore.rounds.planning.assumed_population import population_of
    from dpcore.rounds.planning.detection import detectable

    scheme = Scheme.from_toml(file)
    with progress("planning", None):
        people = population_of(scheme)
        rows = detectable(scheme, people, clients=clients or scheme.clients, power=power)
    with titled(scheme.canonical):
        for label in dict.fromkeys(row.label for row in rows):
            own = [row for row in rows if row.label == label]
            control = scheme.labels[label].control
            table = new_table(f"experiment {title_of(label)}", "arm", "reports", "outcome", "smallest difference")
            for row in own:
                wording = phrase(row.functional, scheme.attributes[row.attribute].unit, row.attribute)
                size = wording.factor * (row.difference or 0.0)
                text = (
                    f"{rounded(size, size / 10)} {wording.unit_of_difference}".strip() if row.difference else row.reason
                )
                arms = ", ".join(title_of(label, arm) for arm in row.arms)
                table.add_row(arms, f"{row.reports[0]:,}", f"{title_of(row.attribute)}: {wording.text}", text)
            show(table)
            print(f"control arm {title_of(label, control)}: {own[0].reports[1]:,} reports")
    print(f"found with {100 * power:g} % power at 5 %, two-sided, in one round, before adjustment for several outcomes")
    print(f"planned for respondents: {people.name}")


def _show_pair(plan: PairPlan) -> None:
    """Print the designs for two attributes, and the one with the least error."""
    from dpcore.rounds.planning.joint_plan import TOGETHER

    def number(error: float | None) -> str:
        return "" if error is None else f"{error:.4g}"

    mark = " (found)" if plan.is_found else ""
    title = f"{plan.aim.first} and {plan.aim.second}: {plan.aim.quantity}, {plan.clients:,} clients{mark}"
    table = new_table(title, "design", "mechanism", "epsilon of both", "error", "worst case", "")
    for way in plan.ways:
        errors = number(way.error) or "refused", number(way.whatever_the_law)
        table.add_row(way.name, way.mechanisms, way.epsilon.text, *errors, "the scheme's" if way.is_asked else "")
    show(table)
    for way in plan.ways:
        if way.reason:
            print(f"{way.name}: {way.reason}")
    best, *others = plan.ways
    if others and best.error is not None:
        also = (
            "estimates of each attribute are less precise than with separate reports" if best.name == TOGETHER else ""
        )
        print(f"least error: {best.name}" + (also and f"; {also}"))
    print(f"planned for respondents: {plan.people}, with independent attributes")


def _show_plan(plan: Plan) -> None:
    """Print the plan, the alternative mechanisms, and published epsilons of other projects."""
    from dpcore.rounds.planning.aims import VISIBLE
    from dpcore.rounds.planning.odds import PUBLISHED

    def number(error: float | None) -> str:
        return "refused" if error is None else f"{error:,.4g} {plan.unit}".strip()

    size = "error" if plan.aim.quantity != VISIBLE else "share"
    rows = {"clients": f"{plan.clients:,}", "epsilon": plan.epsilon.text, "error": number(plan.error)}
    title = f"{plan.aim.attribute}: {plan.aim.quantity}"
    table = new_table(title, "", "", "")
    table.min_width = len(title)  # keeps the title on one line
    for name, value in rows.items():
        origin = {plan.missing: "found"}.get(name, "as requested" if name == "error" else "given")
        table.add_row({"error": size}.get(name, name), value, origin)
    show(table)
    choices = new_table("mechanisms for this number of clients and epsilon", "mechanism", size, "ratio to best", "")
    for choice in plan.choices:
        ratio = "" if choice.error is None or plan.best.error is None else f"{choice.error / plan.best.error:.2f}"
        choices.add_row(
            choice.mechanism, number(choice.error), ratio, "the scheme's" if choice is plan.forecast else ""
        )
    show(choices)
    if plan.best is plan.forecast:
        print(f"choose {plan.best.mechanism}, as the scheme does")
    elif plan.needed is None:
        print(f"choose {plan.best.mechanism}")
    else:
        needed = f"{plan.needed:,} clients" if isinstance(plan.needed, int) else f"epsilon = {plan.needed.text}"
        print(f"with {plan.best.mechanism}, {needed} would suffice")
    if plan.may_be_silent:
        print(
            "planned without item nonresponse; if a share m does not answer, the error is 1 / (1 - m) times as large: 1.25 "
            "for 20 %"
        )
    if plan.one_bin is not None:
        at = plan.aim.quantity.partition("(")[2].rstrip(") ")
        print(
            f"with bins = [{at}] as the only question, the share below {at} would have an error of {number(plan.one_bin)}"
        )
    if plan.limit is not None:
        least = number(plan.limit)
        print(
            f"lower bound: with these clients and epsilon, no mechanism has an error for every distribution below {least};"
        )
        print(f"this plan's error is {plan.error / plan.limit:.2f} times that")
    if plan.of_curve is not None:
        mechanism = plan.forecast.mechanism
        print(
            f"for densities near the uniform one, {mechanism}'s error is at most {plan.of_curve:.2f} times a lower bound for"
        )
        print("all mechanisms of this epsilon")
    others = new_table("for comparison: published epsilons", "who", "epsilon", "delta", "noise added")
    for other in PUBLISHED:
        span = f"{other.low:g}" if other.low == other.high else f"{other.low:g} to {other.high:g}"
        others.add_row(other.organization, span, f"up to {other.delta:g}" if other.delta else "0", other.trust)
    others.add_row("this plan: the attribute", f"{float(plan.epsilon):g}", f"{float(plan.delta):g}", "local")
    others.add_row(
        "this plan: all attributes of a client", f"{float(plan.total):g}", f"{float(plan.total_delta):g}", "local"
    )
    show(others)
    print(plan.published.words)
    print(f"planned for respondents: {plan.people}")


def audit(
    schemes: Annotated[list[Path], typer.Argument(metavar="SCHEME...", help="One scheme file, or several.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the certificate: .md to read and sign, .json for programs.")
    ] = None,
    warehouse: Annotated[Path | None, typer.Option(help="Land the checks in this DuckDB file.")] = None,
    trials: Annotated[
        int, typer.Option(min=1000, max=10**9, help="Reports of each of two values, for each attribute.")
    ] = AUDIT_TRIALS,
) -> None:
    """Find the exact privacy loss of every attribute, and attack its reports; exit with 1 if a promise is broken.

    The audit enumerates the integers of the canonical scheme, independently of the mechanisms' certificates. Then it runs the
    clients' code: reports give a lower bound of epsilon, and simulated respondents answer in several rounds.

    Example: ldpflow audit data/schemes/consumer_expenditure.toml --out certificate.md
    """
    from dpcore.rounds import audit_run

    if out is not None:
        audit_run.check_target(out)
    day, audits = today(), []
    for file in schemes:
        with progress(f"enumerating {file.name}", None):
            exact = audit_run.audit_file(file)
        with progress(f"running the clients of {file.name}", None):
            audits.append(audit_run.measure(exact, trials))
        _show_audit(audits[-1])
    if out is not None:
        print(f"wrote {', '.join(map(str, audit_run.write(out, audits, day)))}")
    if warehouse is not None:
        landed = sum(audit_run.land(warehouse, audit, day) for audit in audits)
        print(f"landed {landed} checks in {relative(str(warehouse))}")
    audit_run.require(audits, 0 if warehouse is None else audit_run.landed_seeds(warehouse))


def _show_audit(audit: SchemeAudit) -> None:
    """Print the promised and certified losses of a scheme, and how they were enumerated."""
    from dpcore.audit import at_most, averaged
    from dpcore.protocol.domain.label import in_words

    columns = ("attribute", "mechanism", "promised", "certified", "exact", "at least, by attack", "holds")
    table = new_table(f"{audit.name}  {audit.digest[:16]}", *columns)
    for a in audit.attributes:
        finding = a.finding
        losses = (at_most(finding.loss), finding.loss.text)
        shown = "" if a.measured is None else f"{a.measured.epsilon:.4f}"
        table.add_row(a.name, a.mechanism, a.promised.text, *losses, shown, "yes" if a.holds else "NO")
    show(table)
    for a in audit.attributes:
        print(f"{a.name}: {a.finding.how}; largest loss: {a.finding.worst}")
    for pair in audit.pairs:
        print(pair.words)
    if audit.averaging is not None:
        print(f"repeated rounds: {averaged(audit.averaging)}")
    if audit.faithfulness is not None:
        print(f"distribution of reports: {audit.faithfulness.words}")
    holding = sum(a.holds for a in audit.attributes)
    print(f"digest  {audit.digest}")
    print(f"total   epsilon at most {at_most(audit.loss)} per client, promised {audit.promised.text}")
    if audit.published is not None:
        print(audit.published.words)
    if audit.public:
        print(f"public, not covered by epsilon: {in_words(audit.public)}")
    print(f"the promises of {holding} of {len(audit.attributes)} attributes hold\n")
