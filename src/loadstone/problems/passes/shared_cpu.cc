// The pass over shared outputs, fused, for a CPU: see shared_cpu.py.
//
// Each thread takes a block of queries and streams over tiles of outputs: scores of the tile (first product), running
// maximum and exponentials, pull of the tile (second product). Scores live only in the cache. Both products use one
// register kernel: ROWS queries by two vectors, the operand with the vectors packed so that it is read in order.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// Accumulators, two vectors a row, must fit into the registers: 32 of them with AVX-512, 16 below.
#if defined(__AVX512F__)
constexpr int LANES = 16, ROWS = 12;
#elif defined(__AVX__)
constexpr int LANES = 8, ROWS = 6;
#else
constexpr int LANES = 4, ROWS = 6;
#endif
constexpr int WIDTH = 2 * LANES;
constexpr int TILE = 128;        // outputs a tile; a multiple of WIDTH
constexpr int GROUPS = 8;        // groups of ROWS queries a block, at most
constexpr int BLOCK = GROUPS * ROWS;

typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef int32_t Int __attribute__((vector_size(LANES * 4)));

constexpr float INF = std::numeric_limits<float>::infinity();

static Vec load(const float* p) { Vec v; __builtin_memcpy(&v, p, sizeof v); return v; }
static void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

static float highest_of(Vec v) {
  float lane[LANES];
  store(lane, v);
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
  return lane[0];
}

static float sum_of(Vec v) {
  float sum = 0;
  for (int lane = 0; lane < LANES; ++lane) sum += v[lane];
  return sum;
}

// c[ROWS][N * LANES] (+)= a[ROWS][depth] b[depth][N * LANES].
template <int N, bool ADD>
static void product(const float* a, int64_t a_stride, const float* b, int64_t depth, float* c, int64_t c_stride) {
  Vec sum[ROWS][N];
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) sum[r][v] = ADD ? load(c + r * c_stride + v * LANES) : Vec{};
  for (int64_t k = 0; k < depth; ++k) {
    Vec row[N];
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) row[v] = load(b + (k * N + v) * LANES);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < N; ++v) sum[r][v] += a[r * a_stride + k] * row[v];
  }
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) store(c + r * c_stride + v * LANES, sum[r][v]);
}

// exp(x) for x <= 0, within 2 units in the last place; 0 below -87. Not-a-number passes through.
static Vec exponential(Vec x) {
  const float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
  Vec shifted = x * 1.44269504f + round;
  Vec n = shifted - round;
  Vec r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  Vec y = 1.0f + r * (1.0f + r * (0.499999940f + r * (0.166666761f + r * (4.16663848e-2f + r * (8.33336171e-3f
          + r * (1.39338802e-3f))))));
  Vec scale = (Vec)(((Int)shifted << 23) + 0x3f800000);
  return (x < -87.0f) ? Vec{} : y * scale;
}

struct Pass {
  const float *queries, *outputs;
  const int32_t* targets;
  float *target, *rival, *logsumexp, *pull;
  int64_t n, m, d, width;  // width: d rounded up to LANES
  float *by_output, *by_component;  // the outputs packed for the first and for the second product

  void pack_outputs(int64_t tile) const {
    const int64_t first = tile * TILE, last = std::min(first + TILE, padded_outputs());
    for (int64_t j = first; j < last; j += WIDTH) {
      float* panel = by_output + j * d;
      const int64_t rows = std::clamp<int64_t>(m - j, 0, WIDTH);
      for (int64_t r = 0; r < WIDTH; ++r)
        for (int64_t k = 0; k < d; ++k) panel[k * WIDTH + r] = r < rows ? outputs[(j + r) * d + k] : 0.0f;
    }
    for (int64_t k = 0; k < width; k += WIDTH) {
      const int64_t wide = std::min<int64_t>(WIDTH, width - k), filled = std::min(wide, d - k);
      float* panel = by_component + k * padded_outputs();
      for (int64_t j = first; j < last; ++j) {
        float* row = panel + j * wide;
        std::fill(row, row + wide, 0.0f);
        if (j < m) std::copy(outputs + j * d + k, outputs + j * d + k + filled, row);
      }
    }
  }

