// Emits one entry point of a kernel: the loops around the instructions, which BodyEmitter emits.
// Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_KERNEL_EMITTER_H_
#define SLUICE_KERNELS_LLVM_KERNEL_EMITTER_H_

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/llvm/body/body_emitter.h"
#include "kernels/llvm/body/outcomes.h"
#include "kernels/llvm/ir/ops.h"
#include "kernels/llvm/rows/row_plan.h"
#include "kernels/reduction.h"

namespace sluice::kernels {

enum class Entry { kRows, kBlock, kFinish };

class KernelEmitter {
 public:
  KernelEmitter(const fusion::Program& program, const RowPlan& plan, Entry entry,
                llvm::Module& module);
  void emit();

 private:
  using Instr = fusion::Instr;
  using Op = fusion::Op;
  using Program = fusion::Program;
  using ValueId = fusion::ValueId;
  using ReductionState = ir::ReductionState;
  using Values = ir::Builder::Values;
  using Accumulators = std::vector<ReductionState>;

  llvm::Function* declare(llvm::Module& module) const;
  llvm::Value* argument(int i) const { return function_->getArg(i); }

  // Calls `body(outer indices, first, last, row)` in a loop for each run of points [first, last)
  // along the last outer dim; `row` is the number of the first, from `begin` of the entry point on.
  using RunBody = std::function<void(const Values&, llvm::Value*, llvm::Value*, llvm::Value*)>;
  // Or along the last `lane_dims` outer dims, as one.
  void emit_runs(const RunBody& body, int lane_dims = 1);
  void emit_row_run(const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value* row);
  void emit_lane_run(const Values& outer, llvm::Value* first, llvm::Value* last, llvm::Value* row);
  // Pointwise: a run, cut at the bounds of the plan's ranges; lane by lane where they are close.
  void emit_ranges(llvm::Value* first, llvm::Value* last);
  // Comparisons: the outcome at a vector's first point, and the point from which it is the other.
  using NearOutcomes = std::map<ValueId, std::pair<llvm::Value*, llvm::Value*>>;
  void emit_by_lane(llvm::Value* i, const NearOutcomes& outcomes);
  // The points [first, last), which agree on the conditions of the plan's ranges: a loop
  // for each side of the selections by them that are not decided yet.
  void emit_versions(llvm::Value* first, llvm::Value* last, const Outcomes& known);
  void emit_version(llvm::Value* first, llvm::Value* last, const Outcomes& known,
                    const std::vector<ValueId>& instrs);
  static constexpr int kLightWeight = 12;  // of a few ops
  int weight_of(const std::vector<ValueId>& instrs) const;
  // Whether `instrs`, in several lane counts, are less code and faster than under a mask.
  bool has_narrow_tail(const std::vector<ValueId>& instrs) const;
  // Where masks are free: whether `instrs` are faster twice, for whole vectors without masks too.
  bool has_whole_loop(const std::vector<ValueId>& instrs) const;
  // What whole vectors leave of [first, last) goes by halves of them, and then one by one.
  // What comes before [begin, end), that, and the rest up to `last`: the code of the first and the
  // last is the same, and there once.
  using EmitPart = std::function<void(llvm::Value* from, llvm::Value* to)>;
  void emit_parts(llvm::Value* first, llvm::Value* begin, llvm::Value* end, llvm::Value* last,
                  const EmitPart& emit_whole, const EmitPart& emit_other);
  // Whole vectors begin where non-temporal stores may.
  void aligned_loop(llvm::Value* first, llvm::Value* last,
                    const std::function<void(llvm::Value*)>& emit_vector);
  void emit_with_narrow_tail(llvm::Value* first, llvm::Value* last,
                             const std::function<void(llvm::Value*)>& body);
  // Pointwise with reads by tiles.
  void emit_tiles();
  // `corner` are the indices of the tile's first point; `height` and `width` may be less than a
  // whole tile's at the edges.
  struct Tile {
    Values corner;
    llvm::Value* height;
    llvm::Value* width;
  };
  std::pair<llvm::Value*, llvm::Value*> size_of_tiles();  // height and width
  std::vector<uint16_t> tiled() const;
  // Of tiles that registers hold, in lines and in columns; 0: the program needs more.
  int lines_of_turned_tile() const;
  llvm::Value* turns_tiles(int lines);
  void emit_turned_tile(const Values& corner, int lines);
  std::map<uint16_t, llvm::Value*> allocate_tiles();
  // What lies so many lines further on is prefetched, where that is `wanted`.
  struct Ahead {
    llvm::Value* wanted;
    int lines;
  };
  // A block of the memory of an access that is read by tiles, and where its transpose goes: `width`
  // lines that are the lane dim's stride apart, each of `height` consecutive elements, become lines
  // of `pitch` elements. After the last a few more are written, and behind the end of each if it
  // `has_room`; else lines follow one another, and the last one's vector may reach beyond it.
  struct Block {
    llvm::Value* from;
    llvm::Value* to;
    llvm::Value* height;
    llvm::Value* width;
    llvm::Value* pitch;
    bool has_room;
    std::optional<Ahead> ahead = {};
  };
  void transpose_block(uint16_t access, const Block& block);
  void emit_tile_rows(const std::map<uint16_t, llvm::Value*>& staged, const Tile& tile);
  // Pointwise with packed rows.
  void emit_packed();
  void emit_packed_run(const PackedPlan& plan, const Values& outer, llvm::Value* first,
                       llvm::Value* last);
  // The block of rows at `row`; of its rows only so many, if `count` is not null. `windows`: what
  // PackedPlan::windows says may be loaded whole.
  using PackedColumns = std::vector<Values>;  // by vector of a block, then as PackedPlan::columns
  void emit_packed_block(const PackedPlan& plan, const PackedColumns& columns, llvm::Value* row,
                         llvm::Value* count, bool windows, const Outcomes& known);
  // All blocks of a run. `readable`: whether windows are wanted; null if there are none.
  void emit_packed_blocks(const PackedPlan& plan, const PackedColumns& columns, const Values& outer,
                          llvm::Value* first, llvm::Value* last, llvm::Value* readable);
  // Whether runs before this one and after it lie around all that its windows may read; null if
  // that does not tell.
  llvm::Value* has_runs_around(const PackedPlan& plan, const Values& outer);
  // Whether PackedPlan::row_condition holds in the rows [first, last], all of which there are.
  llvm::Value* condition_holds(const PackedPlan& plan, llvm::Value* first, llvm::Value* last);
  // Blocks of several rows under it: those of which all rows, and what is read around them, are
  // wanted, and others.
  void emit_blocks_under_condition(const PackedPlan& plan, const PackedColumns& columns,
                                   llvm::Value* first, llvm::Value* last, llvm::Value* readable);
  // Where each row is a block: rows under it, and one of them.
  void emit_rows_under_condition(const PackedPlan& plan, const PackedColumns& columns,
                                 llvm::Value* first, llvm::Value* last, llvm::Value* readable);
  void emit_many_under_condition(const PackedPlan& plan, const PackedColumns& columns,
                                 llvm::Value* first, llvm::Value* last);
  void emit_row_under_condition(const PackedPlan& plan, const PackedColumns& columns,
                                llvm::Value* row, llvm::Value* readable);
  // Of each load and gather in windows, and each of the distances of a gather: whether it is wanted
  // at any point of a row.
  Values find_wanted(const PackedPlan& plan, const PackedColumns& columns);
  void hold_conditions(const PackedPlan& plan, PackedColumns* columns);
  // How many rows windows need before a block in a run, and from its first row on.
  std::pair<llvm::Value*, llvm::Value*> rows_around(const PackedPlan& plan);
  // The lanes of vector `v` of a packed row that is a block.
  void set_active_in_row(const PackedPlan& plan, int v);
  // Of a gather that is rolled in the row: finds its lanes here, once for all rows.
  void prepare_chooser(const fusion::Instr& gather);
  void set_active_below(llvm::Value* i, llvm::Value* last);
  void set_first_active(llvm::Value* count);  // at most the number of lanes
  // The lanes [from, to), both at most the number of lanes.
  void set_active_between(llvm::Value* from, llvm::Value* to);
  // for (i = first; i < last; i += lanes), with the mask of lanes below `last` active in `body`.
  Values masked_loop(llvm::Value* first, llvm::Value* last, const Values& carried,
                     const ir::Builder::LoopBody& body);
  // Of what whole vectors leave.
  Values masked_rest(llvm::Value* first, llvm::Value* last, const Values& carried,
                     const ir::Builder::LoopBody& body);
  Values split_loop(llvm::Value* first, llvm::Value* last, Values carried,
                    const ir::Builder::LoopBody& body);
  // Whole vectors of it, without a mask, and where they end.
  llvm::Value* whole_loop(llvm::Value* first, llvm::Value* last, Values* carried,
                          const ir::Builder::LoopBody& body);
  // The one that is better for rows. If `body` `may_repeat` points, a loop without free masks needs
  // none from a vector's lanes on.
  Values lane_loop(llvm::Value* first, llvm::Value* last, const Values& carried,
                   const ir::Builder::LoopBody& body, bool may_repeat = false);
  // Whether all that `pass` gives is the same if it takes elements twice.
  bool may_repeat(const RowPlan::Stage& pass) const;
  // Whether the last vector of each run ends with it, and takes elements twice, in place of a mask.
  // Runs of bytes are too short for it, in vectors, where masks are free.
  bool repeats_in_runs(const RowPlan::Stage& pass) const;

