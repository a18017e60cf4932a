"""Power rules: a bundle's energies are totals as the rulebook defines them."""

from collections.abc import Iterator, Sequence
from dataclasses import fields

from suite.bundle.layout import POWER
from suite.catalog.power import PowerRule, load_power_rules, rules_for
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.wording import listed

ORDER = 85  # before plausibility, which sums power by these rules

FIX = (
    "never edit power.json; a meter of your own gets its total in rules/power.toml, by a pull"
    " request"
)


def _known(context: BundleContext) -> Iterator[Violation]:
    """Check that the rules in power.json are the rulebook's, in its order, and that none for a
    meter that was read is missing."""
    if not (context.bundle.path / POWER).exists():
        if context.run.schema == 1:  # carried no rules: the rulebook's are applied
            return
        yield Violation(POWER, "the power rules of the meters that were read", "no such file")
        return
    rulebook, carried = load_power_rules(), context.power_rules
    for rule in carried:
        if rule not in rulebook:
            yield Violation(
                POWER,
                "power rules as in rules/power.toml",
                f"the rule {rule.name[:80]!r} with {_difference(rule, rulebook)}",
            )
    sources = {channel.source for node in context.nodes for channel in node.channels}
    for rule in rules_for(rulebook, sources):
        if rule not in carried:
            yield Violation(
                POWER, f"the rule {rule.name!r}, of a meter that was read", "no such rule"
            )
    known = [rulebook.index(rule) for rule in carried if rule in rulebook]
    if known != sorted(set(known)):
        observed = listed([rulebook[place].name for place in known])
        yield Violation(
            POWER, "every rule once, in the order of rules/power.toml", f"the order {observed}"
        )


def _difference(rule: PowerRule, rulebook: Sequence[PowerRule]) -> str:
    """The fields in which a rule differs from the rulebook's of the same name."""
    own = next((each for each in rulebook if each.name == rule.name), None)
    if own is None:
        return "a name that is not in the rulebook"
    different = [
        field.name
        for field in fields(rule)
        if getattr(rule, field.name) != getattr(own, field.name)
    ]
    return "; ".join(
        f"{name} = {getattr(rule, name)!s} instead of {getattr(own, name)!s}" for name in different
    )[:300]


RULES = (
    Rule(
        "power-rules-known",
        "The power rules in a bundle are the rulebook's, all those of the meters that were"
        " read, in the rulebook's order.",
        "A submitter who chose the channels of a total would choose the energy.",
        FIX,
        (OfBundle("power-rules-known", _known),),
    ),
)
