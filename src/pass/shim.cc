// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plugin entry: hands the module to C, when a file is compiled (weft__early_run) and at the link (weft__pass_run); and the little
// that LLVM-C lacks.
#include "shim.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

extern "C" {
int weft__pass_run(LLVMModuleRef);
int weft__early_run(LLVMModuleRef);

// Splits the block before `before` and puts a cold block there, entered if `cond`. Returns the cold block's terminator.
LLVMValueRef weft__shim_cold(LLVMValueRef cond, LLVMValueRef before) {
    auto *i = cast<Instruction>(unwrap(before));
    MDNode *w = MDBuilder(i->getContext()).createBranchWeights(1, 1 << 20);
    return wrap(SplitBlockAndInsertIfThen(unwrap(cond), i->getIterator(), false, w));
}

// Tells of the natural loop of each back edge of a function, if it has at most so many blocks: first its head, then, if that is another one, the
// last block of the way round, then the others. Loops within loops often come to have one head, and their back edges go through one block that
// does nothing else: such a block is passed apart (else it is the last one).
void weft__shim_loops(LLVMValueRef fn, unsigned most, void (*tell)(void *, const LLVMBasicBlockRef *, unsigned, LLVMBasicBlockRef), void *ctx) {
    DominatorTree tree(*cast<Function>(unwrap(fn)));
    LoopInfo loops(tree);
    auto look = [&](const Loop *l, BasicBlock *last, BasicBlock *through) {
        SmallSetVector<BasicBlock *, 32> in;
        in.insert(l->getHeader());
        in.insert(last);
        for (unsigned k = 1; k < in.size() && in.size() <= most; k++)
            for (BasicBlock *b : predecessors(in[k]))
                if (l->contains(b)) in.insert(b);
        if (in.size() > most) return;
        SmallVector<LLVMBasicBlockRef, 32> list;
        for (BasicBlock *b : in) list.push_back(wrap(b));
        tell(ctx, list.data(), static_cast<unsigned>(list.size()), wrap(through));
    };
    for (const Loop *l : loops.getLoopsInPreorder()) {
        SmallVector<BasicBlock *, 8> latches;
        l->getLoopLatches(latches);
        for (BasicBlock *b : latches) {
            if (b != l->getHeader() && b->getFirstNonPHIOrDbg() == b->getTerminator() && b->getSingleSuccessor())
                for (BasicBlock *last : predecessors(b)) look(l, last, b);
            else
                look(l, b, b);
        }
    }
}

// A name for a place in the source that is the same in every build: KIND FUNCTION FILE:LINE.
static std::string place(const char *kind, const Function &f, const DILocation *at) {
    const DISubprogram *in = at ? at->getScope()->getSubprogram() : f.getSubprogram();
    if (!in) return (Twine(kind) + " " + f.getName()).str();
    StringRef file = in->getFilename();
    return (Twine(kind) + " " + in->getName() + " " + file.substr(file.rfind('/') + 1) + ":" + Twine(at ? at->getLine() : in->getLine())).str();
}
void weft__shim_place(const char *kind, LLVMValueRef fn, char *out, size_t n) {
    snprintf(out, n, "%s", place(kind, *cast<Function>(unwrap(fn)), nullptr).c_str());
}

// Tells of the outermost loops of a function that fit: their blocks, head first, and how they are called; where they are entered, and a place on each
// way out that is no unwinding. The function gets the blocks for these.
void weft__shim_regions(LLVMValueRef fn, int (*fits)(void *, const LLVMBasicBlockRef *, unsigned), void (*tell)(void *, const struct weft_shim_region *), void *ctx) {
    Function &f = *cast<Function>(unwrap(fn));
    DominatorTree tree(f);
    LoopInfo loops(tree);
    SmallVector<Loop *, 8> todo(loops.begin(), loops.end());
    while (!todo.empty()) {
        Loop *l = todo.pop_back_val();
        SmallVector<LLVMBasicBlockRef, 32> in;
        for (BasicBlock *b : l->blocks()) in.push_back(wrap(b));
        if (!fits(ctx, in.data(), (unsigned)in.size())) {
            todo.append(l->begin(), l->end());
            continue;
        }
        BasicBlock *before = l->getLoopPreheader();
        if (!before) before = InsertPreheaderForLoop(l, &tree, &loops, nullptr, false);
        if (!before) continue;
        SmallVector<BasicBlock *, 4> exits;
        SmallVector<LLVMValueRef, 4> ends;
        l->getUniqueExitBlocks(exits);
        bool all = true;
        for (BasicBlock *e : exits) {
            if (e->isEHPad()) continue;
            SmallVector<BasicBlock *, 4> from;
            for (BasicBlock *p : predecessors(e)) {
                all &= isa<BranchInst>(p->getTerminator()) || isa<SwitchInst>(p->getTerminator()) || isa<InvokeInst>(p->getTerminator()) || !l->contains(p);
                if (l->contains(p) && !is_contained(from, p)) from.push_back(p);
            }
            if (!all) break;
            ends.push_back(wrap(SplitBlockPredecessors(e, from, ".out", &tree, &loops)->getTerminator()));
        }
        if (!all) continue;
        const DebugLoc at = l->getStartLoc();
        std::string name = place("loop", f, at.get());
        weft_shim_region r = {in.data(), (unsigned)in.size(), wrap(before->getTerminator()), ends.data(), (unsigned)ends.size(), name.c_str()};
        tell(ctx, &r);
    }
}

// Where code may be put at the start of a block: after phis, landing pads and, in entry blocks, allocas.
LLVMValueRef weft__shim_first(LLVMBasicBlockRef b) {
    BasicBlock *bb = unwrap(b);
    auto it = bb->getFirstInsertionPt();
    if (bb->isEntryBlock())
        while (isa<AllocaInst>(*it) || isa<DbgInfoIntrinsic>(*it)) ++it;
    return it == bb->end() ? nullptr : wrap(&*it);
}

// The normal destination of an invoke as a block of its own, so that code can be put on that edge alone.
LLVMBasicBlockRef weft__shim_normal_edge(LLVMValueRef invoke) {
    auto *i = cast<InvokeInst>(unwrap(invoke));
    BasicBlock *d = i->getNormalDest();
    if (!d->getSinglePredecessor()) {
        BasicBlock *n = SplitEdge(i->getParent(), d);
        return wrap(n);
    }
    return wrap(d);
}

int weft__shim_returns_twice(LLVMValueRef call) {
    auto *c = dyn_cast<CallBase>(unwrap(call));
    return c && c->hasFnAttr(Attribute::ReturnsTwice);
}
// An edge to the block comes from another one than before.
void weft__shim_comes_from(LLVMBasicBlockRef b, LLVMBasicBlockRef was, LLVMBasicBlockRef is) {
    unwrap(b)->replacePhiUsesWith(unwrap(was), unwrap(is));
}

// The loop with this branch to its head is not unrolled.
void weft__shim_keep_loop(LLVMValueRef branch) {
    auto *i = cast<Instruction>(unwrap(branch));
    LLVMContext &c = i->getContext();
    SmallVector<Metadata *, 4> ops{nullptr};
    if (MDNode *old = i->getMetadata(LLVMContext::MD_loop)) ops.append(old->op_begin() + 1, old->op_end());
    ops.push_back(MDNode::get(c, MDString::get(c, "llvm.loop.unroll.disable")));
    MDNode *id = MDNode::getDistinct(c, ops);
    id->replaceOperandWith(0, id);
    i->setMetadata(LLVMContext::MD_loop, id);
}
// Calls in tail position whose function has one return for all get one of their own.
void weft__shim_tail_returns(LLVMValueRef fn) {
    for (BasicBlock &b : *cast<Function>(unwrap(fn))) {
        auto *br = dyn_cast<BranchInst>(b.getTerminator());
        if (!br || br->isConditional() || !isa_and_nonnull<CallInst>(br->getPrevNonDebugInstruction())) continue;
        BasicBlock *to = br->getSuccessor(0);
        auto *ret = dyn_cast<ReturnInst>(to->getFirstNonPHIOrDbg());
        if (!ret || to == &b || to->hasNPredecessors(1)) continue;
        Value *v = ret->getReturnValue();
        if (auto *phi = dyn_cast_or_null<PHINode>(v); phi && phi->getParent() == to) v = phi->getIncomingValueForBlock(&b);
        auto *own = ReturnInst::Create(br->getContext(), v, br->getIterator());
        own->setDebugLoc(br->getDebugLoc());
        to->removePredecessor(&b, true);
        br->eraseFromParent();
    }
}
int weft__shim_must_tail(LLVMValueRef call) {
    auto *c = dyn_cast<CallInst>(unwrap(call));
    return c && c->isMustTailCall();
}
}

namespace {
template <int (*F)(LLVMModuleRef)> struct WeftPass : PassInfoMixin<WeftPass<F>> {
    PreservedAnalyses run(Module &m, ModuleAnalysisManager &) {
        return F(wrap(&m)) ? PreservedAnalyses::none() : PreservedAnalyses::all();
    }
    static bool isRequired() { return true; }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "weft", "1", [](PassBuilder &pb) {
                pb.registerFullLinkTimeOptimizationLastEPCallback(
                    [](ModulePassManager &pm, OptimizationLevel) { pm.addPass(WeftPass<weft__pass_run>()); });
                pb.registerPipelineStartEPCallback(
                    [](ModulePassManager &pm, OptimizationLevel) { pm.addPass(WeftPass<weft__early_run>()); });
                pb.registerPipelineParsingCallback(
                    [](StringRef name, ModulePassManager &pm, ArrayRef<PassBuilder::PipelineElement>) {
                        if (name == "weft")
                            pm.addPass(WeftPass<weft__pass_run>());
                        else if (name == "weft-early")
                            pm.addPass(WeftPass<weft__early_run>());
                        else
                            return false;
                        return true;
                    });
            }};
}