  // Likewise along several reduced dims, of which the last is walked run by run: vectors begin at
  // multiples of the lanes, and of one that several runs share, each run's lanes are active in
  // turn. Where a pass reduces nothing they begin with the run.
  Values run_loop(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                  const Values& carried, const ir::Builder::LoopBody& body);
  // Whether vectors begin with each run all the same, and the lanes' states are rotated by as many
  // lanes as its last vector fills: which lane is which does not matter as long as they stay in a
  // circle, since they are folded by halving.
  bool rotates_lanes(const RowPlan::Stage& pass) const;
  // After `count` elements.
  Values rotated_lanes(const Values& states, llvm::Value* count);
  // Whole steps, then what they leave, by `end_body`, in as many vectors of the hardware as it has.
  Values step_loop(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                   Values carried, const ir::Builder::LoopBody& body,
                   const ir::Builder::LoopBody& end_body);
  // `body` of the elements [first, last) that the vector at `i` has: if these are not all of its
  // lanes, by `cut`, or under a mask.
  Values emit_between(llvm::Value* i, llvm::Value* first, llvm::Value* last, const Values& carried,
                      const ir::Builder::LoopBody& body,
                      const std::function<Values()>& cut = nullptr);
  // What whole steps leave of a row (emit_row_ends.cpp), by vectors of so many lanes.
  int lanes_of_row_end(const RowPlan::Stage& pass) const;
  bool has_row_end(const RowPlan::Stage& pass) const {
    return lanes_of_row_end(pass) < plan_.lanes && !may_repeat(pass);
  }
  // `carried` is of the lanes of a step, `body` takes as many as an end's vector has.
  Values emit_row_end(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                      const Values& carried, const ir::Builder::LoopBody& body);
  // By vectors of `lanes`.
  Values emit_short_row_end(const RowPlan::Stage& pass, int lanes, llvm::Value* first,
                            llvm::Value* last, const Values& carried,
                            const ir::Builder::LoopBody& body);
  Values emit_long_row_end(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                           const Values& carried, const ir::Builder::LoopBody& body);
  // The elements [first, last) of the step that begins at `step`.
  Values emit_cut_step(const RowPlan::Stage& pass, llvm::Value* step, llvm::Value* first,
                       llvm::Value* last, const Values& carried, const ir::Builder::LoopBody& body);
  // Vectors of a step, one after another, while what is carried waits in memory.
  Values emit_parts(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                    llvm::Value* step, const Values& carried, const ir::Builder::LoopBody& body);
  using PartsOfStep = std::vector<llvm::AllocaInst*>;
  PartsOfStep begin_parts(const Values& carried);
  // The lanes from `i` on, as many as the scope has, of the step that begins at `step`.
  void emit_part(const PartsOfStep& parts, llvm::Value* i, llvm::Value* step,
                 const ir::Builder::LoopBody& body);
  Values end_parts(const PartsOfStep& parts);
  // Of a row that is shorter than a step, and whose elements may be taken twice, its first lanes
  // and its last; the lanes of a step are then several times the same. Others are what `longer`
  // says.
  bool has_short_rows(const RowPlan::Stage& pass) const;
  Values short_row_or(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                      const ir::Builder::LoopBody& body, const std::function<Values()>& longer);

