"""Where boxes and arrows go: a layered drawing from left to right, in which nothing overlaps.

    1. links that lead back (found by a walk from the start) are set aside, so that the rest has no cycle
    2. a box's layer is the longest way to it; a link over several layers gets a lane in each layer it crosses
    3. boxes and lanes are ordered within their layer to cross little, and stacked
    4. a link leaves its box at a port on the right and enters its target on the left; links that lead back run below all

Links only run in the gaps between layers, in their lanes and below everything, so they never cross a box.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP = 64.0  # between layers, unless given
TRACK = 9.0  # between links that lead back and run side by side
STUB = 20.0  # how far such a link runs straight out of a port or into a box
APART = 26.0  # between boxes of a layer
LANE = 14.0  # height of the lane of a link that crosses a layer
SWEEPS = 8  # over the layers, when ordering them

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """What is to be placed: its size, and how far below its top links enter it."""

    name: str
    width: float
    height: float
    entry: float


@dataclass(frozen=True)
class Link:
    """An arrow from a port of `source`, which lies `port` below its top, to `target`."""

    source: str
    port: float
    target: str


@dataclass(frozen=True)
class Route:
    """The way of a link: straight along its points where `smooth` is False, else with curves between pairs of points."""

    points: tuple[Point, ...]
    smooth: bool


@dataclass(frozen=True)
class GraphLayout:
    corners: Mapping[str, Point]  # upper left corner of each box
    widths: Mapping[str, float]  # boxes of one layer are drawn equally wide
    routes: tuple[Route, ...]  # in the order of the links
    width: float
    height: float
    layers: int


@dataclass(frozen=True)
class _Lane:
    """The place of link number `link` in a layer that it only crosses."""

    link: int
    layer: int


_Item = str | _Lane


def place(boxes: Sequence[Box], links: Sequence[Link], start: str, gap: float = GAP) -> GraphLayout:
    """`links` must join different boxes."""
    back = _leading_back([box.name for box in boxes], links, start)
    layers = _layers(boxes, [link for index, link in enumerate(links) if index not in back])
    grid = _Grid({box.name: box for box in boxes}, links, back, layers, gap)
    grid.order()
    return grid.drawn()


def _leading_back(names: Sequence[str], links: Sequence[Link], start: str) -> set[int]:
    """The links that close a cycle in a depth-first walk from the start, then from whatever it did not reach."""
    leaving: dict[str, list[int]] = defaultdict(list)
    for index, link in enumerate(links):
        leaving[link.source].append(index)
    back: set[int] = set()
    under_way: set[str] = set()
    done: set[str] = set()
    for root in [start, *names]:
        walk = [] if root in done else [(root, iter(leaving[root]))]
        under_way.update(name for name, _ in walk)
        while walk:
            name, rest = walk[-1]
            index = next(rest, -1)
            if index < 0:
                walk.pop()
                under_way.discard(name)
                done.add(name)
            elif links[index].target in under_way:
                back.add(index)
            elif links[index].target not in done:
                under_way.add(links[index].target)
                walk.append((links[index].target, iter(leaving[links[index].target])))
    return back


def _layers(boxes: Sequence[Box], forward: Sequence[Link]) -> dict[str, int]:
    """The length of the longest way to each box, along links without a cycle."""
    layers = {box.name: 0 for box in boxes}
    waiting = {box.name: 0 for box in boxes}
    leaving: dict[str, list[str]] = defaultdict(list)
    for link in forward:
        waiting[link.target] += 1
        leaving[link.source].append(link.target)
    ready = [name for name, count in waiting.items() if count == 0]
    while ready:
        name = ready.pop()
        for target in leaving[name]:
            layers[target] = max(layers[target], layers[name] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return layers


@dataclass
class _Grid:
    """Boxes and lanes in their layers, while the drawing is made."""

    boxes: Mapping[str, Box]
    links: Sequence[Link]
    back: set[int]
    layer_of: Mapping[str, int]
    gap: float
    layers: list[list[_Item]] = field(init=False)

    def __post_init__(self) -> None:
        self.layers = [[] for _ in range(1 + max(self.layer_of.values()))]
        for name in self.boxes:
            self.layers[self.layer_of[name]].append(name)
        for index in range(len(self.links)):
            for lane in self.lanes(index):
                self.layers[lane.layer].append(lane)

    def lanes(self, index: int) -> list[_Lane]:
        link = self.links[index]
        if index in self.back:
            return []
        return [_Lane(index, layer) for layer in range(self.layer_of[link.source] + 1, self.layer_of[link.target])]

    def chain(self, index: int) -> list[_Item]:
        """What a link that leads on passes through, one item in each layer."""
        return [self.links[index].source, *self.lanes(index), self.links[index].target]

    # Order within layers

    def order(self) -> None:
        before: dict[_Item, list[_Item]] = defaultdict(list)
        after: dict[_Item, list[_Item]] = defaultdict(list)
        for index in range(len(self.links)):
            if index not in self.back:
                chain = self.chain(index)
                for left, right in pairwise(chain):
                    before[right].append(left)
                    after[left].append(right)
        where = {item: index for layer in self.layers for index, item in enumerate(layer)}
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            for layer in self.layers if forward else reversed(self.layers):
                _sort(layer, before if forward else after, where)

    # Coordinates

    def drawn(self) -> GraphLayout:
        # From left to right: a layer is as wide as its widest box, with room beside it for links that lead back
        out, into = self._tracks("source"), self._tracks("target")
        widths = [max((self.boxes[i].width for i in layer if isinstance(i, str)), default=0.0) for layer in self.layers]
        lefts: list[float] = []
        x = self._room(into, 0)
        for number, width in enumerate(widths):
            lefts.append(x)
            x += width + self._room(out, number)
            if number + 1 < len(widths):
                x += self.gap + self._room(into, number + 1)

        # From top to bottom
        heights = [sum(map(self._height, layer)) + APART * (len(layer) - 1) for layer in self.layers]
        tops: dict[_Item, float] = {}
        for layer, height in zip(self.layers, heights, strict=True):
            # a chain of boxes reads best with its headers in line; where layers hold several, they are centred
            y = 0.0 if max(map(len, self.layers)) == 1 else (max(heights) - height) / 2
            for item in layer:
                tops[item] = y
                y += self._height(item) + APART

        # Links between them
        frame = _Frame(lefts, widths, tops, max(heights))
        routes = tuple(
            self._below(index, frame, out, into) if index in self.back else self._onward(index, frame)
            for index in range(len(self.links))
        )
        corners = {name: (lefts[self.layer_of[name]], tops[name]) for name in self.boxes}
        below = max((y for route in routes for _, y in route.points), default=0.0)
        across = {name: widths[self.layer_of[name]] for name in self.boxes}
        return GraphLayout(corners, across, routes, x, max(frame.bottom, below), len(self.layers))

    def _height(self, item: _Item) -> float:
        return LANE if isinstance(item, _Lane) else self.boxes[item].height

    def _tracks(self, end: str) -> dict[int, list[int]]:
        """For each layer, the links that lead back and run up or down beside it, at their source or their target."""
        tracks: dict[int, list[int]] = defaultdict(list)
        for index in sorted(self.back):
            tracks[self.layer_of[getattr(self.links[index], end)]].append(index)
        return tracks

    def _room(self, tracks: Mapping[int, list[int]], layer: int) -> float:
        return STUB + TRACK * len(tracks[layer]) if layer in tracks else 0.0

    def _onward(self, index: int, frame: _Frame) -> Route:
        link, chain = self.links[index], self.chain(index)
        points = [self._leave(link, frame)]
        for lane in chain[1:-1]:
            assert isinstance(lane, _Lane)
            y = frame.tops[lane] + LANE / 2
            points += [(frame.lefts[lane.layer], y), (frame.right(lane.layer), y)]
        return Route((*points, self._enter(link, frame)), smooth=True)

    def _below(self, index: int, frame: _Frame, out: Mapping[int, list[int]], into: Mapping[int, list[int]]) -> Route:
        link = self.links[index]
        source, target = self.layer_of[link.source], self.layer_of[link.target]
        begin, end = self._leave(link, frame), self._enter(link, frame)
        down = frame.right(source) + STUB + TRACK * out[source].index(index)
        up = frame.lefts[target] - STUB - TRACK * into[target].index(index)
        low = frame.bottom + APART + TRACK * sorted(self.back).index(index)
        return Route((begin, (down, begin[1]), (down, low), (up, low), (up, end[1]), end), smooth=False)

    def _leave(self, link: Link, frame: _Frame) -> Point:
        return frame.right(self.layer_of[link.source]), frame.tops[link.source] + link.port

    def _enter(self, link: Link, frame: _Frame) -> Point:
        return frame.lefts[self.layer_of[link.target]], frame.tops[link.target] + self.boxes[link.target].entry


def _sort(layer: list[_Item], neighbours: Mapping[_Item, list[_Item]], where: dict[_Item, int]) -> None:
    """Orders the layer by where its items' neighbours are on average; `where` follows."""

    def centre(item: _Item) -> float:
        beside = neighbours.get(item, [])
        return sum(where[other] for other in beside) / len(beside) if beside else where[item]

    layer.sort(key=centre)
    where.update({item: index for index, item in enumerate(layer)})


@dataclass(frozen=True)
class _Frame:
    lefts: Sequence[float]
    widths: Sequence[float]
    tops: Mapping[_Item, float]
    bottom: float

    def right(self, layer: int) -> float:
        return self.lefts[layer] + self.widths[layer]
