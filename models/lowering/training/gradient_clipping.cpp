#include "models/lowering/training/gradient_clipping.hpp"

namespace foreshard::lowering {
namespace {

class Clipping {
 public:
  Clipping(const Job& job, const RankPlace& place, Emitter& emit,
           const std::vector<OptimizerTensors>& tensors, const TrainingBuffers& buffers)
      : job_(job),
        emit_(emit),
        tensors_(tensors),
        buffers_(buffers),
        ranks_(place[Group::shard].size),
        bytes_(8 * static_cast<std::int64_t>(tensors.size())),
        on_host_(job.plan.offload.parameters) {}

  void run() {
    const BufferId norms = sums_of_squares();
    if (on_host_) {
      clip_on_host(norms);
    } else {
      clip_on_device(norms);
    }
    emit_.free(norms);
  }

 private:
  // One slot for each of the optimizer's tensors.
  BufferId sums_of_squares() {
    const BufferId norms = emit_.allocate(
        {bytes_, Category::temporaries, Role::norms, kNone, Stream::compute, on_host_});
    int slot = 0;
    for (const OptimizerTensors& t : tensors_) {
      emit_.focus(t.unit, job_.units[static_cast<std::size_t>(t.unit)].modules[0]);
      const CostKey key = key_of(Operator::gradient_norm, job_.plan.precision.storage, t.padded);
      if (on_host_) {
        emit_.host_compute(key, {&t.host_gradient, 1}, {&norms, 1}, slot++);
      } else {
        emit_.launch(Stream::compute, key, {t.gradient}, {norms}, slot++);
      }
    }
    emit_.focus_on_step();
    return norms;
  }

  void clip_on_device(BufferId norms) {
    if (ranks_ > 1) {
      emit_.collective(Stream::compute, Group::shard,
                       key_of(Operator::all_reduce, DType::fp64, bytes_, ranks_), norms, norms);
    }
    emit_.launch(Stream::compute, key_of(Operator::clip_coefficient, DType::fp64, bytes_ / 8),
                 {norms}, {buffers_.clip});
    if (!optimizes_on_host(job_.plan)) return;
    emit_.copy(Stream::compute, Operator::copy_device_to_host, 16, buffers_.clip,
               buffers_.host_clip);
    emit_.host_wait(emit_.record(Stream::compute));
  }

  // The norms are the host's; only the sum over ranks goes through the device.
  void clip_on_host(BufferId norms) {
    if (ranks_ == 1) {
      emit_.host_compute(key_of(Operator::clip_coefficient, DType::fp64, bytes_ / 8), {&norms, 1},
                         {&buffers_.host_clip, 1});
      return;
    }
    const BufferId on_device = emit_.allocate({bytes_, Category::temporaries, Role::norms});
    emit_.copy(Stream::compute, Operator::copy_host_to_device, bytes_, norms, on_device);
    clip_on_device(on_device);
    emit_.free(on_device);
  }

  const Job& job_;
  Emitter& emit_;
  const std::vector<OptimizerTensors>& tensors_;
  const TrainingBuffers& buffers_;
  int ranks_;
  std::int64_t bytes_;
  bool on_host_;
};

}  // namespace

void clip_gradients(const Job& job, const RankPlace& place, Emitter& emit,
                    const std::vector<OptimizerTensors>& tensors, const TrainingBuffers& buffers) {
  Clipping(job, place, emit, tensors, buffers).run();
}

}  // namespace foreshard::lowering
