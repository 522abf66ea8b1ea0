// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory does a loop touch? (Chimera, section 5: symbolic bounds of the addresses in loops.)
//
// For the innermost loops of a function: addresses that stay the same or advance by a constant in each turn, from the first turn to the
// last one that there can be, as LLVM's scalar evolution knows them; what is only read may advance by something that is known before the loop. Those that
// differ by a constant are one range. Also places in a table, of which only that is known, and addresses that go back to where something begins once, which
// are two ranges. The bounds are computed before the loop, in new code there.
//
// Loops with calls are left alone: a thread lets go of its memory there. So are those with few turns (if that is known only then, before each run of the
// loop), and addresses that advance so fast that to look at every line between would be more work than the loop itself.
//
// Where the inner loops are short (blocks of a matrix, small kernels), to look before each of them costs as much as the checks: then it is done once before the
// whole nest, if that is known to touch fewer lines than its body has turns, which is found out before it.
//
// Such a loop, or nest, gets a copy, the fast one, without checks of what lies in its ranges; it is entered if the thread has them all. What is not
// copied of a nest, or is gone on with when the copy had to be left, has copies of its innermost loops.
#include "bounds.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace {
constexpr size_t MostInstructions = 600; // of one that is copied
constexpr size_t MostOthers = 2;         // accesses that are checked in the copy too, for each that is not
constexpr int64_t Line = 64;
constexpr int64_t SmallStep = Line / 2; // bytes in a turn; with more, at least an access for each line that is passed
constexpr unsigned FewAccesses = 32;    // in all turns, known to be at most
constexpr uint64_t MostTurns = 1 << 24;
constexpr uint64_t MostLines = 1 << 18;      // that are looked at before the loop
constexpr uint64_t MostLinesEarly = 16;      // if it may end before: most searches end soon
constexpr unsigned LineShift = 6;
constexpr uint64_t NestTurns = 1 << 20;      // of each loop in a nest, at most; so no product of these and a step goes beyond an address
constexpr unsigned NestStepBits = 24;
constexpr uint64_t ShortLoop = 64;           // turns: where the innermost loop has more, to look before it is cheap enough
constexpr uint64_t NestLines = 1 << 12;
constexpr uint64_t MostTable = 1 << 14; // bytes of a table that a loop touches anywhere
constexpr int64_t FarIndex = 1ll << 62;
constexpr uint64_t FarStep = 2048; // bytes in a turn, of what is only read: of lines that several threads read, those of a page are looked at together

struct Range {
    const SCEV *first, *last; // the lowest and highest address of which the bytes [0, size) are touched, as integers
    int64_t low, high;        // bytes from these
    int64_t step;             // bytes, in a turn
    bool write;
    SmallVector<Instruction *, 8> accesses;
    SelectInst *ring = nullptr; // that decides which of two addresses it is: `first` and `last` are these in the first turn
    uint64_t table = 0;         // bytes of which it touches any, in any order
    const SCEV *by = nullptr;   // what it advances by, if that is known only before the loop
    bool all = false;           // each of its lines is touched
    bool isDense() const { return (step < 0 ? -step : step) <= SmallStep || (step < 0 ? -step : step) <= (int64_t)accesses.size() * Line; }
};

bool letsGo(const Instruction &i) {
    auto *c = dyn_cast<CallBase>(&i);
    if (!c) return false;
    auto *n = dyn_cast<IntrinsicInst>(c);
    return !n || !(n->isAssumeLikeIntrinsic() || n->doesNotAccessMemory()) || n->getCalledFunction()->getName().starts_with("llvm.x86.");
}

// Puts an access into the range of those from whose first and last address its own differ by constants.
bool put(ScalarEvolution &se, const Range &one, SmallVectorImpl<Range> &ranges) {
    for (Range &r : ranges) {
        if (one.ring != r.ring || one.table != r.table || one.by != r.by || (one.ring && one.step != r.step)) continue;
        auto *lo = dyn_cast<SCEVConstant>(se.getMinusSCEV(one.first, r.first)), *hi = dyn_cast<SCEVConstant>(se.getMinusSCEV(one.last, r.last));
        if (one.ring && lo != hi) continue;
        if (!lo || !hi || lo->getAPInt().getSignificantBits() > 12 || hi->getAPInt().getSignificantBits() > 12) continue;
        r.low = std::min(r.low, lo->getAPInt().getSExtValue());
        r.high = std::max(r.high, hi->getAPInt().getSExtValue() + one.high);
        r.write |= one.write;
        r.accesses.push_back(one.accesses[0]);
        return true;
    }
    ranges.push_back(one);
    return true;
}