  // As run_loop() where the order is free (emit_turned_runs.cpp): of short runs, so many at a time,
  // first vectors are taken before second ones.
  static constexpr int kTurnedRuns = 64;
  bool turns_runs(const RowPlan::Stage& pass) const;
  llvm::Value* are_short_runs();
  // At least `least` elements: whole runs, as many as take turns, if these are short.
  llvm::Value* elements_of_turns(llvm::Value* least);
  // What the caches do not hold is better read in the order of memory.
  llvm::Value* are_far_runs(const RowPlan::Stage& pass);
  Values turned_run_loop(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                         const Values& carried, const ir::Builder::LoopBody& body);

  // Cached values lie in the thread's buffer, one array each, by element of the row (lanes along
  // it) or by vector of rows (lanes across rows).
  llvm::Value* call_thread_buffer(llvm::Value* bytes);
  void allocate_row_cache();
  // Of how many columns a panel may cache values; a vector of them caches so many bytes.
  llvm::Value* columns_of_cache(llvm::Value* bytes_of_vector);
  llvm::Value* cache_pointer(ValueId id, llvm::Value* element);
  void write_cached(ValueId id, llvm::Value* element);
  void read_cached(ValueId id, llvm::Value* element);

  struct Tree;
  // Reductions with reads by tiles (emit_staged.cpp). Along rows: a panel of some runs along the
  // last dim at a time is transposed or copied to where they follow one another, after what is left
  // of the last leaf of those before. Down columns: a leaf of a vector of columns is. The accesses
  // that are staged. Short runs are copied where masks are not free, if all else that the pass
  // reads along the row is staged too.
  std::vector<uint16_t> tiles_of(const RowPlan::Stage& pass) const;
  bool copies_runs(const RowPlan::Stage& pass) const;
  bool copies_runs() const;  // in some pass
  bool reads_tiles_only(const RowPlan::Stage& pass) const;
  std::vector<uint16_t> staged() const;  // in any pass
  llvm::Value* runs_of_panel();
  llvm::Value* elements_of_panel();
  llvm::Value* bytes_of_panels();
  void allocate_panels(llvm::Value* buffer);
  Accumulators emit_staged_rows(const RowPlan::Stage& pass);
  // Where runs are whole leaves of sums (emit_level_runs.cpp).
  bool suits_level_runs(const RowPlan::Stage& pass) const;
  llvm::Value* are_level_runs(llvm::Value* begin, llvm::Value* last);
  void emit_level_runs(const RowPlan::Stage& pass, const Tree& tree, llvm::Value* begin,
                       llvm::Value* last);
  // Where leaves begin anywhere in runs (emit_skewed_runs.cpp).
  bool suits_skewed_runs(const RowPlan::Stage& pass) const;
  int skewed_runs_of_vector(const RowPlan::Stage& pass, bool has_masks) const;
  class SkewedRuns;
  // `others`: by another way.
  void emit_skewed_runs(const RowPlan::Stage& pass, const Tree& tree, llvm::Value* begin,
                        llvm::Value* last, const std::function<void()>& others);
  // The indices along all reduced dims of where a run begins.
  Values indices_of_run(llvm::Value* run);
  void stage_panel(uint16_t access, llvm::Value* run, llvm::Value* count);
  // Whether the points of all dims are more than so many, which a cache holds.
  llvm::Value* is_far(int64_t cached = 2 << 20);
  // Points of columns that the caches hold, where masks and short pieces of rows take no longer.
  static constexpr int64_t kCachedColumns = 4 << 20;
  void transpose_runs(uint16_t access, llvm::Value* run, llvm::Value* count, llvm::Value* to);
  void interleave_runs(uint16_t access, int elements, llvm::Value* from, llvm::Value* count,
                       llvm::Value* to);
  void copy_runs(uint16_t access, llvm::Value* run, llvm::Value* count, llvm::Value* to);
  void stage_columns(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last);

