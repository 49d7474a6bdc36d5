"""The slow obvious model of which run of a round stands and what people have spent; two suites compare with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(eq=False, kw_only=True)
class Run:
    """A run as the model knows it; flow: of a run that Prefect may retry, its id."""

    round: str
    source: str
    digest: str = ""
    again: bool = False
    flow: str | None = None
    trial: bool = False
    has_landed: bool = False

    @property
    def is_real(self) -> bool:
        return self.source != "simulated"


@dataclass
class Model:
    """claims: the runs that have landed and were to stand then, in order.  drawn: (digest, drawing) -> (source, round).

    epsilons: digest -> what a client spends.
    """

    epsilons: Mapping[str, float]
    claims: list[Run] = field(default_factory=list)
    drawn: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def standing(self, round_: str) -> Run | None:
        """Real people's last claim or, where they have none, the simulated ones'."""
        own = [run for run in self.claims if run.round == round_]
        real = [run for run in own if run.is_real]
        return (real or own or [None])[-1]

    def may_land(self, run: Run) -> bool:
        stands = self.standing(run.round)
        if stands is None or stands is run or self._is_no_more_than_tried_again(run):
            return True
        if stands.is_real and not run.is_real:
            return False
        return run.again or run.trial or stands.is_real != run.is_real

    def land(self, run: Run) -> None:
        if self.standing(run.round) is not run and not self._is_no_more_than_tried_again(run):
            self.claims.append(run)
        run.has_landed = True

    def _is_no_more_than_tried_again(self, run: Run) -> bool:
        """Of a run that has been replaced: Prefect's retry."""
        return run.has_landed and run.flow is not None

    def draw(self, digest: str, drawing: str, source: str, round_: str) -> None:
        self.drawn.setdefault((digest, drawing), (source, round_))

    def spent(self, real: bool) -> dict[str, float]:
        """Round -> what a client that always answered has spent up to it, of rounds that stand or were drawn for."""
        if real:
            asked = {
                (round_, digest, drawing if source == "records" else "")
                for (digest, drawing), (source, round_) in self.drawn.items()
            }
        else:
            taken = {round_ for _, round_ in self.drawn.values()}
            of = [self.standing(round_) for round_ in {run.round for run in self.claims}]
            asked = {
                (run.round, run.digest, "")
                for run in of
                if run and not run.is_real and not run.trial and run.round not in taken
            }
        stand = [self.standing(round_) for round_ in {run.round for run in self.claims}] if real else []
        rounds = sorted({round_ for round_, _, _ in asked} | {run.round for run in stand if run and run.is_real})
        return {upto: sum(self.epsilons[digest] for round_, digest, _ in asked if round_ <= upto) for upto in rounds}
