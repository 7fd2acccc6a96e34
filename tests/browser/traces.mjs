// Makes traces for browser tests, in torch_npu's format: the times of all events follow from a few numbers, so that a
// test knows the expected content of a page. The device runs `per_step` operators back to back on two streams and a
// collective after every eighth; the host launches each from two nested calls a moment before.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const BASE = 1736408883000000000n; // ns: beyond 2^53, as in real files

/** Texts that would be markup, script or a special character if a page treated them as more than text. */
export const hostile = [
    "<img src=x onerror=\"window.hostile=1\">",
    "</script><script>window.hostile=2</script>",
    "\"><svg onload=window.hostile=3>",
    "${window.hostile=4} {{window.hostile=5}}",
    "javascript:window.hostile=6",
    "line\u2028break\u2029 \u0000null \ud83d\ude80 \u202eright to left",
];

/** The most that a rank waits in a collective. */
export const MOST_WAIT = 160000;

const us = (ns) => `${(BASE + BigInt(Math.round(ns))) / 1000n}.${String((BASE + BigInt(Math.round(ns))) % 1000n).padStart(3, "0")}`;

const operators = ["aclnnMatmul_MatMulV2", "aclnnSilu_Swish", "aclnnRmsNorm_RmsNorm", "aclnnFlashAttentionScore", "aclnnMul_Mul",
    "aclnnAdd_Add"];

/** The events of a rank: {steps, per_step} and, with `names`, these names for the operators. waits: nanoseconds that the
 *  rank waits in each collective; it idles the rest of `MOST_WAIT` before it. */
export function events_of(rank, { steps = 3, per_step = 48, names = operators, args = () => ({}), waits = null } = {}) {
    const pid = { host: 1000 + rank, cann: 2000 + rank, device: 3000 + rank, hccl: 4000 + rank, overlap: 5000 + rank };
    const events = [];
    const meta = (process, name, label, sort) => events.push(
        { ph: "M", name: "process_name", pid: process, tid: 0, args: { name } },
        { ph: "M", name: "process_labels", pid: process, tid: 0, args: { labels: label } },
        { ph: "M", name: "process_sort_index", pid: process, tid: 0, args: { sort_index: sort } });
    const thread = (process, tid, name) => events.push({ ph: "M", name: "thread_name", pid: process, tid, args: { name } });
    meta(pid.host, "Python", "CPU", 1);
    meta(pid.cann, "CANN", "CPU", 2);
    meta(pid.device, "Ascend Hardware", "NPU", 3);
    meta(pid.overlap, "Overlap Analysis", "NPU", 4);
    meta(pid.hccl, "HCCL", "NPU", 5);
    thread(pid.host, 7, "Thread 7");
    thread(pid.cann, 8, "Thread 8");
    thread(pid.device, 2, "Stream 2");
    thread(pid.device, 3, "Stream 3");
    thread(pid.hccl, 0, "Group 0 Communication");
    thread(pid.overlap, 0, "Computing 0");
    thread(pid.overlap, 1, "Communication 1");
    thread(pid.overlap, 2, "Communication(Not Overlapped) 2");
    thread(pid.overlap, 3, "Free 3");
    const span = (process, tid, name, begin, end, more = {}) => events.push(
        { ph: "X", name, pid: process, tid, ts: us(begin), dur: (end - begin) / 1000, args: {}, ...more });
    const flow = (ph, name, cat, id, process, tid, time) => events.push(
        { ph, bp: "e", name, cat, id: String(id), pid: process, tid, ts: us(time) });
    let now = 1e6 + 20000 * rank;
    let n = 0;
    for (let step = 0; step < steps; step++) {
        const begin = now;
        for (let i = 0; i < per_step; i++, n++) {
            const name = names[n % names.length];
            const length = 20000 + 8000 * (n % 5);
            const launch = now - 15000;
            span(pid.host, 7, `aten::${name}`, launch, launch + 9000, { cat: "cpu_op", args: { "Sequence number": n } });
            span(pid.host, 7, "aten::empty", launch + 1000, launch + 3000, { cat: "cpu_op" });
            span(pid.cann, 8, "Node@launch", launch + 4000, launch + 8000, { args: { connection_id: n } });
            span(pid.device, 2 + n % 2, name, now, now + length,
                { args: { "Task Type": n % 3 ? "AI_CORE" : "AI_VECTOR_CORE", "Task Id": n, connection_id: n, ...args(n) } });
            span(pid.overlap, 0, "Computing", now, now + length);
            flow("s", "torch_to_npu", "async_npu", 1700000000000000000n + BigInt(n), pid.host, 7, launch);
            flow("f", "torch_to_npu", "async_npu", 1700000000000000000n + BigInt(n), pid.device, 2 + n % 2, now);
            flow("s", `HostToDevice${n}`, "HostToDevice", 9000 + n, pid.cann, 8, launch + 4000);
            flow("f", `HostToDevice${n}`, "HostToDevice", 9000 + n, pid.device, 2 + n % 2, now);
            span(pid.overlap, 3, "Free", now + length, now + length + 1000);
            now += length + 1000;
            if (n % 8 === 7) {
                now += waits === null ? 0 : MOST_WAIT - waits(rank);
                const lasts = 60000 + (waits === null ? 0 : waits(rank));
                span(pid.hccl, 0, `hcom_allReduce__586_0_${n}`, now, now + lasts, { args: { data_type: "fp16", count: 4096 } });
                span(pid.overlap, 1, "Communication", now, now + lasts);
                span(pid.overlap, 2, "Communication(Not Overlapped)", now, now + lasts);
                span(pid.overlap, 3, "Free", now + lasts, now + lasts + 1000);
                now += lasts + 1000;
            }
        }
        events.push({ ph: "C", name: "HBM", pid: pid.device, tid: 0, ts: us(begin), args: { "Read(MB/s)": 1000 * step + rank } });
        span(pid.host, 7, `ProfilerStep#${step + 10}`, begin - 15000, now - 16000, { cat: "cpu_op" });
        now += 30000;
    }
    return events;
}

/** Write a run of `ranks` ranks into a folder; returns the folder. */
export function write_run(folder, ranks, options = {}) {
    for (let rank = 0; rank < ranks; rank++) {
        const output = join(folder, `rank_${rank}_ascend_pt`, "ASCEND_PROFILER_OUTPUT");
        mkdirSync(output, { recursive: true });
        writeFileSync(join(output, "trace_view.json"), JSON.stringify(events_of(rank, options)));
        writeFileSync(join(folder, `rank_${rank}_ascend_pt`, `profiler_info_${rank}.json`),
            JSON.stringify({ rank_id: rank }));
    }
    return folder;
}