  // Whether each row of a leaf of columns (emit_leaf_of_columns.cpp) has loads of its own, which
  // the hardware then foresees to go along it.
  bool has_streams_of_rows(const RowPlan::Stage& pass) const;
  // Where a leaf is transposed in registers: its lanes, from `start` on.
  bool turns_leaves(const RowPlan::Stage& pass) const;
  llvm::Value* keeps_lines(const RowPlan::Stage& pass);
  // Whether what lies so far apart is not at the same place of its page.
  llvm::Value* leaves_page(uint16_t access, llvm::Value* stride);
  Values emit_turned_leaf(const RowPlan::Stage& pass, llvm::Value* first, const Values& start);

  void emit_stage(const RowPlan::Stage& stage);
  // All passes over the current row or vector of rows.
  void emit_row(llvm::Value* row);
  Accumulators emit_pass(const RowPlan::Stage& pass);
  // The leaves of the elements [first, last), `first` being a leaf's first, and their tree.
  Accumulators emit_leaves(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last);
  Accumulators emit_leaf(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last);
  // Vectors of columns side by side, or rows of one pass, take turns leaf by leaf
  // (emit_panels.cpp), so that memory is read by runs that the hardware can foresee, and once if it
  // is rows of several reduced dims, of which the next one lies between. The most that do:
  int widest_panel() const;
  // `body` of each row or vector of columns of a panel, given its number in it.
  using TakeTurns =
      std::function<void(const std::function<void(llvm::Value* column, llvm::Value* i)>& body)>;
  // What the lanes of each column's, or row's, leaf have so far waits in memory for their next
  // turn.
  struct Waiting {
    Values start;  // of a leaf
    std::vector<llvm::Value*> memory;
  };
  Waiting make_waiting(const RowPlan::Stage& pass, int width);
  Values read_waiting(const Waiting& waiting, llvm::Value* column, llvm::Value* is_first);
  void write_waiting(const Waiting& waiting, llvm::Value* column, const Values& state);
  // Leaves of columns row by row (emit_leaf_by_rows.cpp): whether `pass` can take them so, and
  // whether columns [first, last) are better read so; null if no pass can.
  bool can_go_by_rows(const RowPlan::Stage& pass) const;
  llvm::Value* are_better_by_rows(llvm::Value* first, llvm::Value* last);
  // The elements [first, last) of a leaf; `keep` takes what each column has.
  void emit_leaf_by_rows(const RowPlan::Stage& pass, const Waiting& waiting, llvm::Value* first,
                         llvm::Value* last, const TakeTurns& take_turns,
                         const std::function<void(llvm::Value* column, const Accumulators&)>& keep);
  // Rows of long runs are reduced run by run (emit_runs_in_turn.cpp), interleaved ones in turn, so
  // that what is read is in the order of memory. `rows`: the most that take turns.
  bool takes_runs_in_turn(const RowPlan::Stage& pass) const;
  bool goes_by_runs(const RowPlan::Stage& pass) const;  // one row
  llvm::Value* are_long_runs();
  void emit_runs_in_turn(const RowPlan::Stage& pass, const Tree& tree, int rows,
                         const TakeTurns& take_turns);
  // The elements [begin, end) of the run that is set: whole vectors one after another.
  Values emit_in_run(const RowPlan::Stage& pass, llvm::Value* begin, llvm::Value* end,
                     const Values& carried, const ir::Builder::LoopBody& body);
  // Reads that begin a few elements after one another (emit_shifted_reads.cpp): by leader those
  // that follow it, and whether they lie as far apart as they did where the program was made.
  std::map<uint16_t, std::vector<uint16_t>> followers_;
  llvm::Value* are_following_ = nullptr;
  void find_followers();
  // Whole vectors from `first` on, up to `last` at most, and not so far that anything would be read
  // that a run which ends at `end_of_run` does not need. Gives where they end.
  llvm::Value* emit_shifted_reads(llvm::Value* first, llvm::Value* last, llvm::Value* end_of_run,
                                  const std::function<void(llvm::Value*)>& emit_vector);
  void read_shifted(uint16_t leader, const std::vector<uint16_t>& followers, int part);
  bool fits_panels() const;
  bool has_panels() const;
  // Whether the last vector of a panel of columns may overlap the one before it: where masks are
  // not free, walking down the last columns once more takes as long as all others.
  bool overlaps_columns() const;
  size_t num_accesses() const { return program_.accesses.size(); }
  // The first access by whose strides rows may be interleaved, or num_accesses().
  size_t find_interleaved() const;
  // `by_rows`: see are_better_by_rows().
  llvm::Value* width_of_panels(llvm::Value* by_rows);
  // Whether masks would slow reading columns down. Where rows lie whole pages apart they do not:
  // what hardware reads ahead of loads without masks has the cache sets of the rows that are being
  // read.
  llvm::Value* streams_columns();
  class Panels;
  void emit_panels(llvm::Value* first, llvm::Value* last, llvm::Value* row);
  // Columns that fit this part of the lanes are no work for as many vectors: leaves take turns
  // element by element instead, since each addition waits for the one before it.
  static constexpr int kNarrowPart = 4;
  bool fits_narrow_lanes() const;
  bool has_narrow_panel() const;
  // Whether vectors may reach beyond the last column into the rows that follow, which no mask keeps
  // them from then; and the first of so many rows that have enough others behind them.
  bool reads_into_rows(const RowPlan::Stage& pass) const;
  llvm::Value* rows_before_others(const RowPlan::Stage& pass, llvm::Value* rows,
                                  llvm::Value* columns);
  // What of long streams, which the processor reaches soon enough, a cache holds, in bytes.
  static constexpr int64_t kCachedOfStreams = 16 << 20;
  // Of few columns beyond the caches: whether one leaf after another is read faster than several
  // that take turns.
  llvm::Value* are_better_in_order(const RowPlan::Stage& pass);
  void emit_narrow_panel(llvm::Value* first, llvm::Value* last, llvm::Value* row);
  // Scans (emit_scans.cpp). What one keeps from one element to the next is in memory: before, the
  // vectors or elements of the leaf so far, subtrees by level, and all up to and with each of
  // these, of the current row or vector of rows.
  struct ScanState {
    llvm::Type* type;
    llvm::Value* memory;
    llvm::Value* before = nullptr;                // lanes across columns: of the leaf at hand
    llvm::Value* leaf = nullptr;                  // likewise: so far
    llvm::Value* earlier = nullptr;               // along a row: what came before the step at hand
    std::map<int, llvm::Value*> last_lanes = {};  // of the parts of a step, by lane
  };
  enum ScanSlot : int64_t {
    kBefore,
    kLeaf,
    kSubtrees,
    kUpto = kSubtrees + kTreeLevels,
    kNothing = kUpto + kTreeLevels,  // the identity: what is up to no subtree
    kNumScanSlots
  };
  bool scans_columns(const RowPlan::Stage& pass) const;
  void begin_scans(const RowPlan::Stage& pass);
  // Lanes along the row: the results of each lane.
  Accumulators emit_lanes_of_leaf(const RowPlan::Stage& pass, llvm::Value* first,
                                  llvm::Value* last);
  // Of all lanes.
  Accumulators fold_leaf(const RowPlan::Stage& pass, llvm::Value* leaf, Accumulators lanes);
  // Of long rows: any() and all() are known from the first element that decides, after which the
  // rest of a row is not looked at.
  bool leaves_early(const RowPlan::Stage& pass) const;
  // `elements` of [begin, end), a part of a row at a time.
  using PartLoop = std::function<Values(llvm::Value* begin, llvm::Value* end, const Values& state)>;
  Values leaving_loop(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                      const Values& start, const PartLoop& elements);
  // What a pass loads of consecutive elements of a row.
  std::vector<uint16_t> reads_along_rows(const RowPlan::Stage& pass) const;
  // What is asked for ahead (emit_prefetches.cpp). Memory that a pass over a long row reads from
  // end to end.
  std::vector<uint16_t> streams_of(const RowPlan::Stage& pass) const;
  llvm::Value* are_far_streams(const std::vector<uint16_t>& streams);
  // So many bytes, a distance in bytes from where the pass is, towards higher addresses (1) or
  // lower ones (-1).
  struct StreamAhead {
    uint16_t access;
    llvm::Value* are_wanted;
    llvm::Value* direction;
    llvm::Value* distance;
    llvm::Value* bytes;
  };
  // What loads walk beyond the caches in an order that the hardware does not foresee. On Zen 5, of
  // few columns: so many rows at a time, of which leaves that take turns read some here and some
  // there.
  std::vector<StreamAhead> rows_ahead(const RowPlan::Stage& pass, int64_t rows);
  // Of rows that are made of runs: a vector at a time, a whole run of one access. `by_turns`: the
  // next row's run is next.
  std::vector<StreamAhead> runs_ahead(const RowPlan::Stage& pass, bool by_turns = false);
  StreamAhead run_ahead(uint16_t access, int dim);
  // Of pointwise kernels, likewise.
  std::vector<StreamAhead> lanes_ahead();
  llvm::Value* bytes_of_vector(const StreamAhead& run, int dim);
  void prefetch_lanes(const std::vector<fusion::ValueId>& instrs);
  // Of one element or row after another, `step` elements apart.
  StreamAhead stream_ahead(uint16_t access, llvm::Value* step, llvm::Value* lane_step);
  std::vector<uint16_t> loads_along_reduced(const RowPlan::Stage& pass) const;
  // Bytes of the widest element that these read.
  int64_t widest_of(const std::vector<uint16_t>& accesses) const;
  void prefetch(const std::vector<StreamAhead>& streams, llvm::Value* r);
  void prefetch_run(const StreamAhead& stream, llvm::Value* run);
  void prefetch_lines(const StreamAhead& stream, llvm::Value* from);
  void prefetch_streams(const std::vector<uint16_t>& streams, llvm::Value* r);
  // Of short rows most is read under masks, and Zen 5 foresees nothing of what is.
  void prefetch_next_rows(const RowPlan::Stage& pass, llvm::Value* first);
  // Whether the next row has its run, of so many bytes, behind this one; and whether it is short.
  llvm::Value* next_row_follows(uint16_t access, llvm::Value* bytes);
  llvm::Value* are_next_rows(uint16_t access, llvm::Value* bytes);
  // Where the next row has its run behind this one, which is `length` long: the run of a row
  // further on. Runs of a row lie far apart, so that the hardware foresees none.
  void prefetch_next_runs(uint16_t access, llvm::Value* run, llvm::Value* length);
  // Of rows whose elements an index picks, those after the next `rows`: a gather takes so many
  // instructions that the processor does not reach the next row before this one's have come.
  void prefetch_picked_rows(int dim, int64_t rows, llvm::Value* points);
  // So many bytes, a few times as many behind `from`.
  void prefetch_ahead(llvm::Value* from, llvm::Value* bytes);
  // Whether positions are searched for once extremes are known (emit_selections.cpp).
  bool searches_positions(const RowPlan::Stage& pass) const;
  Accumulators emit_searched_row(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last);
  // Of at least as many elements as the current lanes; few are at most kLanes.
  ReductionState find_extreme(const RowPlan::Stage& pass, llvm::Value* first, llvm::Value* last,
                              bool is_few);
  // Short rows that are folded together (emit_row_groups.cpp); 1 if each is by itself.
  int rows_of_group() const;
  void emit_row_groups(llvm::Value* first, llvm::Value* last, llvm::Value* row);
  // Short rows of several passes (emit_row_batches.cpp).
  static constexpr int kRowsOfBatch = 16;
  bool batches_rows() const;
  void emit_row_batches(llvm::Value* first, llvm::Value* last);
  // By place between passes: what is computed for a batch of rows at once.
  std::vector<std::vector<ValueId>> find_shared() const;
  // Lanes across columns: the elements [first, last) of a leaf.
  Accumulators emit_leaf_of_columns(const RowPlan::Stage& pass, llvm::Value* first,
                                    llvm::Value* last);
  // A pass that only scans a row, whose end is taken by parts of a step, as many as have elements.
  // Of much code it would be too much.
  bool scans_rows(const RowPlan::Stage& pass) const;
  static constexpr int kScannedLanes = 8;  // of a part
  void emit_scan(ValueId id, llvm::Value* r);
  // `leaf` combined, leaf `number`, is complete, and another begins.
  void end_leaf_of_scan(ValueId id, llvm::Value* number, llvm::Value* leaf);
  llvm::Value* join_lanes(ValueId id, llvm::Value* lanes);
  llvm::Value* combine_scanned(ValueId id, llvm::Value* a, llvm::Value* b);
  llvm::Value* scan_slot(ValueId id, llvm::Value* slot);
  llvm::Value* read_scan(ValueId id, llvm::Value* slot);
  void write_scan(ValueId id, llvm::Value* slot, llvm::Value* value);