// An address that is a place in a table: something that stays the same, and an offset of which it is known that it is small. Gives the bytes; 0: it is none.
uint64_t table(ScalarEvolution &se, Loop *l, const SCEV *s, const SCEV *&first, const SCEV *&last) {
    auto *sum = dyn_cast<SCEVAddExpr>(s);
    if (!sum) return 0;
    SmallVector<const SCEV *, 4> same, other;
    for (const SCEV *x : sum->operands()) (se.isLoopInvariant(x, l) ? same : other).push_back(x);
    if (same.empty()) return 0;
    const SCEV *offset = se.getAddExpr(other);
    ConstantRange in = se.getUnsignedRange(offset);
    if (in.getUnsignedMax().uge(MostTable)) return 0;
    first = se.getAddExpr(se.getAddExpr(same), se.getConstant(in.getUnsignedMin()));
    last = se.getAddExpr(se.getAddExpr(same), se.getConstant(in.getUnsignedMax()));
    return (in.getUnsignedMax() - in.getUnsignedMin()).getZExtValue() + 1;
}

// An address that advances by a constant, but goes back once to where something begins: i + k < n ? i + k : i + k - n. Gives what decides, and the
// two addresses in the first turn.
SelectInst *ring(ScalarEvolution &se, Loop *l, const SCEV *s, const SCEV *&first, const SCEV *&other, int64_t &step) {
    SelectInst *is = nullptr;
    bool none = SCEVExprContains(s, [&](const SCEV *x) {
        auto *u = dyn_cast<SCEVUnknown>(x);
        if (!u || se.isLoopInvariant(x, l)) return false;
        auto *i = dyn_cast<SelectInst>(u->getValue());
        if (!i || (is && is != i)) return true;
        is = i;
        return false;
    });
    if (none || !is || !isa<ICmpInst>(is->getCondition())) return nullptr;
    const SCEV *at[2];
    for (int k = 0; k < 2; k++) {
        ValueToSCEVMapTy map;
        map[is] = se.getSCEV(k ? is->getFalseValue() : is->getTrueValue());
        auto *a = dyn_cast<SCEVAddRecExpr>(SCEVParameterRewriter::rewrite(s, se, map));
        if (!a || a->getLoop() != l || !a->isAffine()) return nullptr;
        auto *by = dyn_cast<SCEVConstant>(a->getStepRecurrence(se));
        if (!by || by->getAPInt().getSignificantBits() > 16 || (k && by->getAPInt().getSExtValue() != step)) return nullptr;
        step = by->getAPInt().getSExtValue();
        at[k] = a->getStart();
    }
    first = at[0], other = at[1];
    return is;
}

// Of what decides: in which turns it is true. `before`: in those before turn `end` - `from`, else from that one on. False: it is nothing of the kind.
bool decides(ScalarEvolution &se, Loop *l, SelectInst *is, const SCEV *&from, const SCEV *&end, bool &before) {
    auto *c = cast<ICmpInst>(is->getCondition());
    ICmpInst::Predicate p = c->getPredicate();
    const SCEV *x = se.getSCEV(c->getOperand(0)), *y = se.getSCEV(c->getOperand(1));
    if (se.isLoopInvariant(x, l)) std::swap(x, y), p = ICmpInst::getSwappedPredicate(p);
    auto *a = dyn_cast<SCEVAddRecExpr>(x);
    if (!a || a->getLoop() != l || !a->isAffine() || !a->getStepRecurrence(se)->isOne() || !se.isLoopInvariant(y, l) || !x->getType()->isIntegerTy(64)) return false;
    before = p == ICmpInst::ICMP_SLT || p == ICmpInst::ICMP_ULT || p == ICmpInst::ICMP_SLE || p == ICmpInst::ICMP_ULE;
    if (!before && p != ICmpInst::ICMP_SGT && p != ICmpInst::ICMP_UGT && p != ICmpInst::ICMP_SGE && p != ICmpInst::ICMP_UGE) return false;
    bool more = p == ICmpInst::ICMP_SLE || p == ICmpInst::ICMP_ULE || p == ICmpInst::ICMP_SGT || p == ICmpInst::ICMP_UGT;
    from = a->getStart();
    end = more ? se.getAddExpr(y, se.getOne(y->getType())) : y;
    return true;
}

