"""Schemes before anybody reports: `scheme` checks and compares them, `plan` finds their numbers, `audit` what they lose."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcore.cli.follow_up import follow
from dpcore.cli.odds import show_odds, show_odds_plan
from dpcore.cli.options import DataOption, LanguageOption, SchemeArgument, WarehouseOption, file_of
from dpcore.cli.printing import domain_text, new_table, progress, relative, show
from dpcore.rounds.defaults import DEFAULT_DATA, today

if TYPE_CHECKING:
    from dpcore.audit import SchemeAudit
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.planning.aims import Plan
    from dpcore.rounds.planning.joint_plan import PairPlan

AUDIT_TRIALS = 200_000


def scheme(
    files: Annotated[
        list[Path] | None, typer.Argument(help="A scheme file; or two, the earlier first, to see what differs.")
    ] = None,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Print the canonical text the digest is taken of.")
    ] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print what scheme files may say, for editors: no file is read.")
    ] = False,
    odds: Annotated[
        str, typer.Option(help="How much to say of how well answers can be guessed: sentence, paragraph or numbers.")
    ] = "",
    language: LanguageOption = "en",
    rounds: Annotated[int, typer.Option(min=1, help="Say what so many rounds tell together.")] = 1,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Make the scheme of a second round from this landed round of the scheme: it asks other people on which side "
            "of quantiles they are. Let half of all people answer either.",
        ),
    ] = None,
    aim: Annotated[
        list[str] | None,
        typer.Option(
            help='With --from, and more than once: "NAME: quantile(0.5)" or "NAME: cdf(X)". Default: its quantiles.'
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --from: the file to write. Default: it is printed.")] = None,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Validate a scheme; print its digest, what each attribute keeps, and what a client spends in total; write the bundle.

    The client bundle is the canonical scheme with the integer tables that clients in any language look their values up in.
    Of two schemes it prints what differs, and whether rounds under both can be pooled.
    With --from it makes the scheme of a second round.

    Example: ldpflow scheme data/schemes/consumer_expenditure.toml
    """
    files = files or []
    if not (json_schema or files) or len(files) > 2 or (canonical and len(files) > 1):
        raise typer.BadParameter(f"one scheme file, or two to compare, got {len(files)}")
    if json_schema:
        from dpcore.protocol.syntax import json_schema as of_schemes

        print(json.dumps(of_schemes.json_schema(), indent=2))
        return
    if from_ is not None:
        follow(files, from_, aim or [], out, file_of(warehouse, data))
        return
    if aim or out is not None:
        raise typer.BadParameter("--aim and --out go with --from ROUND")
    from dpcore.audit import publication
    from dpcore.estimation.requirements import check_estimates
    from dpcore.privacy.shuffling.central_epsilon import upward
    from dpcore.protocol.domain.label import in_words
    from dpcore.protocol.odds import scheme_odds, unbounded
    from dpcore.protocol.odds_text import LEVELS, tell, texts_of
    from dpcore.protocol.scheme import Scheme
    from dpcore.wire import write_bundle

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
        columns = ("attribute", "asks", "mechanism", "epsilon", "certified loss", "by shuffling")
        table = new_table(f"{parsed.name}  {parsed.digest[:16]}", *columns)
        published = publication.planned(parsed)
        for name, attribute in parsed.attributes.items():
            certificate = attribute.mechanism.certificate()
            mark = "<=" if certificate.holds else ">"
            promise = "e^epsilon" if certificate.kind == "ratio" else "epsilon"
            bound = f"{certificate.kind} {float(certificate.kept):.6f} {mark} {promise}"
            bound = bound if attribute.budget.is_finite else "none: no limit"
            figure = published.attributes.get(name)
            central = "no figure" if figure is None else upward(figure.epsilon)
            table.add_row(name, domain_text(attribute), attribute.mechanism.name, attribute.budget.text, bound, central)
        for name, label in parsed.labels.items():
            table.add_row(name, domain_text(label), "none: public", "-", "none", "none")
        show(table)
        for remark in _remarks(files[0], parsed):
            print(remark)
        total = (
            "the sum over attributes"
            if parsed.reporting == "all"
            else "the largest loss of a unit; a client reports one unit"
        )
        print(f"digest  {parsed.digest}")
        for line in unbounded(parsed):
            print(line)
        if parsed.is_asked:
            bundle = write_bundle(data / "bundles" / parsed.digest[:16], parsed).parent
            print(f"bundle  {relative(str(bundle))}")
        else:
            print("bundle  none: reports of stated channels come from elsewhere; convert them with `ldpflow receive`")
        delta = f", delta = {float(parsed.delta):g}" if parsed.delta else ""
        spent = f"{parsed.epsilon:.4f}{delta}" if parsed.budget.is_finite else "infinity"
        print(f"each client: local epsilon {spent} per round ({parsed.budget.text}; {total})")
        print(published.words)
        if parsed.labels:
            sizes = {name: len(label.categories) for name, label in parsed.labels.items()}
            print(f"public, not covered by epsilon: {in_words(sizes)}")
        show_odds(tell(scheme_odds(parsed, rounds), texts), odds)