  // What follows from pass p's totals of the columns at `row`.
  void emit_totals(size_t p, const Accumulators& totals, llvm::Value* row);
  // The elements of a row that the entry point is called for: a block's, or all.
  std::pair<llvm::Value*, llvm::Value*> element_range();
  // Once a row: the results of pass p, and what follows from them.
  void emit_after_pass(size_t p, const Accumulators& totals);
  // Lanes across rows (emit_across_rows.cpp): each of the row schedule's lanes is a vector of rows,
  // which are too many for registers and wait in memory, in so many columns of kLanes.
  struct Slots {
    struct Plane {
      DType dtype;
      llvm::Type* type;
      llvm::Value* memory;
    };
    std::vector<Plane> planes;  // of each accumulator
    int columns;
  };
  Slots make_slots(const std::vector<ValueId>& reductions, int columns);
  llvm::Value* slot_pointer(const Slots& slots, size_t plane, llvm::Value* column,
                            llvm::Value* lane);
  void write_slot(const Slots& slots, llvm::Value* column, llvm::Value* lane,
                  const Accumulators& state);
  Accumulators read_slot(const RowPlan::Stage& pass, const Slots& slots, llvm::Value* column,
                         llvm::Value* lane);
  Accumulators fold_slots(const RowPlan::Stage& pass, const Slots& slots, llvm::Value* column);
  Accumulators emit_leaf_across_rows(const RowPlan::Stage& pass, llvm::Value* first,
                                     llvm::Value* last);
  bool has_panels_across_rows() const;
  // Whole vectors of rows.
  void emit_panels_across_rows(llvm::Value* first, llvm::Value* last, llvm::Value* row);
  // Whether the leaves of `pass` need no tree.
  bool is_in_any_order(const RowPlan::Stage& pass) const;
  // Results that wait for their partners, as a binary counter: level k holds the result of 2^k
  // leaves where bit k of the number of leaves so far is set. For each of `width` columns of
  // leaves, which are told apart by number.
  struct Tree {
    struct Level {
      DType dtype;
      llvm::Type* type;
      llvm::Value* memory;
      int width;  // how many columns
    };
    std::vector<ValueId> reductions;
    std::vector<Level> levels;  // of each accumulator
  };
  Tree make_tree(const std::vector<ValueId>& reductions, int width, int height = kTreeLevels);
  llvm::Value* level_pointer(const Tree::Level& level, llvm::Value* column, llvm::Value* k);
  // What level k holds, combined with what comes after it.
  Values combine_level(const Tree& tree, llvm::Value* column, llvm::Value* k, const Values& later);
  // `i` counts subtrees of 2^level leaves, of which `subtree` is one.
  void add_to_tree(const Tree& tree, llvm::Value* column, llvm::Value* i,
                   const Accumulators& subtree, int level = 0);
  Accumulators total_of(const Tree& tree, llvm::Value* column, llvm::Value* count);
  // A finished tree's memory keeps its total.
  void write_total(const Tree& tree, llvm::Value* column, const Accumulators& total);
  Accumulators read_total(const Tree& tree, llvm::Value* column);
  // For a later pass of a panel: what follows from pass p's total, which `tree` has kept.
  void emit_known(size_t p, const Tree& tree, llvm::Value* column);
  // The tree of the results of `leaf(0)`, ..., `leaf(count - 1)`, which are computed in this order.
  Accumulators emit_tree(const std::vector<ValueId>& reductions, llvm::Value* count,
                         const std::function<Accumulators(llvm::Value*)>& leaf);
  void add_leaves_to_tree(const Tree& tree, llvm::Value* count,
                          const std::function<Accumulators(llvm::Value*)>& leaf);
  void emit_element(const RowPlan::Stage& pass, llvm::Value* r);
  // `state` of the leaf that begins at `first`, with the element at `r`.
  Accumulators add_element(const RowPlan::Stage& pass, llvm::Value* r, llvm::Value* first,
                           Accumulators state);
  // The element that `reduction` takes at `r`.
  ReductionState element_of(ValueId reduction, llvm::Value* r);
  llvm::Value* value_of_element(ValueId reduction);
  // In a leaf, positions are of 32 bits and count from its first element, and a lane starts at its
  // own first element: of what follows only better ones are taken, without comparing positions.
  Accumulators leaf_start(const std::vector<ValueId>& reductions);
  ReductionState leaf_element(ValueId reduction, llvm::Value* r, llvm::Value* first);
  // The results of a leaf that begins at `first`: positions in the row, sums as wide as their type.
  void widen_leaf(llvm::Value* first, Accumulators* leaf, const std::vector<ValueId>& reductions);
  // What a leaf sums `reduction` in, one element after another: see dtype_in_leaf().
  DType leaf_type_of(ValueId reduction) const;
  llvm::Value* widened_sum(ValueId reduction, llvm::Value* sum, DType dtype);
  Accumulators load_partials(llvm::Value* row);
  void store_partials(const Accumulators& partials, llvm::Value* row);
  llvm::Value* partial_pointer(llvm::Value* base, llvm::Value* row, size_t plane, DType dtype);
  llvm::Value* finished(const Instr& instr, const ReductionState& total);