// Of an access in an innermost loop. False: its address is not known before the loop.
bool add(ScalarEvolution &se, Loop *l, const SCEV *turns, Instruction *i, Value *p, uint64_t size, bool write, SmallVectorImpl<Range> &ranges) {
    Type *i64 = Type::getInt64Ty(i->getContext());
    const SCEV *s = se.getPtrToIntExpr(se.getSCEV(p), i64), *first = s, *last = s;
    int64_t n = 0;
    if (isa<SCEVCouldNotCompute>(s)) return false;
    if (!se.isLoopInvariant(s, l)) {
        auto *a = dyn_cast<SCEVAddRecExpr>(s);
        if (!a) {
            if (uint64_t most = table(se, l, s, first, last)) return put(se, {first, last, 0, (int64_t)size, 0, write, {i}, nullptr, most + size}, ranges);
            SelectInst *is = ring(se, l, s, first, last, n);
            bool before;
            const SCEV *from, *end;
            return is && decides(se, l, is, from, end, before) && put(se, {first, last, 0, (int64_t)size, n, write, {i}, is}, ranges);
        }
        if (a->getLoop() != l || !a->isAffine()) return false;
        first = a->getStart();
        const SCEV *by = a->getStepRecurrence(se);
        auto *step = dyn_cast<SCEVConstant>(by);
        if (!step && !write && se.isLoopInvariant(by, l)) /* forwards, and not far: that is looked at before the loop */
            return put(se, {first, se.getAddExpr(first, se.getMulExpr(turns, by)), 0, (int64_t)size, 0, write, {i}, nullptr, 0, by}, ranges);
        if (!step || step->getAPInt().getSignificantBits() > 16) return false;
        n = step->getAPInt().getSExtValue();
        last = se.getAddExpr(first, se.getMulExpr(turns, se.getConstant(i64, n, true)));
        if (n < 0) std::swap(first, last);
    }
    return put(se, {first, last, 0, (int64_t)size, n < 0 ? -n : n, write, {i}}, ranges);
}

// What does not change in a nest, of what does: the lowest and highest value, if it goes up or down by the same in each turn of each loop. That holds as long
// as steps and turns are small numbers (`small`), which is looked at before the nest.
struct Nest {
    ScalarEvolution &se;
    Loop *l;
    MapVector<Loop *, const SCEV *> turns;
    SetVector<const SCEV *> steps;
    const SCEV *end(const SCEV *s, bool highest) {
        if (se.isLoopInvariant(s, l)) return s;
        auto *a = dyn_cast<SCEVAddRecExpr>(s);
        if (!a || !a->isAffine() || !turns.count(const_cast<Loop *>(a->getLoop()))) return nullptr;
        const SCEV *step = a->getStepRecurrence(se), *other = se.getAddExpr(a->getStart(), se.getMulExpr(turns[const_cast<Loop *>(a->getLoop())], step));
        if (auto *c = dyn_cast<SCEVConstant>(step)) {
            if (c->getAPInt().getSignificantBits() > NestStepBits) return nullptr;
            return end(c->getAPInt().isNegative() != highest ? other : a->getStart(), highest);
        }
        if (!se.isLoopInvariant(step, l)) return nullptr;
        steps.insert(step);
        const SCEV *x = end(a->getStart(), highest), *y = end(other, highest);
        return !x || !y ? nullptr : highest ? se.getUMaxExpr(x, y) : se.getUMinExpr(x, y);
    }
};
} // namespace

namespace {
size_t instructions(const Loop *l) {
    size_t n = 0;
    for (const BasicBlock *b : l->blocks()) n += b->sizeWithoutDebug();
    return n;
}
} // namespace

