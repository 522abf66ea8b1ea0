// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory does a loop touch? (Chimera, section 5: symbolic bounds of the addresses in loops.)
//
// For the innermost loops of a function: addresses that stay the same or advance by a constant in each turn, from the first turn to the
// last one that there can be, as LLVM's scalar evolution knows them. Those that differ by a constant are one range. The bounds
// are computed before the loop, in new code there.
//
// Loops with calls are left alone: a thread lets go of its memory there. So are those with few turns, and addresses that advance so
// fast that to look at every line between would be more work than the loop itself.
#include "llvm-c/Core.h"
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
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace {
constexpr unsigned MostRanges = 6;     // of a loop
constexpr int64_t Line = 64;
constexpr int64_t SmallStep = Line / 2; // bytes in a turn; with more, at least an access for each line that is passed
constexpr unsigned FewAccesses = 32;    // in all turns, known to be at most
constexpr uint64_t MostTurns = 1 << 24;
constexpr uint64_t MostLines = 1 << 18;      // that are looked at before the loop
constexpr uint64_t MostLinesEarly = 16;      // if it may end before: most searches end soon
constexpr unsigned LineShift = 6;

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
    if (auto *m = dyn_cast_or_null<MemIntrinsic>(n)) { // small ones are accesses (calls.c)
        auto *length = dyn_cast<ConstantInt>(m->getLength());
        return !length || length->getZExtValue() > (uint64_t)Line;
    }
    return !n || !(n->isAssumeLikeIntrinsic() || n->doesNotAccessMemory()) || n->getCalledFunction()->getName().starts_with("llvm.x86.");
}

// Puts an access into a range. False: its address is not known before the loop.
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
    for (Range &r : ranges) {
        auto *lo = dyn_cast<SCEVConstant>(se.getMinusSCEV(first, r.first)), *hi = dyn_cast<SCEVConstant>(se.getMinusSCEV(last, r.last));
        if (!lo || !hi || lo->getAPInt().getSignificantBits() > 12 || hi->getAPInt().getSignificantBits() > 12) continue;
        r.low = std::min(r.low, lo->getAPInt().getSExtValue());
        r.high = std::max(r.high, hi->getAPInt().getSExtValue() + (int64_t)size);
        r.write |= write;
        r.accesses.push_back(i);
        return true;
    }
    ranges.push_back({first, last, 0, (int64_t)size, n < 0 ? -n : n, write, {i}});
    return true;
}
} // namespace

extern "C" {
typedef int weft_is_checked(void *, LLVMValueRef);
typedef void weft_range(void *, LLVMValueRef before, LLVMValueRef line, LLVMValueRef lines, int write);
typedef void weft_covered(void *, LLVMValueRef access);

// Tells of each range that a loop touches, where it is to be looked at and what is to be looked at: the first line, and how many, 0 if they
// are too many; and of the accesses that lie in it. `begin`: of the ranges of a loop.
void weft__bounds(LLVMValueRef function, void *ctx, weft_is_checked *isChecked, void (*begin)(void *, LLVMValueRef before), weft_range *range,
                  weft_covered *covered) {
    Function &f = *cast<Function>(unwrap(function));
    const DataLayout &dl = f.getParent()->getDataLayout();
    DominatorTree dt(f);
    LoopInfo li(dt);
    if (li.empty()) return;
    AssumptionCache ac(f);
    TargetLibraryInfoImpl tlii(Triple(f.getParent()->getTargetTriple()));
    TargetLibraryInfo tli(tlii);
    ScalarEvolution se(f, tli, ac, dt, li);
    Type *i64 = Type::getInt64Ty(f.getContext()), *i32 = Type::getInt32Ty(f.getContext());
    for (Loop *l : li.getLoopsInPreorder()) {
        if (!l->isInnermost()) continue;
        const SCEV *turns = se.getSymbolicMaxBackedgeTakenCount(l);
        if (isa<SCEVCouldNotCompute>(turns) || se.getTypeSizeInBits(turns->getType()) > 64) continue;
        bool exact = l->getExitingBlock() != nullptr;
        turns = se.getNoopOrZeroExtend(turns, i64);
        SmallVector<Range, 4> ranges;
        bool quiet = true;
        for (BasicBlock *b : l->blocks())
            for (Instruction &i : *b) {
                quiet &= !letsGo(i);
                Value *p = nullptr;
                uint64_t size = 0;
                if (auto *load = dyn_cast<LoadInst>(&i))
                    p = load->isSimple() ? load->getPointerOperand() : nullptr, size = dl.getTypeStoreSize(load->getType());
                else if (auto *store = dyn_cast<StoreInst>(&i))
                    p = store->isSimple() ? store->getPointerOperand() : nullptr, size = dl.getTypeStoreSize(store->getValueOperand()->getType());
                if (!p || !size || size > 64 || p->getType()->getPointerAddressSpace() || !isChecked(ctx, wrap(&i))) continue;
                add(se, l, turns, &i, p, size, isa<StoreInst>(i), ranges);
            }
        llvm::erase_if(ranges, [](const Range &r) { return !r.isDense(); });
        size_t most = se.getSmallConstantMaxTripCount(l), accesses = 0;
        for (const Range &r : ranges) accesses += r.accesses.size();
        if (!quiet || !accesses || (most && most * accesses <= FewAccesses)) continue;
        // The ones with most accesses.
        llvm::sort(ranges, [](const Range &a, const Range &b) { return a.accesses.size() > b.accesses.size(); });
        if (ranges.size() > MostRanges) ranges.truncate(MostRanges);
        BasicBlock *before = l->getLoopPreheader();
        if (!before) before = InsertPreheaderForLoop(l, &dt, &li, nullptr, false);
        if (!before) continue;
        Instruction *at = before->getTerminator();
        SCEVExpander e(se, dl, "weft", false);
        if (!e.isSafeToExpandAt(turns, at)) continue;
        llvm::erase_if(ranges, [&](const Range &r) { return !e.isSafeToExpandAt(r.first, at) || !e.isSafeToExpandAt(r.last, at); });
        if (ranges.empty()) continue;
        Value *n = e.expandCodeFor(turns, i64, at->getIterator());
        begin(ctx, wrap(at));
        for (const Range &r : ranges) {
            Value *lo = e.expandCodeFor(r.first, i64, at->getIterator()), *hi = e.expandCodeFor(r.last, i64, at->getIterator());
            IRBuilder<> b(at);
            lo = b.CreateLShr(b.CreateAdd(lo, b.getInt64((uint64_t)r.low)), LineShift);
            hi = b.CreateLShr(b.CreateAdd(hi, b.getInt64((uint64_t)(r.high - 1))), LineShift);
            Value *lines = b.CreateAdd(b.CreateSub(hi, lo), b.getInt64(1));
            Value *few = b.CreateICmpULE(lines, b.getInt64(exact ? MostLines : MostLinesEarly));
            few = b.CreateAnd(few, b.CreateICmpULT(n, b.getInt64(MostTurns)));
            lines = b.CreateTrunc(b.CreateSelect(few, lines, b.getInt64(0)), i32);
            range(ctx, wrap(at), wrap(b.CreateTrunc(lo, i32)), wrap(lines), r.write);
            for (Instruction *i : r.accesses) covered(ctx, wrap(i));
        }
    }
}
}