def _remarks(file: Path, scheme: Scheme) -> list[str]:
    """Why attributes have their mechanisms where the file leaves that open, and which do not use the scheme's functionals."""
    from dpcore.protocol.syntax.attribute_types import expanded
    from dpcore.protocol.syntax.keys import reason

    document = tomllib.loads(file.read_text(encoding="utf-8"))
    remarks = []
    for name, attribute in scheme.attributes.items():
        table = expanded(f"attributes.{name}", document["attributes"][name])
        if why := reason(table):
            remarks.append(f"{name}: {attribute.mechanism.name}, {why}")
        has_values = not attribute.is_numeric and attribute.values is not None
        if has_values and "functionals" not in table and set(document.get("functionals", ())) - {"mean"}:
            remarks.append(
                f"{name}: only its mean is estimated, because the scheme's functionals are for numeric attributes; list others "
                f"under [attributes.{name}]"
            )
    return remarks


def _show_revision(before: Scheme, after: Scheme) -> None:
    """What differs between two schemes, and what may be said of rounds under both."""
    from dpcore.protocol.revision import revise

    revision = revise(before, after)
    columns = [f"{scheme.name} {scheme.digest[:16]}" for scheme in (before, after)]
    table = new_table("", "attribute", "what", *columns)
    for change in revision.changes:
        table.add_row(change.where or "(scheme)", change.what, change.before, change.after)
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
        int | None, typer.Option(help="How many clients. Default: the scheme's, without --error.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The attribute's epsilon. Default: the scheme's, likewise.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="The standard error wanted; of a density, the relative error.")
    ] = None,
    share: Annotated[
        float, typer.Option(help="The share of the clients in a group by label that is asked about.")
    ] = 1.0,
    design_effect: Annotated[float, typer.Option(help="What weights cost: reports over what they are worth.")] = 1.0,
    odds: Annotated[
        str | None,
        typer.Option(
            help="Find the epsilon at which whoever sees a report tells which of two answers it is of so often at most: 0.75."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="With --odds: after so many rounds with fresh answers.")] = 1,
) -> None:
    """Find the one that is missing of clients, epsilon and error, and say which mechanism to choose.

    With --odds the epsilon is found that keeps them; an aim then says what it costs.

    Example: ldpflow plan data/schemes/consumer_expenditure.toml --aim "income: mean" --epsilon 1 --error 300
    """
    from dpcore.errors import exact
    from dpcore.rounds.planning.aims import Aim
    from dpcore.rounds.planning.joint_plan import PairAim
    from dpcore.rounds.planning.odds import plan_odds
    from dpcore.rounds.planning.planner import Planner

    if not aim and odds is None:
        raise typer.BadParameter('say --aim "ATTRIBUTE: QUANTITY", or --odds')
    if odds is not None and epsilon is not None:
        raise typer.BadParameter("--odds finds epsilon; give one of them")
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
            raise typer.BadParameter("two attributes are planned with the scheme's epsilons; change them there")
        with progress("planning", None):
            pair = planner.plan_pair(both, clients=clients, error=error)
        _show_pair(pair)
        return
    with progress("planning", None):
        answer = planner.plan(Aim.parse(aim), clients=clients, epsilon=epsilon, error=error)
    _show_plan(answer)


def _show_pair(plan: PairPlan) -> None:
    """The ways to ask for both, and which has the least error."""
    from dpcore.rounds.planning.joint_plan import TOGETHER

    def number(error: float | None) -> str:
        return "" if error is None else f"{error:.4g}"

    mark = " (found)" if plan.is_found else ""
    title = f"{plan.aim.first} and {plan.aim.second}: {plan.aim.quantity}, {plan.clients:,} clients{mark}"
    table = new_table(title, "way", "mechanism", "epsilon of both", "error", "whatever the law", "")
    for way in plan.ways:
        errors = number(way.error) or "refused", number(way.whatever_the_law)
        table.add_row(way.name, way.mechanisms, way.epsilon.text, *errors, "the scheme's" if way.is_asked else "")
    show(table)
    for way in plan.ways:
        if way.reason:
            print(f"{way.name}: {way.reason}")
    best, *others = plan.ways
    if others and best.error is not None:
        also = "of either alone one report tells less than an answer of its own" if best.name == TOGETHER else ""
        print(f"least error: {best.name}" + (also and f"; {also}"))
    print(f"people planned with: {plan.people}, the two having nothing to do with each other")