namespace {
struct Copied { // of a function: what is copied, and what came of it
    Loop *loop;
    bool nest;
    DenseSet<const Instruction *> covered;
    Value *worth;                      // of a nest, or a loop with tables: whether to look at its ranges
    SmallVector<weft_range, 4> ranges; // of these: not yet looked at
};
struct Pair {
    WeakTrackingVH was, copy;
};
thread_local std::vector<Pair> pairs; // of the function that is being rewritten: values in a loop, and in a copy of it

// Nothing is divided by something that may be 0: by 1 then. In a loop that has turns it is not. (A step that is known only before the loop.)
struct Divisible : SCEVRewriteVisitor<Divisible> {
    using SCEVRewriteVisitor::SCEVRewriteVisitor;
    const SCEV *visitUDivExpr(const SCEVUDivExpr *d) {
        const SCEV *by = visit(d->getRHS());
        return SE.getUDivExpr(visit(d->getLHS()), SE.isKnownNonZero(by) ? by : SE.getUMaxExpr(by, SE.getOne(by->getType())));
    }
};

struct Bounds {
    Function &f;
    const struct weft_bounds *to;
    const DataLayout &dl;
    DominatorTree &dt;
    LoopInfo &li;
    ScalarEvolution &se;
    Type *i64, *i32;
    std::vector<Copied> copies;
    SmallVector<Instruction *, 16> looks; // what was put before inner loops, and is not to be in the copy of a nest

    const SCEV *turnsOf(Loop *l) {
        const SCEV *turns = se.getSymbolicMaxBackedgeTakenCount(l);
        return isa<SCEVCouldNotCompute>(turns) || se.getTypeSizeInBits(turns->getType()) > 64 ? nullptr : se.getNoopOrZeroExtend(Divisible(se).visit(turns), i64);
    }

    // The accesses that are checked go to `add`. False: a thread may let go of its memory in the loop.
    template <typename Add> bool isQuiet(Loop *l, size_t &checked, Add add) {
        bool quiet = true;
        for (BasicBlock *b : l->blocks())
            for (Instruction &i : *b) {
                if (llvm::is_contained(looks, &i)) continue;
                quiet &= !letsGo(i);
                if (!i.mayReadOrWriteMemory() || isa<CallBase>(i) || !to->is_checked(to->ctx, wrap(&i))) continue;
                Value *p = const_cast<Value *>(getPointerOperand(&i));
                auto *load = dyn_cast<LoadInst>(&i);
                auto *store = dyn_cast<StoreInst>(&i);
                uint64_t size = load ? dl.getTypeStoreSize(load->getType()) : store ? dl.getTypeStoreSize(store->getValueOperand()->getType()) : 0;
                bool simple = p && size && (load ? load->isSimple() : store->isSimple()) && size <= (uint64_t)Line && !p->getType()->getPointerAddressSpace();
                quiet &= size <= to->largest;
                checked++;
                if (simple) add(&i, p, size, store != nullptr);
            }
        return quiet;
    }

    // The ones with most accesses.
    void choose(SmallVectorImpl<Range> &ranges) {
        llvm::sort(ranges, [](const Range &a, const Range &b) { return a.accesses.size() > b.accesses.size(); });
        size_t n = 0, told = 0;
        while (n < ranges.size() && told + 1 + (ranges[n].ring != nullptr) <= to->most) told += 1 + (ranges[n++].ring != nullptr);
        ranges.truncate(n);
    }

    // Whether it ends at one place only. That it may be left for good, after a message, does not count.
    bool hasOneEnd(const Loop *l) {
        SmallVector<Loop::Edge, 4> edges;
        l->getExitEdges(edges);
        const BasicBlock *one = nullptr;
        for (auto [from, to] : edges) {
            if (isa<UnreachableInst>(to->getTerminator())) continue;
            if (one && from != one) return false;
            one = from;
        }
        return one;
    }

    Instruction *endBefore(Loop *l) {
        BasicBlock *before = l->getLoopPreheader();
        if (!before) before = InsertPreheaderForLoop(l, &dt, &li, nullptr, false);
        return before ? before->getTerminator() : nullptr;
    }

    // `few`: gives how many lines are looked at, of so many.
    template <typename Few> weft_range range(IRBuilder<> &b, const Range &r, Value *lo, Value *hi, Few few) {
        lo = b.CreateAdd(lo, b.getInt64((uint64_t)r.low));
        hi = b.CreateAdd(hi, b.getInt64((uint64_t)(r.high - 1)));
        Value *address = b.CreateIntToPtr(lo, b.getPtrTy()), *size = b.CreateAdd(b.CreateSub(hi, lo), b.getInt64(1));
        lo = b.CreateLShr(lo, LineShift);
        hi = b.CreateLShr(hi, LineShift);
        Value *lines = few(b, b.CreateAdd(b.CreateSub(hi, lo), b.getInt64(1)));
        return {wrap(address), wrap(size), wrap(b.CreateTrunc(lo, i32)), wrap(b.CreateTrunc(lines, i32)), r.write, r.all};
    }
    template <typename Few> weft_range expand(SCEVExpander &e, const Range &r, Instruction *at, Few few) {
        Value *lo = e.expandCodeFor(r.first, i64, at->getIterator()), *hi = e.expandCodeFor(r.last, i64, at->getIterator());
        IRBuilder<> b(at);
        return range(b, r, lo, hi, few);
    }

