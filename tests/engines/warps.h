// The threads of a block as lanes that take turns: enough of CUDA to run its kernels on a CPU.
//
// Threads run one at a time and change places only where they wait for each other, so a kernel that
// reads what another one writes without waiting in between is found out only with RACES, as which they
// are fibers of ThreadSanitizer (`make races`): only __syncwarp and __syncthreads order what they do to
// memory. That a value was exchanged orders nothing, as on a GPU.

#include <setjmp.h>
#include <ucontext.h>
#ifdef RACES
#include <sanitizer/tsan_interface.h>
#define UNSEEN __attribute__((no_sanitize("thread"), noinline))  // the simulation itself
#else
#define UNSEEN
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define together()  // what depends on it is wrong
using std::max;
using std::min;

struct Place {
    struct {  // atomic, for no lane waits before it asks who it is
        int own;
        operator int() const { return __atomic_load_n(&own, __ATOMIC_RELAXED); }
        void operator=(int value) { __atomic_store_n(&own, value, __ATOMIC_RELAXED); }
    } x;
};
static Place threadIdx, blockIdx, blockDim;

#define MOST_THREADS 512
typedef unsigned int bits_of_warp;
static ucontext_t lanes[MOST_THREADS];
static jmp_buf scheduler, places[MOST_THREADS];  // contexts only begin a lane: a jump is no system call
static bool begun[MOST_THREADS], ended[MOST_THREADS];
static long arrived[MOST_THREADS], met[MOST_THREADS];
static unsigned long long slot[MOST_THREADS];
static int running, num_threads;

