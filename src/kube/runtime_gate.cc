#include "kube/runtime_gate.h"

namespace manta::kube {

Task<void> FairGate::enter(Queue& queue) {
  OneShot<bool> granted(loop_);
  queue.waiting.push_back(granted);
  list(queue);
  grant();
  co_await granted;
}

void FairGate::leave(Queue& queue) {
  --queue.in_flight;
  --in_flight_;
  list(queue);
  grant();
  call_in();
}

Task<void> FairGate::room() {
  OneShot<bool> called(loop_);
  outside_.push_back(called);
  call_in();
  co_await called;
}

void FairGate::planned() {
  --planning_;
  call_in();
}

void FairGate::call_in() {
  while (!outside_.empty() && std::ssize(turns_) + planning_ < in_all_) {
    ++planning_;
    outside_.front().set(true);
    outside_.pop_front();
  }
}

void FairGate::list(Queue& queue) {
  if (queue.listed || queue.waiting.empty() || queue.in_flight >= per_queue_) return;
  queue.listed = true;
  turns_.push_back(&queue);
}

void FairGate::grant() {
  while (in_flight_ < in_all_ && !turns_.empty()) {
    Queue& queue = *turns_.front();
    turns_.pop_front();
    queue.listed = false;
    ++in_flight_;
    ++queue.in_flight;
    queue.waiting.front().set(true);
    queue.waiting.pop_front();
    list(queue);
  }
}

}  // namespace manta::kube
