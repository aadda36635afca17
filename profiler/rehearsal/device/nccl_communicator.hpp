// What the null NCCL knows of a communicator.
#pragma once

struct ncclComm {
  int ranks, rank, device;
};
