#!/usr/bin/env python3
"""Time `trace` on several processes over generated runs of many ranks, and write a table of the results.

  bench/cluster.py PLAIN WITH_MPI FOLDER [RANKS ...]      default: 64 256 1000

PLAIN and WITH_MPI are the commands `evenkeel` and `evenkeel-mpi`. FOLDER holds the generated traces (20 MB a rank) and
must have room for them. Every rank has five steps of 1152 kernels, their launches, operators and Python frames, as
PyTorch writes them, and 48 collectives a step that some ranks reach late. With 1, 2, 4, 8 and 16 processes the answers
must be the same bytes, and also from partial results that are combined in two orders. The launcher is EK_MPIRUN
(mpirun).
"""
import hashlib
import os
import random
import resource
import subprocess
import sys
import time

STEPS, LAYERS, KERNELS = 5, 24, 24
FRAMES = 15  # of Python, a kernel


def pieces_of_a_rank():
    """Constant texts, and between them the varying parts: ("late", call) or a time."""
    source = random.Random(7)
    names = ["void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_%dx%d_32x3_nt_align8>(Params)" % (64 << i % 3, 128)
             for i in range(6)]
    names += ["void at::native::vectorized_elementwise_kernel<%d, at::native::CUDAFunctor_add<c10::BFloat16>>" % i
              for i in range(8)]
    texts, marks, now, link, call = [], [], 1000000.0, 1, 0
    piece = []

    def event(kind, name, ts, dur, tid, args):
        piece.append('{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{%s}},\n' %
                     (kind, name, 0 if kind in ("kernel", "gpu_memcpy") else 4711, tid, ts, dur, args))

    for step in range(STEPS):
        begin, device = now, now + 900.0
        for layer in range(2 * LAYERS):
            for k in range(KERNELS):
                dur = source.choice((6.0, 12.0, 40.0, 90.0)) + source.randrange(2000) / 1000
                for frame in range(FRAMES):
                    event("python_function", "torch/nn/modules/module.py(%d): _call_impl" % (1500 + frame), now + frame * .1,
                          20.0 - frame, 4711, '"Python parent id":%d,"Python id":%d' % (link * 16 + frame - 1, link * 16 + frame))
                event("cpu_op", "aten::linear" if k % 3 else "aten::mul", now + 2, 14.0, 4711,
                      '"External id":%d,"Input Dims":[[4096,1024],[1024,%d]],"Input type":["c10::BFloat16","c10::BFloat16"]' %
                      (link, 512 << k % 3))
                event("cuda_runtime", "cudaLaunchKernel", now + 6, 4.0, 4711, '"External id":%d,"correlation":%d' % (link, link))
                event("kernel", names[(layer * 5 + k * 3) % len(names)], device, dur, 7,
                      '"External id":%d,"correlation":%d,"device":0,"stream":7,"grid":[128,1,1],"block":[256,1,1],'
                      '"est. achieved occupancy %%":%d' % (link, link, 31 + k % 3))
                link += 1
                now += 21.0
                device = max(device + dur, now) + 1.0
            # A collective that begins when its rank comes, and ends for all at once.
            end = device + 700.0
            piece.append('{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL","pid":0,"tid":20,"ts":')
            texts.append("".join(piece))
            piece.clear()
            marks.append((call, device, end))
            piece.append(',"args":{"External id":%d,"correlation":%d,"device":0,"stream":20,"Collective name":"allreduce",'
                         '"In msg nelems":4194304,"Out msg nelems":4194304,"Group size":8,"dtype":"BFloat16",'
                         '"Process Group Name":"' % (link, link))
            texts.append("".join(piece))
            piece.clear()
            marks.append(None)
            piece.append('"}},\n')
            event("cuda_runtime", "cudaLaunchKernel", now + 1, 4.0, 4711, '"External id":%d,"correlation":%d' % (link, link))
            link += 1
            call += 1
            device = end + 2
        event("cuda_runtime", "cudaDeviceSynchronize", now + 8, max(device - now - 8, 1.0), 4711, '"External id":%d' % link)
        now = max(now, device) + 300.0
        event("user_annotation", "ProfilerStep#%d" % (10 + step), begin, now - begin, 4711, '"External id":%d' % link)
        link += 1
    texts.append("".join(piece).rstrip(",\n"))
    return [t.encode() for t in texts], marks