def _show_plan(plan: Plan) -> None:
    """The answer, the mechanisms beside it, and the epsilons that others have published."""
    from dpcore.rounds.planning.published_epsilons import PUBLISHED

    def number(error: float | None) -> str:
        return "refused" if error is None else f"{error:,.4g} {plan.unit}".strip()

    rows = {"clients": f"{plan.clients:,}", "epsilon": plan.epsilon.text, "error": number(plan.error)}
    title = f"{plan.aim.attribute}: {plan.aim.quantity}"
    table = new_table(title, "", "", "")
    table.min_width = len(title)  # which is not broken
    for name, value in rows.items():
        table.add_row(
            name, value, {plan.missing: "found"}.get(name, "within what was asked" if name == "error" else "given")
        )
    show(table)
    choices = new_table("mechanisms at these clients and this epsilon", "mechanism", "error", "of the least", "")
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
        print(f"choose {plan.best.mechanism}: {needed} would do")
    if plan.may_be_silent:
        print(
            "planned with people who all answer; where a share m does not, the error is 1 / (1 - m) times: of 20 % 1.25"
        )
    if plan.one_bin is not None:
        at = plan.aim.quantity.partition("(")[2].rstrip(") ")
        print(f"alone, asked by bins = [{at}], the share below {at} would have an error of {number(plan.one_bin)}")
    if plan.limit is not None:
        least = number(plan.limit)
        print(f"no mechanism made for this alone has an error below {least}, where nothing is assumed of the law;")
        print(f"this plan's is {plan.error / plan.limit:.2f} times that")
    if plan.of_curve is not None:
        mechanism = plan.forecast.mechanism
        print(
            f"of densities near the uniform one, {mechanism}'s error is at most {plan.of_curve:.2f} times the least that any"
        )
        print("mechanism of this epsilon could have, for which a lower bound is known")
    beside = new_table("published epsilons", "who", "epsilon", "delta", "noise added")
    for other in PUBLISHED:
        span = f"{other.low:g}" if other.low == other.high else f"{other.low:g} to {other.high:g}"
        beside.add_row(other.who, span, f"up to {other.delta:g}" if other.delta else "0", other.trust)
    beside.add_row("this attribute", f"{float(plan.epsilon):g}", f"{float(plan.delta):g}", "local")
    beside.add_row(
        "all attributes of a client, a round", f"{float(plan.total):g}", f"{float(plan.total_delta):g}", "local"
    )
    show(beside)
    print(plan.published.words)
    print(f"people planned with: {plan.people}")


def audit(
    schemes: Annotated[list[Path], typer.Argument(metavar="SCHEME...", help="One scheme file, or several.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the certificate: .md to read and sign, .json for programs.")
    ] = None,
    warehouse: Annotated[Path | None, typer.Option(help="Land the checks in this DuckDB file.")] = None,
    trials: Annotated[
        int, typer.Option(min=1000, max=10**9, help="Reports of either of two values that are looked at, an attribute.")
    ] = AUDIT_TRIALS,
) -> None:
    """Find the exact privacy loss of every attribute, and what reports alone show; exit with 1 where a promise is broken.

    The integers of the canonical scheme are enumerated anew; what the mechanisms certify of themselves is not asked. Then the
    clients' code is run: its reports bound epsilon from below, and people are asked again and again.

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

    columns = ("attribute", "mechanism", "promised", "certified", "exact", "bound by attack", "holds")
    table = new_table(f"{audit.name}  {audit.digest[:16]}", *columns)
    for a in audit.attributes:
        finding = a.finding
        losses = (at_most(finding.loss), finding.loss.text)
        shown = "" if a.measured is None else f"{a.measured.epsilon:.4f}"
        table.add_row(a.name, a.mechanism, a.promised.text, *losses, shown, "yes" if a.holds else "NO")
    show(table)
    for a in audit.attributes:
        print(f"{a.name}: {a.finding.how}; attained: {a.finding.worst}")
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
