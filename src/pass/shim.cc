// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plugin entry: hands the link-time module to C (weft__pass_run), and the little that LLVM-C lacks.
#include "llvm-c/Core.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

extern "C" {
int weft__pass_run(LLVMModuleRef);

// Splits the block before `before` and puts a cold block there, entered if `cond`. Returns the cold block's terminator.
LLVMValueRef weft__shim_cold(LLVMValueRef cond, LLVMValueRef before) {
    auto *i = cast<Instruction>(unwrap(before));
    MDNode *w = MDBuilder(i->getContext()).createBranchWeights(1, 1 << 20);
    return wrap(SplitBlockAndInsertIfThen(unwrap(cond), i->getIterator(), false, w));
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
int weft__shim_must_tail(LLVMValueRef call) {
    auto *c = dyn_cast<CallInst>(unwrap(call));
    return c && c->isMustTailCall();
}
}

namespace {
struct WeftPass : PassInfoMixin<WeftPass> {
    PreservedAnalyses run(Module &m, ModuleAnalysisManager &) {
        return weft__pass_run(wrap(&m)) ? PreservedAnalyses::none() : PreservedAnalyses::all();
    }
    static bool isRequired() { return true; }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "weft", "1", [](PassBuilder &pb) {
                pb.registerFullLinkTimeOptimizationLastEPCallback(
                    [](ModulePassManager &pm, OptimizationLevel) { pm.addPass(WeftPass()); });
                pb.registerPipelineParsingCallback(
                    [](StringRef name, ModulePassManager &pm, ArrayRef<PassBuilder::PipelineElement>) {
                        if (name != "weft") return false;
                        pm.addPass(WeftPass());
                        return true;
                    });
            }};
}