    // Of one that goes back once: what it touches before and behind that. If there is only one of these, that twice.
    template <typename Few> void expandRing(SCEVExpander &e, Loop *l, const Range &r, Value *turns, Instruction *at, Few few, SmallVectorImpl<weft_range> &to) {
        const SCEV *from = nullptr, *end = nullptr;
        bool before = false;
        decides(se, l, r.ring, from, end, before);
        Value *x = e.expandCodeFor(from, i64, at->getIterator()), *y = e.expandCodeFor(end, i64, at->getIterator());
        Value *one = e.expandCodeFor(before ? r.first : r.last, i64, at->getIterator()), *two = e.expandCodeFor(before ? r.last : r.first, i64, at->getIterator());
        IRBuilder<> b(at);
        Value *step = b.getInt64((uint64_t)r.step);
        Value *small = b.CreateAnd(b.CreateICmpULT(x, b.getInt64(FarIndex)), b.CreateICmpULT(y, b.getInt64(FarIndex)));
        // `one` is the address in turns 0 to n - 1, `two` in turns n to `turns`.
        Value *n = b.CreateSub(y, x), *all = b.CreateAdd(turns, b.getInt64(1));
        n = b.CreateSelect(b.CreateICmpSLT(n, b.getInt64(0)), b.getInt64(0), n);
        n = b.CreateSelect(b.CreateICmpUGT(n, all), all, n);
        Value *none = b.CreateICmpEQ(n, b.getInt64(0)), *only = b.CreateICmpEQ(n, all);
        Value *a = b.CreateSelect(none, two, one), *z = b.CreateAdd(a, b.CreateMul(step, b.CreateSub(b.CreateSelect(none, all, n), b.getInt64(1))));
        Value *a2 = b.CreateSelect(only, one, b.CreateAdd(two, b.CreateMul(step, n)));
        Value *z2 = b.CreateAdd(b.CreateSelect(only, one, two), b.CreateMul(step, turns));
        if (r.step < 0) std::swap(a, z), std::swap(a2, z2);
        auto known = [&](IRBuilder<> &in, Value *lines) { return in.CreateSelect(small, few(in, lines), in.getInt64(0)); };
        to.push_back(range(b, r, a, z, known));
        to.push_back(range(b, r, a2, z2, known));
    }

    bool isSafe(SCEVExpander &e, Loop *l, const Range &r, Instruction *at) {
        const SCEV *from, *end;
        bool before;
        if (r.ring && !(decides(se, l, r.ring, from, end, before) && e.isSafeToExpandAt(from, at) && e.isSafeToExpandAt(end, at))) return false;
        return (!r.by || e.isSafeToExpandAt(r.by, at)) && e.isSafeToExpandAt(r.first, at) && e.isSafeToExpandAt(r.last, at);
    }