  // The greatest of floats is found as the least of their negatives, which without AVX-512's
  // ternary logic takes fewer operations: from value_of_element() until finished().
  bool is_negated(const Instr& reduction) const;
  bool is_negated(ValueId reduction) const { return is_negated(program_.body[reduction]); }
  // Likewise bools in memory are found as the extremes of bytes: there are no mask registers, or
  // tests under them would wait for each other.
  bool is_of_bytes(const Instr& reduction) const;
  bool is_of_bytes(ValueId reduction) const { return is_of_bytes(program_.body[reduction]); }
  Op combining_op(ValueId reduction) const;

  // The type that a reduction accumulates in: a compute type, or float16 (halves.h).
  DType type_of(ValueId reduction) const;
  Accumulators identities(const std::vector<ValueId>& reductions) const;
  ReductionState combine(ValueId reduction, const ReductionState& a, const ReductionState& b) const;
  Accumulators combine(const std::vector<ValueId>& reductions, const Accumulators& a,
                       const Accumulators& b) const;
  ReductionState fold(ValueId reduction, ReductionState state) const;
  static Values flatten(const Accumulators& accumulators);
  static Accumulators unflatten(const std::vector<ValueId>& reductions, const Program& program,
                                const Values& values);

  bool lanes_reduced() const { return program_.lanes_reduced(); }

