// The lanes of a warp as threads that take turns: enough of CUDA to run its kernels on a CPU.
//
// Lanes run one at a time and change places only where they wait for each other, so a kernel that
// reads what another lane writes without waiting in between is not found out here. Compile with
// -DSOURCE="<file.cu>" and what that file wants to have defined.

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#define __global__
#define __device__
#define __shared__
using std::max;
using std::min;

struct Place { int x; };
static Place threadIdx, blockIdx, blockDim;
WORD memory[1 << 16];

static ucontext_t lanes[32];
static jmp_buf scheduler, places[32];  // contexts only begin a lane: to jump costs no system call
static bool begun[32], ended[32];
static long arrived[32];
static unsigned long long slot[32];
static int running;

static void resume(int lane) {
    if (_setjmp(scheduler)) return;
    if (begun[lane]) _longjmp(places[lane], 1);
    begun[lane] = true;
    setcontext(&lanes[lane]);
}
static void rest() {
    if (!_setjmp(places[running])) _longjmp(scheduler, 1);
}
static void wait(unsigned int mask) {
    const long mine = ++arrived[running];
    for (int lane = 0; lane < 32; ++lane)
        while ((mask >> lane & 1) && arrived[lane] < mine) rest();
}
static void __syncwarp(unsigned int mask) { wait(mask); }
template <typename Join>
static unsigned long long joined(unsigned int mask, unsigned long long value, Join join) {
    const int own = running;
    slot[own] = value;
    wait(mask);
    unsigned long long result = 0;
    for (int lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1) result = join(result, lane, slot[lane]);
    wait(mask);
    return result;
}
static unsigned int __reduce_or_sync(unsigned int mask, unsigned int value) {
    return joined(mask, value, [](auto all, int, auto one) { return all | one; });
}
static unsigned int __reduce_min_sync(unsigned int mask, unsigned int value) {
    return ~joined(mask, ~value, [](auto all, int, auto one) { return max(all, one); });
}
static bool __any_sync(unsigned int mask, bool value) {
    return joined(mask, value, [](auto all, int, auto one) { return all | one; });
}
static unsigned int __match_any_sync(unsigned int mask, int key) {
    const unsigned long long own = (unsigned int)key;
    return joined(mask, own, [own](auto all, int lane, auto one) {
        return all | (unsigned long long)(one == own) << lane;
    });
}
static float __shfl_sync(unsigned int mask, float value, int from) {
    union { float real; unsigned int bits; } held;
    held.real = value;
    const int base = running;
    slot[base] = held.bits;
    wait(mask);
    held.bits = (unsigned int)slot[from];
    wait(mask);
    return held.real;
}
static float __shfl_xor_sync(unsigned int mask, float value, int with) {
    return __shfl_sync(mask, value, running ^ with);
}
static int __ffs(int bits) { return __builtin_ffs(bits); }
static int __ffsll(long long bits) { return __builtin_ffsll(bits); }

typedef WORD word;
#include SOURCE

static void (*kernel)();
static void start() {
    kernel();
    ended[running] = true;
    arrived[running] = 1L << 60;
    _longjmp(scheduler, 1);
}

// Run a kernel over a grid, warp after warp.
static void launch(void (*body)(), long long blocks, int threads) {
    kernel = body;
    static std::vector<char> stacks(32 << 16);
    blockDim.x = threads;
    for (long long block = 0; block < blocks; ++block)
        for (int warp = 0; warp < threads; warp += 32) {
            blockIdx.x = (int)block;
            for (int lane = 0; lane < 32; ++lane) {
                getcontext(&lanes[lane]);
                lanes[lane].uc_stack.ss_sp = &stacks[lane << 16];
                lanes[lane].uc_stack.ss_size = 1 << 16;
                begun[lane] = ended[lane] = false;
                arrived[lane] = 0;
                makecontext(&lanes[lane], start, 0);
            }
            for (bool goes_on = true; goes_on;) {
                goes_on = false;
                for (running = 0; running < 32; ++running)
                    if (!ended[running]) {
                        threadIdx.x = warp + running;
                        goes_on = true;
                        resume(running);
                    }
            }
        }
}

static const WORD* given;
static const byte* bytes;
static WORD* packed;
static int *found, *counted;
static long long graphs;
static int left, right;

#ifdef NETWORK
static const float* layers;
extern "C" int graph_bytes() { return (int)sizeof(Nodes); }
extern "C" void run(const WORD* columns, const float* parameters, int* mates, int* rounds,
                    long long num_graphs, int num_left, int num_right, int threads) {
    given = columns, layers = parameters, found = mates, counted = rounds;
    graphs = num_graphs, left = num_left, right = num_right;
    const long long blocks = (num_graphs * 32 + threads - 1) / threads;
    launch([] { run_network(given, layers, found, counted, graphs, left, right); }, blocks, threads);
}
#else
extern "C" int graph_bytes() { return (int)sizeof(Graph); }
extern "C" void run_match(const WORD* columns, int* mates, int* rounds, long long num_graphs,
                          int num_left, int num_right, int threads) {
    given = columns, found = mates, counted = rounds;
    graphs = num_graphs, left = num_left, right = num_right;
    const long long blocks = (num_graphs * LANES + threads - 1) / threads;
    launch([] { match(given, found, counted, graphs, left, right); }, blocks, threads);
}
extern "C" void run_pack(const byte* adjacency, WORD* columns, long long num_graphs, int num_left,
                         int num_right, int four) {
    bytes = adjacency, packed = columns;
    graphs = num_graphs, left = num_left, right = num_right;
    const long long blocks = (num_graphs * num_right + 63) / 64;
    if (four)
        launch([] { pack_four((const unsigned int*)bytes, packed, graphs, left, right); }, blocks, 64);
    else
        launch([] { pack(bytes, packed, graphs, left, right); }, blocks, 64);
}
#endif