    void innermost(Loop *l) {
        if (!l->isSafeToClone() || to->only_waits(to->ctx, wrap(l->getHeader()))) return;
        const SCEV *turns = turnsOf(l);
        if (!turns) return;
        bool exact = hasOneEnd(l);
        SmallVector<Range, 4> ranges;
        size_t others = 0; // that are checked
        bool quiet = isQuiet(l, others, [&](Instruction *i, Value *p, uint64_t size, bool write) { add(se, l, turns, i, p, size, write, ranges); });
        llvm::erase_if(ranges, [](const Range &r) { return !r.isDense(); });
        size_t most = se.getSmallConstantMaxTripCount(l), accesses = 0;
        for (const Range &r : ranges) accesses += r.accesses.size();
        if (!quiet || !accesses || (most && most * accesses <= FewAccesses)) return;
        choose(ranges);
        Instruction *at = endBefore(l);
        if (!at) return;
        SCEVExpander e(se, dl, "weft", false);
        if (!e.isSafeToExpandAt(turns, at)) return;
        llvm::erase_if(ranges, [&](const Range &r) { return !isSafe(e, l, r, at); });
        if (ranges.empty()) return;
        DenseSet<const Instruction *> covered;
        uint64_t tables = 0;
        for (const Range &r : ranges) {
            covered.insert(r.accesses.begin(), r.accesses.end());
            if (r.table) tables += r.table / Line + 2;
        }
        others -= covered.size();
        if (others > MostOthers * covered.size() || instructions(l) > MostInstructions) return;
        Value *n = e.expandCodeFor(turns, i64, at->getIterator());
        Instruction *mark = at->getPrevNode();
        SmallVector<weft_range, 4> told;
        auto few = [&](IRBuilder<> &b, Value *lines) {
            Value *few = b.CreateICmpULE(lines, b.getInt64(exact ? MostLines : MostLinesEarly));
            few = b.CreateAnd(few, b.CreateICmpULT(n, b.getInt64(MostTurns)));
            return b.CreateSelect(few, lines, b.getInt64(0));
        };
        BasicBlock *latch = l->getLoopLatch();
        for (Range &r : ranges) {
            int64_t far = r.write ? Line : 2 * Line; // what is read may have a line in between that is not
            r.all = exact && latch && !r.table && !r.by && r.step >= -far && r.step <= far &&
                    llvm::any_of(r.accesses, [&](const Instruction *i) { return (!r.write || isa<StoreInst>(i)) && dt.dominates(i->getParent(), latch); });
            if (r.ring)
                expandRing(e, l, r, n, at, few, told);
            else
                told.push_back(expand(e, r, at, few));
        }
        // To look at all that may be more work than the loop.
        IRBuilder<> b(at);
        uint64_t least = std::max<uint64_t>(tables, FewAccesses / covered.size());
        Value *worth = isa<SCEVConstant>(turns) && !tables ? nullptr : b.CreateICmpUGE(n, b.getInt64(least));
        for (const Range &r : ranges) {
            if (!r.by) continue;
            Value *near = b.CreateICmpULT(e.expandCodeFor(r.by, i64, at->getIterator()), b.getInt64(FarStep));
            worth = worth ? b.CreateAnd(worth, near) : near;
        }
        Copied c{l, false, std::move(covered), nullptr, {}};
        if (worth) {
            c.worth = b.CreateFreeze(worth);
            c.ranges = std::move(told);
        } else {
            to->look(to->ctx, wrap(at), told.data(), (unsigned)told.size());
        }
        for (Instruction *i = mark ? mark->getNextNode() : &at->getParent()->front(); i != at; i = i->getNextNode())
            if (i->mayReadOrWriteMemory() || i->mayHaveSideEffects()) looks.push_back(i);
        copies.push_back(std::move(c));
    }

