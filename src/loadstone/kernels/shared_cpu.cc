// The pass over shared outputs, fused, for a CPU: see shared_cpu.py.
//
// Each thread takes a block of queries and streams over tiles of outputs: scores of the tile (first product), running
// maximum and exponentials, pull of the tile (second product). Scores live only in the cache. Both products use one
// register kernel: ROWS queries by two vectors, the operand with the vectors packed so that it is read in order.
//
// A full memory's step needs two small products more: its queries W e before the pass and its gradient after it. They
// are tasks of the same round, because waking the threads once for each would cost more than the products themselves.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "shared_cpu_kernels.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

constexpr int TILE = 128;  // outputs a tile; a multiple of WIDTH
constexpr int GROUPS = 8;  // groups of ROWS queries a block, at most
constexpr int BLOCK = GROUPS * ROWS;

// Packed[panel][k][WIDTH]: WIDTH rows side by side, so that a product reads them in order; missing rows are zero.
static void pack_rows(const float* matrix, int64_t rows, int64_t d, int64_t first, int64_t last, float* packed) {
  for (int64_t j = first; j < last; j += WIDTH) {
    float* panel = packed + j * d;
    const int64_t present = std::clamp<int64_t>(rows - j, 0, WIDTH);
    for (int64_t r = 0; r < WIDTH; ++r)
      for (int64_t k = 0; k < d; ++k) panel[k * WIDTH + r] = r < present ? matrix[(j + r) * d + k] : 0.0f;
  }
}

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

struct Pass {
  const float* inputs;   // with weights: the inputs e, whose queries are W e; without: the queries themselves
  const float* weights;  // W, or null
  const float* outputs;
  const int32_t* targets;
  float *target, *rival, *logsumexp;
  float* slope;     // for each query, the pull minus its target: the derivative of its loss
  float* gradient;  // with weights: sum over the queries of slope times input
  int64_t n, m, d;
  float *by_output, *by_component;  // the outputs packed for the first and for the second product
  float* packed_weights;

  // Components of the pull that the second product makes as vectors. The last few, where they would fill less than half
  // of a vector, are made by dots instead, in pairs.
  int64_t width() const { return d % LANES > LANES / 2 ? round_up(d, LANES) : d - d % LANES; }
  int64_t tail() const { return round_up(std::max<int64_t>(0, d - width()), 2); }
  // A row of sums: `width` numbers, then `tail` vectors of partial sums.
  int64_t sums() const { return width() + tail() * LANES; }
  int64_t wide() const { return round_up(d, WIDTH); }
  int64_t padded_outputs() const { return round_up(m, WIDTH); }
  int64_t groups() const { return (n + ROWS - 1) / ROWS; }
  int64_t packed_size() const { return padded_outputs() * (d + width()) + wide() * (d + 1); }
  int64_t scratch_size() const { return BLOCK * (d + wide() + sums() + TILE); }

  // A pass is done in three stages, each of them so many tasks.
  int64_t packs() const { return (m + TILE - 1) / TILE + (weights ? 1 : 0); }
  // Blocks of nearly the same size, several for each thread: one that is held up leaves its share to the others.
  int64_t blocks(int64_t threads) const {
    const int64_t each = std::max<int64_t>(6, (groups() + GROUPS * threads - 1) / (GROUPS * threads));
    return std::min(threads * each, groups());
  }
  int64_t strips() const { return weights ? (d + ROWS - 1) / ROWS : 0; }

  void place(float* memory) {
    by_output = memory;
    by_component = by_output + padded_outputs() * d;
    packed_weights = by_component + padded_outputs() * width();
  }

  void pack(int64_t tile) const {
    const int64_t first = tile * TILE, last = std::min(first + TILE, padded_outputs());
    if (first >= m) return pack_rows(weights, d, d, 0, wide(), packed_weights);
    pack_rows(outputs, m, d, first, last, by_output);
    for (int64_t k = 0; k < width(); k += WIDTH) {
      const int64_t across = std::min<int64_t>(WIDTH, width() - k), filled = std::min(across, d - k);
      float* panel = by_component + k * padded_outputs();
      for (int64_t j = first; j < last; ++j) {
        float* row = panel + j * across;
        std::fill(row, row + across, 0.0f);
        if (j < m) std::copy(outputs + j * d + k, outputs + j * d + k + filled, row);
      }
    }
  }

