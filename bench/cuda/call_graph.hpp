// Calls of a contender that one launch starts: samples of cases that stay in L2.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bench/cuda/call.hpp"
#include "bench/cuda/contender.hpp"

namespace cornerturn::bench::cuda {

class call_graph {
 public:
  call_graph(device_runner& who, const buffer_pair& pair, std::int64_t calls, cudaStream_t on) {
    cudaGraph_t graph = nullptr;
    must(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
      for (std::int64_t i = 0; i < calls; ++i) who.enqueue(pair.src, pair.dst, on);
    } catch (...) {
      cudaStreamEndCapture(on, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    const cudaError_t captured = cudaStreamEndCapture(on, &graph);
    if (captured != cudaSuccess) {
      cudaGetLastError();
      throw std::runtime_error(std::string("cannot be captured in a graph: ") + cudaGetErrorString(captured));
    }
    const cudaError_t made = cudaGraphInstantiate(&ready_, graph, 0);
    cudaGraphDestroy(graph);
    must(made, "cudaGraphInstantiate");
  }
  ~call_graph() {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);
  }
  call_graph(const call_graph&) = delete;
  call_graph& operator=(const call_graph&) = delete;
  void launch(cudaStream_t on) const { must(cudaGraphLaunch(ready_, on), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace cornerturn::bench::cuda