    void nest(Loop *l) {
        if (!l->isSafeToClone() || instructions(l) > MostInstructions) return;
        Nest n{se, l, {}, {}};
        bool exact = true;
        for (Loop *m : l->getLoopsInPreorder()) {
            const SCEV *turns = turnsOf(m);
            if (!turns || to->only_waits(to->ctx, wrap(m->getHeader()))) return;
            if (m->isInnermost() && se.getSmallConstantTripCount(m) > ShortLoop) return;
            exact &= hasOneEnd(m);
            n.turns[m] = turns;
        }
        SmallVector<Range, 4> ranges;
        size_t others = 0;
        if (!isQuiet(l, others, [&](Instruction *i, Value *p, uint64_t size, bool write) {
                const SCEV *s = se.getPtrToIntExpr(se.getSCEV(p), i64);
                if (isa<SCEVCouldNotCompute>(s)) return;
                const SCEV *lo = n.end(s, false), *hi = lo ? n.end(s, true) : nullptr;
                if (hi) put(se, {lo, hi, 0, (int64_t)size, 0, write, {i}}, ranges);
            }))
            return;
        if (ranges.empty()) return;
        choose(ranges);
        Instruction *at = endBefore(l);
        if (!at) return;
        SCEVExpander e(se, dl, "weft", false);
        llvm::erase_if(ranges, [&](const Range &r) { return !e.isSafeToExpandAt(r.first, at) || !e.isSafeToExpandAt(r.last, at); });
        DenseSet<const Instruction *> covered;
        for (const Range &r : ranges) covered.insert(r.accesses.begin(), r.accesses.end());
        others -= covered.size();
        if (covered.empty() || others > MostOthers * covered.size()) return;
        // The innermost loop with most of them: how often its body runs.
        MapVector<Loop *, size_t> in;
        for (const Instruction *i : covered) in[li.getLoopFor(i->getParent())]++;
        Loop *body = nullptr;
        for (auto [m, k] : in)
            if (m->isInnermost() && (!body || k > in[body])) body = m;
        if (!body || body == l) return;
        SmallVector<std::pair<const SCEV *, const SCEV *>, 4> most; // turns, of each loop
        for (auto [m, turns] : n.turns) {
            const SCEV *lo = n.end(turns, false), *hi = lo ? n.end(turns, true) : nullptr;
            if (!hi || !e.isSafeToExpandAt(lo, at) || !e.isSafeToExpandAt(hi, at)) return;
            most.push_back({lo, hi});
        }
        for (const SCEV *s : n.steps)
            if (!e.isSafeToExpandAt(s, at)) return;
        IRBuilder<> b(at);
        Value *worth = b.getTrue(), *times = b.getInt64(1);
        auto small = [&](const SCEV *s, uint64_t bound) {
            Value *v = e.expandCodeFor(s, i64, at->getIterator());
            worth = b.CreateAnd(worth, b.CreateICmpULT(b.CreateAdd(v, b.getInt64(bound)), b.getInt64(2 * bound)));
            return v;
        };
        for (const SCEV *s : n.steps) small(s, 1ull << NestStepBits);
        for (size_t k = 0; k < most.size(); k++) {
            Loop *m = (n.turns.begin() + (ptrdiff_t)k)->first;
            small(most[k].first, NestTurns);
            Value *v = small(most[k].second, NestTurns);
            if (m == body) worth = b.CreateAnd(worth, b.CreateICmpSLT(v, b.getInt64(ShortLoop)));
            if (m->contains(body)) times = b.CreateMul(times, b.CreateAdd(b.CreateSelect(b.CreateICmpSLT(v, b.getInt64(0)), b.getInt64(0), v), b.getInt64(1)));
        }
        Copied c{l, true, std::move(covered), nullptr, {}};
        for (const Range &r : ranges)
            c.ranges.push_back(expand(e, r, at, [&](IRBuilder<> &to, Value *lines) {
                worth = to.CreateAnd(worth, to.CreateICmpULE(lines, times));
                worth = to.CreateAnd(worth, to.CreateICmpULE(lines, to.getInt64(exact ? NestLines : MostLinesEarly)));
                return lines;
            }));
        c.worth = b.CreateFreeze(worth);
        copies.push_back(std::move(c));
    }

    // A nest is an innermost loop, or several, and the one around them: of more, threads have more in common.
    void find(Loop *l) {
        if (l->isInnermost()) return innermost(l);
        if (llvm::all_of(*l, [](Loop *m) { return m->isInnermost(); })) nest(l);
        for (Loop *m : *l) find(m);
    }

