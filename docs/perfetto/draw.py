#!/usr/bin/env python3
"""Draws a stretch of a converted ring as SVG, from the Chrome JSON that `wireproof ring convert --to chrome` wrote.

Usage: draw.py TRACE.json FROM_MS TO_MS > picture.svg    (milliseconds on the ring's clock)
Shows what the file says: one row a lane, spans nested by depth, instants as ticks. Standard library only.
"""
import html
import json
import sys

LEFT, WIDTH, LINE, GAP = 190, 900, 15, 5
COLOURS = ["#5b8def", "#e8a33d", "#53b987", "#c678dd", "#e06c75", "#4fb3bf", "#a3a948", "#b07d62"]


def rows_of(trace, base, low, high):
    """Rows in order of their numbers: name, group and events inside the stretch."""
    groups, rows = {}, {}
    for event in trace["traceEvents"]:
        if event["ph"] == "M":
            value = event["args"].get("name")
            if event["name"] == "process_name":
                groups[event["pid"]] = value
            elif event["name"] == "thread_name":
                rows[event["tid"]] = dict(name=value, group=event["pid"], events=[])
            continue
        start = base / 1e6 + event["ts"] / 1e3
        end = start + event.get("dur", 0) / 1e3
        if end >= low and start <= high and "tid" in event:
            rows[event["tid"]]["events"].append((start, -end, event))
    return groups, [rows[tid] for tid in sorted(rows) if rows[tid]["events"]]


def main():
    path, low, high = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    groups, rows = rows_of(trace, int(trace["otherData"]["base_ns"]), low, high)
    out, y, last, colours = [], 26, None, {}
    at = lambda ms: LEFT + (min(max(ms, low), high) - low) / (high - low) * WIDTH
    for row in rows:
        if row["group"] != last:
            last = row["group"]
            out.append(f'<text x="6" y="{y + 12}" class="g">{html.escape(groups[last])}</text>')
            y += 19
        depth, deepest, ends = 0, 0, []
        boxes = []
        for start, minus_end, event in sorted(row["events"], key=lambda e: e[:2]):
            while ends and ends[-1] <= start + 1e-9:
                ends.pop()
            depth = len(ends)
            deepest = max(deepest, depth)
            boxes.append((depth, start, -minus_end, event))
            if event["ph"] == "X":
                ends.append(-minus_end)
        out.append(f'<text x="14" y="{y + 11}">{html.escape(row["name"])}</text>')
        begins = sorted(start for _, start, _, _ in boxes)
        for depth, start, end, event in boxes:
            colour = colours.setdefault(event["name"], COLOURS[len(colours) % len(COLOURS)])
            top = y + depth * LINE
            tip = html.escape(f'{event["name"]} {event.get("args", {})}')
            if event["ph"] != "X":
                out.append(f'<path d="M{at(start):.1f} {top}v{LINE - 2}" stroke="{colour}" stroke-width="2"><title>{tip}</title></path>')
                continue
            wide = max(at(end) - at(start), 0.7)
            out.append(f'<rect x="{at(start):.1f}" y="{top}" width="{wide:.1f}" height="{LINE - 2}" fill="{colour}"><title>{tip}</title></rect>')
            fits = int((wide - 4) / 6)
            free = min([b for b in begins if b > start] + [high]) - end
            if fits < len(event["name"]) and free / (high - low) * WIDTH > 6 * len(event["name"]):
                out.append(f'<text x="{at(end) + 3:.1f}" y="{top + 10}">{html.escape(event["name"])}</text>')
            elif fits >= 4:
                out.append(f'<text x="{at(start) + 3:.1f}" y="{top + 10}" class="s">{html.escape(event["name"][:fits])}</text>')
        y += (deepest + 1) * LINE + GAP
    ticks = []
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1e9) if (high - low) / s <= 12)
    n = int(low / step)
    while n * step <= high:
        if n * step >= low:
            x = at(n * step)
            ticks.append(f'<path d="M{x:.1f} 20V{y}" stroke="#888" stroke-opacity="0.3"/><text x="{x:.1f}" y="14" text-anchor="middle">{n * step:g} ms</text>')
        n += 1
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {y + 4}" font-family="sans-serif" font-size="11">')
    print('<style>text{fill:#222}.g{font-weight:bold}.s{fill:#fff;font-size:10px}</style>')
    print(f'<rect width="100%" height="100%" fill="#fff"/>{"".join(ticks)}')
    print("\n".join(out))
    print("</svg>")


if __name__ == "__main__":
    main()
