// Measures how smoothly pages with many events are panned: prints "WHAT|EVENTS|FRAMES|MEAN|P95|WORST|DRAW|DRAW_P95" a
// page, times in milliseconds. Two pages: a simulated plan, in which every box is far apart from a pixel, and a trace
// of eight ranks with nested host calls.
import { join } from "node:path";
import { close, folder, open, page_of } from "./harness.mjs";
import { write_run } from "./traces.mjs";

const seconds = Number(process.argv[2] ?? 4);

const cases = [
    { what: "simulation, 12 stages x 4800 micro-batches", page: () => page_of("frames-plan", ["simulate", "--uniform",
        "forward=2,backward=4", "-s", "12", "-mb", "4800", "--schedule", "1f1b", "--html", "PAGE"]) },
    { what: "trace, 2 ranks", page: () => page_of("frames-trace", ["trace",
        write_run(join(folder, "frames-run"), 2, { steps: 8, per_step: 1700 }), "--format", "json", "--html", "PAGE"]) },
];

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

for (const { what, page: make } of cases) {
    const page = await open(make(), { hash: "#bench" });
    await page.waitForFunction(() => window.evenkeel_bench);
    const { frames, draws, events } = await page.evaluate((s) => window.evenkeel_bench.panFrames(s), seconds);
    const [f, d] = [[...frames].sort((a, b) => a - b), [...draws].sort((a, b) => a - b)];
    console.log([what, events, frames.length, mean(f).toFixed(3), at(f, 0.95).toFixed(3), f[f.length - 1].toFixed(3),
        mean(d).toFixed(3), at(d, 0.95).toFixed(3)].join("|"));
    for (const error of page.errors) console.log(error);
    await page.close();
}
await close();