  // All outputs against the queries of one block. `scratch` holds its inputs, queries, sums and scores of a tile.
  void block(int64_t index, int64_t of, float* scratch) const {
    const int64_t first = index * groups() / of * ROWS, last = std::min((index + 1) * groups() / of * ROWS, n);
    const int64_t rows = last - first, groups = (rows + ROWS - 1) / ROWS, wide = this->wide();
    const int64_t width = this->width(), stride = sums();
    float *input = scratch, *sums = input + BLOCK * d, *scores = sums + BLOCK * stride;
    std::copy(inputs + first * d, inputs + (first + rows) * d, input);
    std::fill(input + rows * d, input + groups * ROWS * d, 0.0f);
    std::fill(sums, sums + groups * ROWS * stride, 0.0f);
    float best[BLOCK];
    Vec total[BLOCK] = {};
    std::fill(best, best + BLOCK, -INF);
    const float* query = input;
    int64_t query_stride = d;
    if (weights) {
      float* mapped = scores + BLOCK * TILE;
      for (int64_t k = 0; k < wide; k += WIDTH)
        for (int64_t g = 0; g < groups; ++g)
          product<2, false>(input + g * ROWS * d, d, packed_weights + k * d, WIDTH, d, mapped + g * ROWS * wide + k, wide);
      query = mapped;
      query_stride = wide;
    }

    for (int64_t start = 0; start < m; start += TILE) {
      const int64_t count = std::min<int64_t>(TILE, padded_outputs() - start);
      for (int64_t j = 0; j < count; j += WIDTH)
        for (int64_t g = 0; g < groups; ++g)
          product<2, false>(query + g * ROWS * query_stride, query_stride, by_output + (start + j) * d, WIDTH, d,
                            scores + g * ROWS * TILE + j, TILE);
      for (int64_t r = 0; r < rows; ++r)
        weigh(first + r, scores + r * TILE, start, count, sums + r * stride, best[r], total[r]);
      for (int64_t k = 0; k < width; k += WIDTH) {
        const float* panel = by_component + k * padded_outputs();
        for (int64_t g = 0; g < groups; ++g) {
          const float* weight = scores + g * ROWS * TILE;
          float* sum = sums + g * ROWS * stride + k;
          if (width - k >= WIDTH) product<2, true>(weight, TILE, panel + start * WIDTH, WIDTH, count, sum, stride);
          else product<1, true>(weight, TILE, panel + start * LANES, LANES, count, sum, stride);
        }
      }
      for (int64_t k = 0; k < tail(); k += 2)
        for (int64_t g = 0; g < groups; ++g)
          dots(scores + g * ROWS * TILE, TILE, by_output + start * d + (width + k) * WIDTH, WIDTH * d, count,
               sums + g * ROWS * stride + width + k * LANES, stride);
    }
    for (int64_t r = 0; r < rows; ++r) finish(first + r, sums + r * stride, best[r], sum_of(total[r]));
  }

