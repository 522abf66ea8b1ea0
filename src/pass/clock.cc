// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In small loops the clock stays in a register: a tick stores it, and the next one does not load it again. (To load what has just been stored takes
// seven cycles or so, which is as long as a turn of a good loop.)
//
// Nothing else ticks in such a loop: there are no calls in it, and a miss does not tick. What goes to the runtime at a tick loads the clock when it is back.
// A handler that runs at a miss, or after a fault, ticks, and then the loop goes on with the register that it had: clock_went_on() in the runtime sees to that.
#include "bounds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

using namespace llvm;

namespace {
// Of a call: whether it is a tick's way to the runtime, or may tick otherwise.
enum Ticks { Never, Tick, Otherwise };
Ticks ticks(const CallBase &c) {
    auto *text = dyn_cast<InlineAsm>(c.getCalledOperand());
    if (!text) return isa<IntrinsicInst>(c) ? Never : Otherwise;
    StringRef s = text->getAsmString();
    if (s.contains("__weft_tick_cold")) return Tick;
    for (StringRef other : {"__weft_tick_spin", "__weft_spins", "__weft_weak", "__weft_come_in", "__weft_go_out", "__weft_range"})
        if (s.contains(other)) return Otherwise;
    return Never;
}

struct Clock {
    LoadInst *load;
    StoreInst *store;
};

void keep(Loop *l, const GlobalVariable *tls, DominatorTree &dt, LoopInfo &li) {
    SmallVector<Clock, 2> clocks;
    SmallVector<CallBase *, 2> colds;
    for (BasicBlock *b : l->blocks())
        for (Instruction &i : *b) {
            if (auto *c = dyn_cast<CallBase>(&i)) {
                Ticks t = ticks(*c);
                if (t == Otherwise) return;
                if (t == Tick) colds.push_back(c);
            }
            auto *s = dyn_cast<StoreInst>(&i);
            if (!s || s->getPointerOperand() != tls || !s->getValueOperand()->getType()->isIntegerTy(64)) continue;
            auto *a = dyn_cast<BinaryOperator>(s->getValueOperand());
            auto *load = a && a->getOpcode() == Instruction::Add ? dyn_cast<LoadInst>(a->getOperand(0)) : nullptr;
            if (!load || load->getPointerOperand() != tls || load->getParent() != b) return;
            clocks.push_back({load, s});
        }
    if (clocks.size() != 1 || clocks[0].load->getParent() != l->getHeader()) return;
    Clock c = clocks[0];
    BasicBlock *before = l->getLoopPreheader();
    if (!before) before = InsertPreheaderForLoop(l, &dt, &li, nullptr, false);
    if (!before) return;
    SSAUpdater clock;
    clock.Initialize(c.load->getType(), "clock");
    auto again = [&](Instruction *at) {
        Instruction *i = c.load->clone();
        i->insertBefore(at->getIterator());
        clock.AddAvailableValue(at->getParent(), i);
    };
    again(before->getTerminator());
    clock.AddAvailableValue(c.store->getParent(), c.store->getValueOperand());
    for (CallBase *cold : colds) again(cold->getParent()->getTerminator());
    c.load->replaceAllUsesWith(clock.GetValueInMiddleOfBlock(c.load->getParent()));
    c.load->eraseFromParent();
}
} // namespace

void weft__clock(LLVMValueRef function, LLVMValueRef tls) {
    Function &f = *cast<Function>(unwrap(function));
    DominatorTree dt(f);
    LoopInfo li(dt);
    for (Loop *l : li.getLoopsInPreorder())
        if (l->isInnermost()) keep(l, cast<GlobalVariable>(unwrap(tls)), dt, li);
}
