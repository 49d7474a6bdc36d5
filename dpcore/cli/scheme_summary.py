"""What `ldpflow scheme` prints of one scheme, beside the odds, with its client bundle; and the scheme of a second round."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpcore.cli.printing import new_table, relative, show
from dpcore.protocol.domain.label import in_words
from dpcore.protocol.odds import unbounded
from dpcore.wire import write_bundle

if TYPE_CHECKING:
    from dpcore.audit.publication import CentralGuarantee
    from dpcore.protocol.scheme import Scheme


def summarize(scheme: Scheme, file: Path, bundles: Path, *, verbose: bool) -> None:
    """Print the attributes and a client's epsilon, and write the bundle; verbose: also certified losses and central epsilons.

    file: where the scheme is.  bundles: the folder for the bundle, which is a folder named after the digest.
    """
    published = None
    if verbose:
        from dpcore.audit.publication import planned  # takes most of the command's time

        published = planned(scheme)
    _show_attributes(scheme, published)
    for remark in _remarks(file, scheme, verbose):
        print(remark)
    print(f"digest  {scheme.digest}")
    for line in unbounded(scheme):
        print(line)
    if scheme.is_asked:
        bundle = write_bundle(bundles / scheme.digest[:16], scheme).parent
        print(f"bundle  {relative(str(bundle))}")
    else:
        print("bundle  none: reports of stated channels come from elsewhere; convert them with `ldpflow receive`")
    if not verbose:
        print("--verbose adds certified losses, central epsilons, and why each mechanism was chosen")
    total = (
        "the sum over attributes"
        if scheme.reporting == "all"
        else "the largest loss of a unit; a client reports one unit"
    )
    delta = f", delta = {float(scheme.delta):g}" if scheme.delta else ""
    spent = f"{scheme.epsilon:.4f}{delta}" if scheme.budget.is_finite else "infinity"
    exact = "" if scheme.budget.text == f"{scheme.epsilon:g}" else f"{scheme.budget.text}; "
    print(f"each client: local epsilon {spent} per round ({exact}{total})")
    if published is not None:
        print(published.words)
    if scheme.labels:
        sizes = {name: len(label.categories) for name, label in scheme.labels.items()}
        print(f"public, not covered by epsilon: {in_words(sizes)}")


def _show_attributes(scheme: Scheme, published: CentralGuarantee | None) -> None:
    """Print the attributes with their epsilons; published: also print certified losses, and these central epsilons."""
    details: tuple[str, ...] = ()
    if published is not None:
        from dpcore.privacy.shuffling.central_epsilon import upward

        details = ("certified loss", "by shuffling")
    table = new_table(f"{scheme.name}  {scheme.digest[:16]}", "attribute", "asks", "mechanism", "epsilon", *details)
    uncertified = []
    for name, attribute in scheme.attributes.items():
        certificate, row = attribute.mechanism.certificate(), [attribute.domain, attribute.mechanism.name]
        uncertified += [] if certificate.holds else [name]
        row.append(attribute.budget.text)
        if published is not None:
            mark = "<=" if certificate.holds else ">"
            promise = "e^epsilon" if certificate.kind == "ratio" else "epsilon"
            bound = f"{certificate.kind} {float(certificate.kept):.6f} {mark} {promise}"
            figure = published.attributes.get(name)
            row += [
                bound if attribute.budget.is_finite else "none: no limit",
                "no figure" if figure is None else upward(figure.epsilon),
            ]
        table.add_row(name, *row)
    for name, label in scheme.labels.items():
        table.add_row(name, label.domain, "none: public", "-", *("none" for _ in details))
    show(table)
    if uncertified:
        print(f"the certified loss is larger than epsilon: {', '.join(uncertified)}")


def _remarks(file: Path, scheme: Scheme, verbose: bool) -> list[str]:
    """Return remarks: attributes without the scheme's functionals; verbose: why each mechanism was chosen automatically."""
    from dpcore.protocol.syntax.attribute_table import reason
    from dpcore.protocol.syntax.attribute_types import expanded

    document = tomllib.loads(file.read_text(encoding="utf-8"))
    remarks = []
    for name, attribute in scheme.attributes.items():
        table = expanded(f"attributes.{name}", document["attributes"][name])
        if verbose and (explanation := reason(table)):
            remarks.append(f"{name}: {attribute.mechanism.name}, {explanation}")
        has_values = not attribute.is_numeric and attribute.values is not None
        if has_values and "functionals" not in table and set(document.get("functionals", ())) - {"mean"}:
            remarks.append(
                f"{name}: only its mean is estimated, because the scheme's functionals are for numeric attributes; list others "
                f"under [attributes.{name}]"
            )
    return remarks


def follow(files: list[Path], round_: str, aims: list[str], out: Path | None, warehouse: Path) -> None:
    """Write or print the scheme of a second round."""
    from dpcore.rounds.follow_up import scheme_from
    from dpcore.wire.files import write_bytes

    if len(files) != 1:
        raise typer.BadParameter(f"--from needs exactly one scheme file, that of the first round, got {len(files)}")
    if out is not None and out.exists():
        raise typer.BadParameter(f"{out} exists; choose another file name")
    text = scheme_from(files[0], round_, warehouse, aims)
    if out is None:
        print(text, end="")
        return
    write_bytes(out, text.encode())
    after = f" --after {round_}" if "\nbins = " in text else ""  # estimates from both rounds
    print(f"wrote {out}; next, with respondents who have not answered: ldpflow run {out}{after}")