  int64_t padded_outputs() const { return (m + WIDTH - 1) / WIDTH * WIDTH; }
  int64_t tiles() const { return (m + TILE - 1) / TILE; }
  int64_t groups() const { return (n + ROWS - 1) / ROWS; }

  // Blocks of nearly the same size, several for each thread: one that is held up leaves its share to the others.
  int64_t blocks(int64_t threads) const {
    const int64_t each = std::max<int64_t>(6, (groups() + GROUPS * threads - 1) / (GROUPS * threads));
    return std::min(threads * each, groups());
  }

  // All outputs against the queries of one block. `scratch` holds its queries, its sums and its scores of a tile.
  void block(int64_t index, int64_t of, float* scratch) const {
    const int64_t first = index * groups() / of * ROWS, last = std::min((index + 1) * groups() / of * ROWS, n);
    const int64_t rows = last - first, groups = (rows + ROWS - 1) / ROWS;
    float *query = scratch, *sums = query + BLOCK * d, *scores = sums + BLOCK * width;
    std::copy(queries + first * d, queries + (first + rows) * d, query);
    std::fill(query + rows * d, query + groups * ROWS * d, 0.0f);
    std::fill(sums, sums + groups * ROWS * width, 0.0f);
    float best[BLOCK];
    Vec total[BLOCK] = {};
    std::fill(best, best + BLOCK, -INF);

    for (int64_t start = 0; start < m; start += TILE) {
      const int64_t count = std::min<int64_t>(TILE, padded_outputs() - start);
      for (int64_t j = 0; j < count; j += WIDTH)
        for (int64_t g = 0; g < groups; ++g)
          product<2, false>(query + g * ROWS * d, d, by_output + (start + j) * d, d, scores + g * ROWS * TILE + j, TILE);
      for (int64_t r = 0; r < rows; ++r)
        weigh(first + r, scores + r * TILE, start, count, sums + r * width, best[r], total[r]);
      for (int64_t k = 0; k < width; k += WIDTH) {
        const float* panel = by_component + k * padded_outputs();
        for (int64_t g = 0; g < groups; ++g) {
          const float* weights = scores + g * ROWS * TILE;
          float* sum = sums + g * ROWS * width + k;
          if (width - k >= WIDTH) product<2, true>(weights, TILE, panel + start * WIDTH, count, sum, width);
          else product<1, true>(weights, TILE, panel + start * LANES, count, sum, width);
        }
      }
    }
    for (int64_t r = 0; r < rows; ++r) finish(first + r, sums + r * width, best[r], sum_of(total[r]));
  }

  // Scores of one query become weights exp(score - best so far); the target is taken out and kept apart.
  void weigh(int64_t q, float* score, int64_t start, int64_t count, float* sum, float& best, Vec& total) const {
    for (int64_t j = m - start; j < count; ++j) score[j] = -INF;  // padding
    const int64_t place = targets[q] - start;
    if (place >= 0 && place < count) {
      target[q] = score[place];
      score[place] = -INF;
    }
    Vec high = load(score);
    for (int64_t j = LANES; j < count; j += LANES) {
      const Vec s = load(score + j);
      high = high > s ? high : s;
    }
    const float top = highest_of(high);
    if (top > best) {
      const float shrink = std::exp(best - top);
      for (int64_t k = 0; k < width; ++k) sum[k] *= shrink;
      total *= shrink;
      best = top;
    }
    // A tile that held only the target leaves best at -infinity: any finite shift then gives weights of 0.
    const float shift = best == -INF ? 0.0f : best;
    for (int64_t j = 0; j < count; j += LANES) {
      const Vec weight = exponential(load(score + j) - shift);
      store(score + j, weight);
      total += weight;
    }
  }

  void finish(int64_t q, const float* sum, float best, float total) const {
    const float top = std::max(best, target[q]);
    const float others = std::exp(best - top), own = std::exp(target[q] - top);
    const float partition = total * others + own;
    const float* u = outputs + targets[q] * d;
    for (int64_t k = 0; k < d; ++k) pull[q * d + k] = (sum[k] * others + own * u[k]) / partition;
    rival[q] = best;
    logsumexp[q] = top + std::log(partition);
  }
};

