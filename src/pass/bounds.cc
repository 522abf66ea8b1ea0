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
// Such a loop gets a copy, the fast one, without checks of what lies in its ranges; it is entered if the thread has them all.
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

namespace {
size_t instructions(const Loop *l) {
    size_t n = 0;
    for (const BasicBlock *b : l->blocks()) n += b->sizeWithoutDebug();
    return n;
}
} // namespace

void weft__bounds(LLVMValueRef function, const struct weft_bounds *to) {
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
    std::vector<std::pair<Loop *, DenseSet<const Instruction *>>> copies;
    for (Loop *l : li.getLoopsInPreorder()) {
        if (!l->isInnermost() || !l->isSafeToClone() || to->only_waits(to->ctx, wrap(l->getHeader()))) continue;
        const SCEV *turns = se.getSymbolicMaxBackedgeTakenCount(l);
        if (isa<SCEVCouldNotCompute>(turns) || se.getTypeSizeInBits(turns->getType()) > 64) continue;
        bool exact = l->getExitingBlock() != nullptr;
        turns = se.getNoopOrZeroExtend(turns, i64);
        SmallVector<Range, 4> ranges;
        bool quiet = true;
        size_t others = 0; // that are checked
        for (BasicBlock *b : l->blocks())
            for (Instruction &i : *b) {
                quiet &= !letsGo(i);
                if (!i.mayReadOrWriteMemory() || isa<CallBase>(i) || !to->is_checked(to->ctx, wrap(&i))) continue;
                Value *p = const_cast<Value *>(getPointerOperand(&i));
                auto *load = dyn_cast<LoadInst>(&i);
                auto *store = dyn_cast<StoreInst>(&i);
                uint64_t size = load ? dl.getTypeStoreSize(load->getType()) : store ? dl.getTypeStoreSize(store->getValueOperand()->getType()) : 0;
                bool simple = p && size && (load ? load->isSimple() : store->isSimple()) && size <= (uint64_t)Line && !p->getType()->getPointerAddressSpace();
                quiet &= size <= to->largest;
                others++;
                if (simple) add(se, l, turns, &i, p, size, store != nullptr, ranges);
            }
        llvm::erase_if(ranges, [](const Range &r) { return !r.isDense(); });
        size_t most = se.getSmallConstantMaxTripCount(l), accesses = 0;
        for (const Range &r : ranges) accesses += r.accesses.size();
        if (!quiet || !accesses || (most && most * accesses <= FewAccesses)) continue;
        // The ones with most accesses.
        llvm::sort(ranges, [](const Range &a, const Range &b) { return a.accesses.size() > b.accesses.size(); });
        if (ranges.size() > to->most) ranges.truncate(to->most);
        BasicBlock *before = l->getLoopPreheader();
        if (!before) before = InsertPreheaderForLoop(l, &dt, &li, nullptr, false);
        if (!before) continue;
        Instruction *at = before->getTerminator();
        SCEVExpander e(se, dl, "weft", false);
        if (!e.isSafeToExpandAt(turns, at)) continue;
        llvm::erase_if(ranges, [&](const Range &r) { return !e.isSafeToExpandAt(r.first, at) || !e.isSafeToExpandAt(r.last, at); });
        if (ranges.empty()) continue;
        DenseSet<const Instruction *> covered;
        for (const Range &r : ranges) covered.insert(r.accesses.begin(), r.accesses.end());
        others -= covered.size();
        if (others > MostOthers * covered.size() || instructions(l) > MostInstructions) continue;
        Value *n = e.expandCodeFor(turns, i64, at->getIterator());
        to->begin(to->ctx, wrap(at), (unsigned)ranges.size());
        for (const Range &r : ranges) {
            Value *lo = e.expandCodeFor(r.first, i64, at->getIterator()), *hi = e.expandCodeFor(r.last, i64, at->getIterator());
            IRBuilder<> b(at);
            lo = b.CreateAdd(lo, b.getInt64((uint64_t)r.low));
            hi = b.CreateAdd(hi, b.getInt64((uint64_t)(r.high - 1)));
            Value *address = b.CreateIntToPtr(lo, b.getPtrTy()), *size = b.CreateAdd(b.CreateSub(hi, lo), b.getInt64(1));
            lo = b.CreateLShr(lo, LineShift);
            hi = b.CreateLShr(hi, LineShift);
            Value *lines = b.CreateAdd(b.CreateSub(hi, lo), b.getInt64(1));
            Value *few = b.CreateICmpULE(lines, b.getInt64(exact ? MostLines : MostLinesEarly));
            few = b.CreateAnd(few, b.CreateICmpULT(n, b.getInt64(MostTurns)));
            lines = b.CreateTrunc(b.CreateSelect(few, lines, b.getInt64(0)), i32);
            weft_range told = {wrap(address), wrap(size), wrap(b.CreateTrunc(lo, i32)), wrap(lines), r.write};
            to->range(to->ctx, wrap(at), (unsigned)(&r - ranges.begin()), &told);
        }
        copies.push_back({l, std::move(covered)});
    }
    for (auto &[l, covered] : copies) formLCSSA(*l, dt, &li, nullptr);
    for (auto &[l, covered] : copies) { // what is known of the function is not kept up to date from here on
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
            for (Instruction &i : *b)
                if (i.mayReadOrWriteMemory() && !isa<CallBase>(i))
                    to->in_copy(to->ctx, wrap(cast<Instruction>(map[&i])), to->is_checked(to->ctx, wrap(&i)) && !covered.count(&i));
        to->copied(to->ctx, wrap(head), wrap(first));
    }
}

void weft__bounds_leave(LLVMValueRef leaves, LLVMValueRef from, LLVMBasicBlockRef loop, LLVMBasicBlockRef fast) {
    BasicBlock *head = unwrap(loop), *copy = unwrap(fast);
    auto *end = cast<BranchInst>(unwrap(from));
    auto *tick = cast<BranchInst>(head->getTerminator());
    BasicBlock *cold = tick->getSuccessor(0), *rest = tick->getSuccessor(1), *comes = end->getParent();
    SmallVector<std::pair<PHINode *, PHINode *>, 8> phis;
    for (auto a = head->phis().begin(), b = copy->phis().begin(); a != head->phis().end(); ++a, ++b) phis.push_back({&*a, &*b});
    for (auto [a, b] : phis) {
        PHINode *now = PHINode::Create(a->getType(), 3, "", rest->begin());
        a->replaceAllUsesWith(now);
        now->addIncoming(a, head);
        now->addIncoming(a, cold);
        now->addIncoming(b, comes);
    }
    BranchInst::Create(rest, end->getSuccessor(0), unwrap(leaves), end->getIterator());
    end->eraseFromParent();
}