  // ROWS rows of the gradient, over all queries in their order: the sums do not depend on who made which block.
  void strip(int64_t index) const {
    const int64_t first = index * ROWS, last = std::min(first + ROWS, d);
    if (d < WIDTH) {
      std::fill(gradient + first * d, gradient + last * d, 0.0f);
      for (int64_t q = 0; q < n; ++q)
        for (int64_t i = first; i < last; ++i)
          for (int64_t j = 0; j < d; ++j) gradient[i * d + j] += slope[q * d + i] * inputs[q * d + j];
      return;
    }
    // The last strip and the last panel are moved back to end at d: what they make twice is left out below.
    const int64_t from = std::min(first, d - ROWS);
    for (int64_t j = 0; j < d; j += WIDTH) {
      const int64_t k = std::min(j, d - WIDTH);
      float sum[ROWS * WIDTH];
      product<2, false, true>(slope + from, d, inputs + k, d, n, sum, WIDTH);
      for (int64_t i = first; i < last; ++i)
        std::copy(sum + (i - from) * WIDTH + (j - k), sum + (i - from + 1) * WIDTH, gradient + i * d + j);
    }
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
      for (int64_t k = 0; k < sums(); ++k) sum[k] *= shrink;
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
    // The slope is pull - u = (rivals' part - (rivals' share) u): a difference of the two would cancel near the optimum.
    const float share = -total * others / partition, scale = others / partition;
    const int64_t width = this->width();
    for (int64_t k = 0; k < std::min(width, d); ++k) slope[q * d + k] = sum[k] * scale + share * u[k];
    for (int64_t k = width; k < d; ++k)
      slope[q * d + k] = sum_of(load(sum + width + (k - width) * LANES)) * scale + share * u[k];
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

static ffi::Error run(ffi::ThreadPool& pool, std::vector<Pass>& passes) {
  if (passes.empty()) return ffi::Error::Success();
  static thread_local Workspace packed_memory;
  const int64_t count = passes.size(), size = round_up(passes[0].packed_size(), LANES);
  float* memory = packed_memory.of(count * size);
  if (!memory) return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory to pack the outputs");
  for (int64_t i = 0; i < count; ++i) passes[i].place(memory + i * size);

  // All stages in one go: to wake the threads for each would cost more. A stage is entered once every task of the
  // last one is in the hands of a running thread, and then waits for those threads.
  const int64_t packs = passes[0].packs(), blocks = passes[0].blocks(std::max<int64_t>(1, pool.num_threads()));
  const int64_t strips = passes[0].strips(), scratch_size = passes[0].scratch_size();
  std::atomic<int64_t> finished{0};
  std::atomic<bool> failed{false};
  auto wait_for = [&](int64_t tasks) {
    while (finished.load(std::memory_order_acquire) < tasks) std::this_thread::yield();
  };
  share(pool, count * (packs + blocks + strips), [&](int64_t task) {
    if (task < count * packs) {
      passes[task / packs].pack(task % packs);
    } else if (task < count * (packs + blocks)) {
      wait_for(count * packs);
      static thread_local Workspace scratch;
      const int64_t block = task - count * packs;
      float* memory = scratch.of(scratch_size);
      if (memory) passes[block / blocks].block(block % blocks, blocks, memory);
      else failed = true;
    } else {
      wait_for(count * (packs + blocks));
      const int64_t strip = task - count * (packs + blocks);
      passes[strip / strips].strip(strip % strips);
    }
    finished.fetch_add(1, std::memory_order_release);
  });
  return failed ? ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for a block of scores") : ffi::Error::Success();
}

using In = ffi::Buffer<ffi::F32>;
using Places = ffi::Buffer<ffi::S32>;
using Out = ffi::ResultBuffer<ffi::F32>;

// Operands may have leading dimensions, the same for all: problems of equal shape that are passed together. The caller
// is not trusted: every size is checked against every other, and every target against the outputs.
static ffi::Error check(const In& inputs, const In* weights, const In& outputs, const Places& targets,
                        const std::vector<Out*>& rows, Out& slope, Out* gradient) {
  const auto shape = inputs.dimensions(), others = outputs.dimensions(), places = targets.dimensions();
  const size_t rank = shape.size();
  auto wrong = [](const char* what) { return ffi::Error(ffi::ErrorCode::kInvalidArgument, what); };
  if (rank < 2 || others.size() != rank || places.size() != rank - 1)
    return wrong("inputs must be (..., n, d), outputs (..., m, d) and targets (..., n)");
  for (size_t i = 0; i + 2 < rank; ++i)
    if (others[i] != shape[i] || places[i] != shape[i]) return wrong("inputs, outputs and targets must be as many");
  const int64_t n = shape[rank - 2], d = shape[rank - 1], m = others[rank - 2];
  if (others[rank - 1] != d) return wrong("inputs and outputs must have as many components");
  if (places[rank - 2] != n) return wrong("there must be one target for each input");
  if (n < 1 || m < 1 || d < 1) return wrong("inputs and outputs must not be empty");
  const int64_t count = inputs.element_count() / (n * d);
  for (Out* row : rows)
    if (static_cast<int64_t>((*row)->element_count()) != count * n) return wrong("a result must have a number for each input");
  if (static_cast<int64_t>(slope->element_count()) != count * n * d) return wrong("there must be a slope for each input");
  if (weights) {
    const auto square = weights->dimensions();
    if (square.size() != rank || square[rank - 2] != d || square[rank - 1] != d ||
        static_cast<int64_t>(weights->element_count()) != count * d * d ||
        static_cast<int64_t>((*gradient)->element_count()) != count * d * d)
      return wrong("the memory and its gradient must be (..., d, d), d being the components of an input");
  }
  for (int64_t i = 0; i < count * n; ++i)
    if (targets.typed_data()[i] < 0 || targets.typed_data()[i] >= m) return wrong("every target must be one of the outputs");
  return ffi::Error::Success();
}

static ffi::Error pass(ffi::ThreadPool& pool, In& inputs, In* weights, In& outputs, Places& targets, Out& target,
                       Out& rival, Out& logsumexp, Out& slope, Out* gradient) {
  ffi::Error error = check(inputs, weights, outputs, targets, {&target, &rival, &logsumexp}, slope, gradient);
  if (error.failure()) return error;
  const auto shape = inputs.dimensions();
  const int64_t n = shape[shape.size() - 2], d = shape[shape.size() - 1], m = outputs.dimensions()[shape.size() - 2];
  const int64_t count = inputs.element_count() / (n * d);
  std::vector<Pass> passes;
  for (int64_t i = 0; i < count; ++i)
    passes.push_back({inputs.typed_data() + i * n * d, weights ? weights->typed_data() + i * d * d : nullptr,
                      outputs.typed_data() + i * m * d, targets.typed_data() + i * n, target->typed_data() + i * n,
                      rival->typed_data() + i * n, logsumexp->typed_data() + i * n, slope->typed_data() + i * n * d,
                      gradient ? (*gradient)->typed_data() + i * d * d : nullptr, n, m, d, nullptr, nullptr, nullptr});
  return run(pool, passes);
}

static ffi::Error recall(ffi::ThreadPool pool, In queries, In outputs, Places targets, Out target, Out rival,
                         Out logsumexp, Out slope) {
  return pass(pool, queries, nullptr, outputs, targets, target, rival, logsumexp, slope, nullptr);
}

static ffi::Error step(ffi::ThreadPool pool, In weights, In inputs, In outputs, Places targets, Out target, Out rival,
                       Out logsumexp, Out slope, Out gradient) {
  return pass(pool, inputs, &weights, outputs, targets, target, rival, logsumexp, slope, &gradient);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(loadstone_shared_recall, recall,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<In>().Arg<In>().Arg<Places>()
                                  .Ret<In>().Ret<In>().Ret<In>().Ret<In>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(loadstone_shared_step, step,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<In>().Arg<In>().Arg<In>().Arg<Places>()
                                  .Ret<In>().Ret<In>().Ret<In>().Ret<In>().Ret<In>());