    void copy(Copied &c, bool all) {
        Loop *l = c.loop;
        BasicBlock *head = l->getHeader(), *before = l->getLoopPreheader();
        BasicBlock *slow = SplitBlock(before, before->getTerminator());
        ValueToValueMapTy map;
        SmallVector<BasicBlock *, 8> blocks;
        for (BasicBlock *b : l->blocks()) {
            BasicBlock *copy = CloneBasicBlock(b, map, ".fast", &f);
            map[b] = copy;
            blocks.push_back(copy);
        }
        remapInstructionsInBlocks(blocks, map);
        auto *first = cast<BasicBlock>(map[head]);
        BasicBlock *enter = BasicBlock::Create(f.getContext(), "weft.fast", &f, first);
        BranchInst::Create(first, enter);
        first->replacePhiUsesWith(slow, enter);
        if (c.worth) {
            BasicBlock *look = BasicBlock::Create(f.getContext(), "weft.look", &f, slow);
            Instruction *end = before->getTerminator();
            BranchInst::Create(look, slow, c.worth, end->getIterator());
            end->eraseFromParent();
            end = BranchInst::Create(slow, look);
            to->look(to->ctx, wrap(end), c.ranges.data(), (unsigned)c.ranges.size());
            before = look;
        }
        Instruction *end = before->getTerminator();
        BranchInst::Create(enter, slow, unwrap(to->is_fast(to->ctx, wrap(end))), end->getIterator());
        end->eraseFromParent();
        SmallVector<BasicBlock *, 4> exits;
        l->getUniqueExitBlocks(exits);
        for (BasicBlock *e : exits) {
            for (PHINode &phi : e->phis())
                for (unsigned i = 0, n = phi.getNumIncomingValues(); i < n; i++) {
                    if (!l->contains(phi.getIncomingBlock(i))) continue;
                    Value *v = map.lookup(phi.getIncomingValue(i));
                    phi.addIncoming(v ? v : phi.getIncomingValue(i), cast<BasicBlock>(map[phi.getIncomingBlock(i)]));
                }
            SmallVector<BasicBlock *, 4> from;
            for (BasicBlock *p : predecessors(e))
                if (llvm::is_contained(blocks, p) && !llvm::is_contained(from, p)) from.push_back(p);
            to->left(to->ctx, wrap(SplitBlockPredecessors(e, from, ".fast")->getTerminator()));
        }
        for (BasicBlock *b : l->blocks())
            for (Instruction &i : *b) {
                Value *now = map.lookup(&i);
                if (llvm::is_contained(looks, &i)) {
                    if (!now->use_empty()) now->replaceAllUsesWith(PoisonValue::get(now->getType()));
                    cast<Instruction>(now)->eraseFromParent();
                    continue;
                }
                if (i.mayReadOrWriteMemory() && !isa<CallBase>(i))
                    to->in_copy(to->ctx, wrap(cast<Instruction>(now)), wrap(&i), to->is_checked(to->ctx, wrap(&i)) && !c.covered.count(&i));
                if (!i.getType()->isVoidTy() && (all || (b == head && isa<PHINode>(i)))) pairs.push_back({&i, now});
            }
        for (Loop *m : l->getLoopsInPreorder()) to->copied(to->ctx, wrap(m->getHeader()), wrap(cast<BasicBlock>(map[m->getHeader()])));
    }
};
} // namespace

void weft__bounds(LLVMValueRef function, const struct weft_bounds *to) {
    Function &f = *cast<Function>(unwrap(function));
    pairs.clear();
    DominatorTree dt(f);
    LoopInfo li(dt);
    if (li.empty()) return;
    AssumptionCache ac(f);
    TargetLibraryInfoImpl tlii(Triple(f.getParent()->getTargetTriple()));
    TargetLibraryInfo tli(tlii);
    ScalarEvolution se(f, tli, ac, dt, li);
    Bounds b{f, to, f.getParent()->getDataLayout(), dt, li, se, Type::getInt64Ty(f.getContext()), Type::getInt32Ty(f.getContext()), {}, {}};
    for (Loop *l : llvm::reverse(li)) b.find(l);
    DenseSet<const Loop *> nests;
    for (Copied &c : b.copies) {
        formLCSSARecursively(*c.loop, dt, &li, nullptr);
        if (c.nest) nests.insert(c.loop);
    }
    // What is known of the function is not kept up to date from here on. Nests come before the loops in them.
    for (Copied &c : b.copies) {
        bool in = false;
        for (const Loop *l = c.loop; l; l = l->getParentLoop()) in |= nests.count(l) != 0;
        b.copy(c, in);
    }
}

void weft__bounds_leave(LLVMValueRef leaves, LLVMValueRef from, LLVMBasicBlockRef loop) {
    auto *end = cast<BranchInst>(unwrap(from));
    auto *tick = cast<BranchInst>(unwrap(loop)->getTerminator());
    BranchInst::Create(tick->getSuccessor(1), end->getSuccessor(0), unwrap(leaves), end->getIterator());
    end->eraseFromParent();
}

void weft__bounds_left(void) {
    MapVector<Value *, SmallVector<Instruction *, 2>> values;
    for (Pair &p : pairs)
        if (p.was && p.copy) values[p.was].push_back(cast<Instruction>(p.copy));
    for (auto &[v, others] : values) {
        auto *was = dyn_cast<Instruction>(v);
        if (!was) continue;
        SSAUpdater u;
        u.Initialize(was->getType(), was->getName());
        u.AddAvailableValue(was->getParent(), was);
        for (Instruction *o : others) u.AddAvailableValue(o->getParent(), o);
        SmallVector<Use *, 8> uses;
        for (Use &use : was->uses()) {
            auto *user = cast<Instruction>(use.getUser());
            auto *phi = dyn_cast<PHINode>(user);
            if ((phi ? phi->getIncomingBlock(use) : user->getParent()) != was->getParent()) uses.push_back(&use);
        }
        for (Use *use : uses) u.RewriteUse(*use);
    }
    pairs.clear();
}
