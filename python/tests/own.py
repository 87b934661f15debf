"""Algorithms for the tests, in a module that workers can import."""

from collections import defaultdict

import wormcast as wc


@wc.algorithm("py-comb", routing="e-cube", promise="stops")
def comb(network, source, destinations):
    """Along the row, delivering on the way, then along one column."""
    x0, y0 = network.coordinates(source)
    teeth = defaultdict(list)
    rows = {False: [], True: []}
    for node in destinations:
        x, y = network.coordinates(node)
        if y == y0:
            rows[x > x0].append((x, node))
        else:
            teeth[x, y > y0].append((abs(y - y0), node))
    plans = {key: [node for _, node in sorted(stops)] for key, stops in teeth.items()}
    for east, row in rows.items():
        if not row:
            continue
        row = [node for _, node in sorted(row, key=lambda at: abs(at[0] - x0))]
        last = network.coordinates(row[-1])[0]
        side = [key for key in plans if (key[0] > x0) == east and abs(key[0] - x0) >= abs(last - x0)]
        furthest = max(side, key=lambda key: (abs(key[0] - x0), key), default=(last, True))
        plans[furthest] = row + plans.get(furthest, [])
    return [plans[key] for key in sorted(plans)]


def _grid_turn(network, arriving, leaving):
    """One dimension after the other, and never back."""
    place = [network.coordinates(router) for router in (*arriving, leaving[1])]
    (a, b), (c, d), (e, f) = place
    first, then = (c - a, d - b), (e - c, f - d)
    return first == then or (first[0] != 0 and then[1] != 0)


@wc.algorithm("py-ruled", routing="e-cube", may_turn=_grid_turn)
def ruled(network, source, destinations):
    """The comb, with a rule for its promise."""
    return comb(network, source, destinations)


@wc.algorithm("py-chain", routing="up-down", promise="unicasts")
def chain(network, source, destinations):
    """Each destination sends the message on to the next."""
    worms = []
    sender = source
    for position, node in enumerate(sorted(destinations)):
        worms.append(wc.Worm([node], sender=sender, after=position - 1 if position else None))
        sender = node
    return worms
