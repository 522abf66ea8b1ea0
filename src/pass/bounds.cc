// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory does a loop touch? (Chimera, section 5: symbolic bounds of the addresses in loops.)
//
// For the innermost loops of a function: addresses that stay the same or advance by a constant in each turn, from the first turn to the
// last one that there can be, as LLVM's scalar evolution knows them. Those that differ by a constant are one range. The bounds
// are computed before the loop, in new code there.
//
// Loops with calls are left alone: a thread lets go of its memory there. So are those with few turns, and addresses that advance so
// fast that to look at every line between would be more work than the loop itself.
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

struct Range {
    const SCEV *first, *last; // the lowest and highest address of which the bytes [0, size) are touched, as integers
    int64_t low, high;        // bytes from these
    int64_t step;             // bytes, in a turn
    bool write;
    SmallVector<Instruction *, 8> accesses;
    bool isDense() const { return step <= SmallStep || step <= (int64_t)accesses.size() * Line; }
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
        auto *lo = dyn_cast<SCEVConstant>(se.getMinusSCEV(one.first, r.first)), *hi = dyn_cast<SCEVConstant>(se.getMinusSCEV(one.last, r.last));
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

// Of an access in an innermost loop. False: its address is not known before the loop.
bool add(ScalarEvolution &se, Loop *l, const SCEV *turns, Instruction *i, Value *p, uint64_t size, bool write, SmallVectorImpl<Range> &ranges) {
    Type *i64 = Type::getInt64Ty(i->getContext());
    const SCEV *s = se.getSCEV(p), *first = s, *last = s;
    int64_t n = 0;
    if (!se.isLoopInvariant(s, l)) {
        auto *a = dyn_cast<SCEVAddRecExpr>(s);
        if (!a || a->getLoop() != l || !a->isAffine()) return false;
        auto *step = dyn_cast<SCEVConstant>(a->getStepRecurrence(se));
        if (!step || step->getAPInt().getSignificantBits() > 16) return false;
        n = step->getAPInt().getSExtValue();
        first = se.getPtrToIntExpr(a->getStart(), i64);
        if (isa<SCEVCouldNotCompute>(first)) return false;
        last = se.getAddExpr(first, se.getMulExpr(turns, se.getConstant(i64, n, true)));
        if (n < 0) std::swap(first, last);
    } else {
        first = last = se.getPtrToIntExpr(s, i64);
        if (isa<SCEVCouldNotCompute>(first)) return false;
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
    Value *worth;                      // of a nest: whether to look at its ranges
    SmallVector<weft_range, 4> ranges; // of a nest: not yet looked at
};
struct Pair {
    WeakTrackingVH was, copy;
};
thread_local std::vector<Pair> pairs; // of the function that is being rewritten: values in a loop, and in a copy of it

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
        return isa<SCEVCouldNotCompute>(turns) || se.getTypeSizeInBits(turns->getType()) > 64 ? nullptr : se.getNoopOrZeroExtend(turns, i64);
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
        if (ranges.size() > to->most) ranges.truncate(to->most);
    }

    Instruction *endBefore(Loop *l) {
        BasicBlock *before = l->getLoopPreheader();
        if (!before) before = InsertPreheaderForLoop(l, &dt, &li, nullptr, false);
        return before ? before->getTerminator() : nullptr;
    }

    // `few`: whether so many lines are not too many; NULL: that is known before.
    template <typename Few> weft_range expand(SCEVExpander &e, const Range &r, Instruction *at, Few few) {
        Value *lo = e.expandCodeFor(r.first, i64, at->getIterator()), *hi = e.expandCodeFor(r.last, i64, at->getIterator());
        IRBuilder<> b(at);
        lo = b.CreateAdd(lo, b.getInt64((uint64_t)r.low));
        hi = b.CreateAdd(hi, b.getInt64((uint64_t)(r.high - 1)));
        Value *address = b.CreateIntToPtr(lo, b.getPtrTy()), *size = b.CreateAdd(b.CreateSub(hi, lo), b.getInt64(1));
        lo = b.CreateLShr(lo, LineShift);
        hi = b.CreateLShr(hi, LineShift);
        Value *lines = few(b, b.CreateAdd(b.CreateSub(hi, lo), b.getInt64(1)));
        return {wrap(address), wrap(size), wrap(b.CreateTrunc(lo, i32)), wrap(b.CreateTrunc(lines, i32)), r.write};
    }

    void innermost(Loop *l) {
        if (!l->isSafeToClone() || to->only_waits(to->ctx, wrap(l->getHeader()))) return;
        const SCEV *turns = turnsOf(l);
        if (!turns) return;
        bool exact = l->getExitingBlock() != nullptr;
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
        llvm::erase_if(ranges, [&](const Range &r) { return !e.isSafeToExpandAt(r.first, at) || !e.isSafeToExpandAt(r.last, at); });
        if (ranges.empty()) return;
        DenseSet<const Instruction *> covered;
        for (const Range &r : ranges) covered.insert(r.accesses.begin(), r.accesses.end());
        others -= covered.size();
        if (others > MostOthers * covered.size() || instructions(l) > MostInstructions) return;
        Value *n = e.expandCodeFor(turns, i64, at->getIterator());
        Instruction *mark = at->getPrevNode();
        to->begin(to->ctx, wrap(at), (unsigned)ranges.size());
        for (const Range &r : ranges) {
            weft_range told = expand(e, r, at, [&](IRBuilder<> &b, Value *lines) {
                Value *few = b.CreateICmpULE(lines, b.getInt64(exact ? MostLines : MostLinesEarly));
                few = b.CreateAnd(few, b.CreateICmpULT(n, b.getInt64(MostTurns)));
                return b.CreateSelect(few, lines, b.getInt64(0));
            });
            to->range(to->ctx, wrap(at), (unsigned)(&r - ranges.begin()), &told);
        }
        for (Instruction *i = mark ? mark->getNextNode() : &at->getParent()->front(); i != at; i = i->getNextNode())
            if (i->mayReadOrWriteMemory() || i->mayHaveSideEffects()) looks.push_back(i);
        copies.push_back({l, false, std::move(covered), nullptr, {}});
    }

    void nest(Loop *l) {
        if (!l->isSafeToClone() || instructions(l) > MostInstructions) return;
        Nest n{se, l, {}, {}};
        bool exact = true;
        for (Loop *m : l->getLoopsInPreorder()) {
            const SCEV *turns = turnsOf(m);
            if (!turns || to->only_waits(to->ctx, wrap(m->getHeader()))) return;
            if (m->isInnermost() && se.getSmallConstantTripCount(m) > ShortLoop) return;
            exact &= m->getExitingBlock() != nullptr;
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
        if (c.nest) {
            BasicBlock *look = BasicBlock::Create(f.getContext(), "weft.look", &f, slow);
            Instruction *end = before->getTerminator();
            BranchInst::Create(look, slow, c.worth, end->getIterator());
            end->eraseFromParent();
            end = BranchInst::Create(slow, look);
            to->begin(to->ctx, wrap(end), (unsigned)c.ranges.size());
            for (unsigned k = 0; k < c.ranges.size(); k++) to->range(to->ctx, wrap(end), k, &c.ranges[k]);
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
                    to->in_copy(to->ctx, wrap(cast<Instruction>(now)), to->is_checked(to->ctx, wrap(&i)) && !c.covered.count(&i));
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