// Calls work(0), ..., work(count - 1) on this thread and on whatever threads of the pool are free. This thread never
// waits for a thread that has not begun, so a busy pool cannot lock it up.
template <typename Work>
static void share(ffi::ThreadPool& pool, int64_t count, Work work) {
  struct State {
    std::atomic<int64_t> next{0}, done{0};
  };
  auto state = std::make_shared<State>();
  auto take = [state, count, work] {
    for (int64_t i; (i = state->next.fetch_add(1)) < count;) {
      work(i);
      state->done.fetch_add(1, std::memory_order_release);
    }
  };
  for (int64_t helper = 1; helper < std::min<int64_t>(pool.num_threads(), count); ++helper) pool.Schedule([take] { take(); });
  take();
  while (state->done.load(std::memory_order_acquire) < count) std::this_thread::yield();
}

// Memory that a thread keeps from call to call: fresh pages would cost as much as a small pass.
class Workspace {
 public:
  float* of(size_t floats) {
    if (floats > size_) {
      memory_.reset(static_cast<float*>(std::aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64)));
      size_ = memory_ ? floats : 0;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<float, void (*)(void*)> memory_{nullptr, std::free};
  size_t size_ = 0;
};

// Operands may have leading dimensions, the same for all: problems of equal shape that are passed together.
static ffi::Error shared_recall(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> queries, ffi::Buffer<ffi::F32> outputs,
                                ffi::Buffer<ffi::S32> targets, ffi::ResultBuffer<ffi::F32> target,
                                ffi::ResultBuffer<ffi::F32> rival, ffi::ResultBuffer<ffi::F32> logsumexp,
                                ffi::ResultBuffer<ffi::F32> pull) {
  const auto shape = queries.dimensions();
  const int64_t n = shape[shape.size() - 2], d = shape[shape.size() - 1];
  const int64_t m = outputs.dimensions()[shape.size() - 2], count = n ? queries.element_count() / (n * d) : 0;
  const int64_t width = (d + LANES - 1) / LANES * LANES;
  std::vector<Pass> passes;
  for (int64_t i = 0; i < count; ++i)
    passes.push_back({queries.typed_data() + i * n * d, outputs.typed_data() + i * m * d, targets.typed_data() + i * n,
                      target->typed_data() + i * n, rival->typed_data() + i * n, logsumexp->typed_data() + i * n,
                      pull->typed_data() + i * n * d, n, m, d, width, nullptr, nullptr});
  if (passes.empty()) return ffi::Error::Success();

  static thread_local Workspace packed_outputs;
  const int64_t size = passes[0].padded_outputs() * (d + width);
  float* memory = packed_outputs.of(count * size);
  if (!memory) return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory to pack the outputs");
  for (int64_t i = 0; i < count; ++i) {
    passes[i].by_output = memory + i * size;
    passes[i].by_component = passes[i].by_output + passes[i].padded_outputs() * d;
  }

  // First every tile is packed, then every block is done, in one go: to wake the threads twice would cost more.
  const int64_t tiles = passes[0].tiles(), blocks = passes[0].blocks(std::max<int64_t>(1, pool.num_threads()));
  std::atomic<int64_t> packed{0};
  std::atomic<bool> failed{false};
  share(pool, count * (tiles + blocks), [&](int64_t task) {
    if (task < count * tiles) {
      passes[task / tiles].pack_outputs(task % tiles);
      packed.fetch_add(1, std::memory_order_release);
      return;
    }
    // Every tile is in the hands of a running thread by now.
    while (packed.load(std::memory_order_acquire) < count * tiles) std::this_thread::yield();
    static thread_local Workspace scratch;
    const int64_t block = task - count * tiles;
    float* memory = scratch.of(BLOCK * (d + width + TILE));
    if (memory) passes[block / blocks].block(block % blocks, blocks, memory);
    else failed = true;
  });
  return failed ? ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for a block of scores") : ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(loadstone_shared_recall, shared_recall,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