  const Program& program_;
  const RowPlan& plan_;
  const Entry entry_;
  ir::Builder builder_;
  llvm::IRBuilder<>& ir_;
  llvm::Function* function_;
  llvm::BasicBlock* args_block_;
  std::optional<BodyEmitter> body_;
  llvm::Value* reduced_extent_ = nullptr;
  llvm::Value* row_begin_ = nullptr;
  llvm::Value* row_end_ = nullptr;
  std::map<ValueId, llvm::Value*> caches_;  // the arrays
  llvm::Value* row_of_batch_ = nullptr;     // counted in its batch, if rows are batched
  llvm::Value* cached_elements_ = nullptr;  // likewise: of a row of an array
  llvm::Value* cached_columns_ = nullptr;   // of a panel, if there are panels that cache
  std::vector<StreamAhead> lanes_ahead_;    // of a pointwise kernel
  llvm::Value* panel_column_ = nullptr;     // the vector of columns at hand, counted in the panel
  std::map<ValueId, ScanState> scans_;      // of the pass at hand
  int lane_of_step_ = 0;  // where the lanes are, of a part of a step that is scanned
  std::map<uint16_t, llvm::Value*> panels_;  // by access: memory for a panel, or a leaf of columns
  size_t version_instrs_ = 0;                // of all loops that emit_versions() has made
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_KERNEL_EMITTER_H_