def write_rank(path, rank, world, texts, marks):
    source = random.Random(rank)
    group = "%d" % (rank // 8)
    members = "[%s]" % ", ".join(str(rank // 8 * 8 + i) for i in range(8))
    out = [b'{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"device"}],"distributedInfo":{"backend":"nccl","rank":%d,'
           b'"world_size":%d},"traceEvents":[\n' % (rank, world)]
    for text, mark in zip(texts, marks + [()]):
        out.append(text)
        if mark == ():
            break
        if mark is None:
            out.append(('%s","Process Group Ranks":"%s' % (group, members)).encode())
        else:
            late = (400.0 if rank % 8 == mark[0] % 7 else 0.0) + source.randrange(90000) / 1000
            out.append(b"%.3f,\"dur\":%.3f" % (mark[1] + late, mark[2] - mark[1] - late))
    out.append(b"\n]}\n")
    with open(path, "wb") as file:
        file.write(b"".join(out))


def generate(folder, n):
    os.makedirs(folder, exist_ok=True)
    texts, marks = pieces_of_a_rank()
    for rank in range(n):
        path = os.path.join(folder, "rank%d.pt.trace.json" % rank)
        if not os.path.exists(path):
            write_rank(path, rank, n, texts, marks)


def run(words, out):
    """Seconds, and the most memory of a process in MB."""
    begin = time.monotonic()
    with open(out, "wb") as file:
        child = subprocess.Popen(words, stdout=file)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
    if status:
        sys.exit("%s failed" % " ".join(words[:6]))
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def number_of(path):
    hash_ = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            hash_.update(block)
    return hash_.hexdigest()


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    plain, with_mpi, folder = sys.argv[1:4]
    sizes = [int(a) for a in sys.argv[4:]] or [64, 256, 1000]
    launcher = os.environ.get("EK_MPIRUN", "mpirun").split()
    print("| ranks | GB | processes | seconds | GB/s | same bytes |\n|---|---|---|---|---|---|", flush=True)
    for n in sizes:
        runs, out = os.path.join(folder, str(n)), os.path.join(folder, "answer")
        generate(runs, n)
        size = sum(os.path.getsize(os.path.join(runs, name)) for name in os.listdir(runs))
        run([plain, "trace", runs, "--format", "json"], out)  # into the page cache
        seconds, memory = run([plain, "trace", runs, "--format", "json"], out)
        first = number_of(out)
        print("| %d | %.1f | evenkeel | %.1f | %.2f | %d MB of memory |" % (n, size / 1e9, seconds, size / 1e9 / seconds, memory), flush=True)
        for processes in (1, 2, 4, 8, 16):
            seconds, _ = run(launcher + ["-n", str(processes), with_mpi, "trace", runs, "--format", "json", "--threads", "1"], out)
            print("| %d | %.1f | %d | %.1f | %.2f | %s |" % (n, size / 1e9, processes, seconds, size / 1e9 / seconds,
                                                           "yes" if number_of(out) == first else "NO"), flush=True)
        parts = os.path.join(folder, "parts%d" % n)
        os.makedirs(parts, exist_ok=True)
        begin = time.monotonic()
        for rank in range(n):
            subprocess.run([plain, "trace", os.path.join(runs, "rank%d.pt.trace.json" % rank), "--partial",
                            os.path.join(parts, "%d.ekr" % rank)], check=True)
        made = time.monotonic() - begin
        each = [os.path.getsize(os.path.join(parts, name)) for name in os.listdir(parts)]
        order = [os.path.join(parts, "%d.ekr" % rank) for rank in range(n)]
        seconds, memory = run([plain, "trace", "--combine"] + order + ["--format", "json"], out)
        same = number_of(out) == first
        random.Random(1).shuffle(order)
        run([plain, "trace", "--combine"] + order + ["--format", "json"], out)
        same = same and number_of(out) == first
        print("| %d | %.1f | partial %.1f s | %.1f to combine | %d to %d bytes a rank, %d MB of memory | %s |" %
              (n, size / 1e9, made, seconds, min(each), max(each), memory, "yes" if same else "NO"), flush=True)


main()