#ifdef RACES
static ucontext_t host;
static void *fibers[MOST_THREADS], *host_fiber;
static char gates[2][MOST_THREADS + 1], way_in, way_out;  // where those that meet exchange clocks
static void prepare() { host_fiber = __tsan_get_current_fiber(); }
static void begin() { __tsan_acquire(&way_in); }
static void end() { __tsan_release(&way_out); }
static void finish() { __tsan_acquire(&way_out); }
extern "C" void forget() {  // there can be 8,000 at a time, and new ones take long
    for (void*& fiber : fibers) {
        if (fiber) __tsan_destroy_fiber(fiber);
        fiber = nullptr;
    }
}
static void arrive(int gate, long mine) { __tsan_release(&gates[mine & 1][gate]); }
static void leave(int gate, long mine) { __tsan_acquire(&gates[mine & 1][gate]); }
UNSEEN static void resume(int lane) {
    if (!fibers[lane]) fibers[lane] = __tsan_create_fiber(0);
    __tsan_release(&way_in);
    __tsan_switch_to_fiber(fibers[lane], __tsan_switch_to_fiber_no_sync);
    swapcontext(&host, &lanes[lane]);
}
UNSEEN static void rest() {
    __tsan_switch_to_fiber(host_fiber, __tsan_switch_to_fiber_no_sync);
    swapcontext(&lanes[running], &host);
}
#else
static void prepare() {}
static void begin() {}
static void end() {}
static void finish() {}
static void arrive(int, long) {}
static void leave(int, long) {}
static void resume(int lane) {
    if (_setjmp(scheduler)) return;
    if (begun[lane]) _longjmp(places[lane], 1);
    begun[lane] = true;
    setcontext(&lanes[lane]);
}
static void rest() {
    if (!_setjmp(places[running])) _longjmp(scheduler, 1);
}
#endif
UNSEEN static long wait(bits_of_warp mask) {
    const long mine = ++arrived[running];
    const int warp = running & ~31;
    for (int lane = 0; lane < 32; ++lane)
        while ((mask >> lane & 1) && arrived[warp + lane] < mine) rest();
    return mine;
}
UNSEEN static void __syncwarp(bits_of_warp mask = ~0u) {
    const int gate = (running & ~31) + __builtin_ctz(mask);
    arrive(gate, arrived[running]);
    leave(gate, wait(mask) - 1);
}
UNSEEN static void __syncthreads() {
    arrive(MOST_THREADS, met[running]);
    const long mine = ++met[running];
    for (int lane = 0; lane < num_threads; ++lane)
        while (met[lane] < mine) rest();
    leave(MOST_THREADS, mine - 1);
}
UNSEEN static bool __syncthreads_or(bool value) {
    static bool any;
    __syncthreads();
    any = false;
    __syncthreads();
    any |= value;
    __syncthreads();
    return any;
}
template <typename Join>
UNSEEN static unsigned long long joined(bits_of_warp mask, unsigned long long value, Join join) {
    const int own = running, warp = running & ~31;
    slot[own] = value;
    wait(mask);
    unsigned long long result = 0;
    for (int lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1) result = join(result, lane, slot[warp + lane]);
    wait(mask);
    return result;
}
static unsigned int __reduce_or_sync(bits_of_warp mask, unsigned int value) {
    return joined(mask, value, [](auto all, int, auto one) { return all | one; });
}
static unsigned int __reduce_min_sync(bits_of_warp mask, unsigned int value) {
    const auto most = [](auto all, int, auto one) { return max(all, one); };
    return ~(unsigned int)joined(mask, ~value, most);
}
static int __reduce_min_sync(bits_of_warp mask, int value) {
    return (int)(__reduce_min_sync(mask, (unsigned int)value ^ 1u << 31) ^ 1u << 31);
}
static bool __any_sync(bits_of_warp mask, bool value) {
    return joined(mask, value, [](auto all, int, auto one) { return all | one; });
}
static unsigned int __ballot_sync(bits_of_warp mask, bool value) {
    return joined(mask, value, [](auto all, int lane, auto one) { return all | one << lane; });
}
static unsigned int __match_any_sync(bits_of_warp mask, int key) {
    const unsigned long long own = (unsigned int)key;
    return joined(mask, own, [own](auto all, int lane, auto one) {
        return all | (unsigned long long)(one == own) << lane;
    });
}
template <typename T> UNSEEN static T __shfl_sync(bits_of_warp mask, T value, int from, int width = 32) {
    const int base = running / width * width;
    unsigned long long held = 0;
    memcpy(&held, &value, sizeof(T));
    slot[running] = held;
    wait(mask);
    held = slot[base + from % width];
    wait(mask);
    memcpy(&value, &held, sizeof(T));
    return value;
}
template <typename T> static T __shfl_xor_sync(bits_of_warp mask, T value, int with) {
    return __shfl_sync(mask, value, (running & 31) ^ with);
}
template <typename T, typename After> static T exchanged(T* place, After after) {
    const T before = __atomic_load_n(place, __ATOMIC_RELAXED);
    __atomic_store_n(place, after(before), __ATOMIC_RELAXED);
    return before;
}
template <typename T> static T atomicMin(T* place, T value) {
    return exchanged(place, [value](T before) { return min(before, value); });
}
template <typename T> static T atomicAdd(T* place, T value) {
    return exchanged(place, [value](T before) { return before + value; });
}
template <typename T> static T atomicAnd(T* place, T value) {
    return exchanged(place, [value](T before) { return before & value; });
}
template <typename T> static T atomicOr(T* place, T value) {
    return exchanged(place, [value](T before) { return before | value; });
}
template <typename T> static T atomicCAS(T* place, T old, T value) {
    return exchanged(place, [=](T before) { return before == old ? value : before; });
}
static int __ffs(int bits) { return __builtin_ffs(bits); }
static int __ffsll(long long bits) { return __builtin_ffsll(bits); }
static int __clzll(long long bits) { return bits ? __builtin_clzll(bits) : 64; }
static int __popc(unsigned int bits) { return __builtin_popcount(bits); }
static unsigned int __funnelshift_r(unsigned int low, unsigned int high, int shift) {
    return (unsigned int)((((unsigned long long)high << 32) | low) >> (shift & 31));
}
template <typename T> static T __ldg(const T* place) { return *place; }
static unsigned int __umulhi(unsigned int one, unsigned int other) {
    return (unsigned int)((unsigned long long)one * other >> 32);
}
static int __float2int_rn(float value) { return (int)lrintf(value); }
static int __double2int_rn(double value) { return (int)lrint(value); }
static float __int_as_float(int bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static int __float_as_int(float value) {
    int bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static long long __double2ll_rn(double value) { return llrint(value); }
static long long __double_as_longlong(double value) {
    long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static double __longlong_as_double(long long bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool is_backwards;  // the order of threads: what depends on it lacks a wait
extern "C" void turn_round(bool backwards) { is_backwards = backwards; }
static void (*kernel)();
UNSEEN static void start() {
    begin();
    kernel();
    end();
    ended[running] = true;
    arrived[running] = met[running] = 1L << 60;
    rest();
}

// Run a kernel over a grid, block after block.
UNSEEN static void launch(void (*body)(), long long blocks, int threads) {
    kernel = body;
    prepare();
    static char* const stacks = new char[(size_t)MOST_THREADS << 16];  // not zeroed: few pages are used
    blockDim.x = num_threads = threads;
    const int all = (threads + 31) / 32 * 32;
    for (long long block = 0; block < blocks; ++block) {
        blockIdx.x = (int)block;
        for (int lane = 0; lane < all; ++lane) {
            getcontext(&lanes[lane]);
            lanes[lane].uc_stack.ss_sp = &stacks[(size_t)lane << 16];
            lanes[lane].uc_stack.ss_size = 1 << 16;
            begun[lane] = false;
            ended[lane] = lane >= threads;
            arrived[lane] = met[lane] = ended[lane] ? 1L << 60 : 0;
            makecontext(&lanes[lane], start, 0);
        }
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (int turn = 0; turn < threads; ++turn) {
                running = is_backwards ? threads - 1 - turn : turn;
                if (ended[running]) continue;
                threadIdx.x = running;
                goes_on = true;
                resume(running);
            }
        }
        finish();
    }
}
